"""Checks a built site: links and anchors lead somewhere, and no page loads anything from another host."""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
"""Attributes whose target the browser fetches by itself. It does not fetch a canonical link."""


class Document(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down the element's id and targets."""
        values = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := values.get(key)))
        for key in ("href", "src"):
            target = values.get(key)
            if target and values.get("rel") != "canonical":
                (self.loaded if (tag, key) in LOADED else self.links).add(target)


@cache
def _document(file: Path) -> Document:
    document = Document()
    document.feed(file.read_text(encoding="utf-8"))
    return document


def faults(site: Path) -> Iterator[str]:
    """Yield a line for each link that leads nowhere and each thing loaded from elsewhere."""
    # The page for unknown addresses is served at any address, so its links are absolute.
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]
    for page in pages:
        document = _document(page)
        place = page.relative_to(site)
        for target in sorted(document.loaded | document.links):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in document.loaded and parts.scheme != "data":
                    yield f"{place}: loads {target}"
            elif fault := _fault(page, unquote(parts.path), unquote(parts.fragment)):
                yield f"{place}: {target}: {fault}"


@cache
def _file(folder: Path, path: str) -> Path | None:
    """Return what ``path`` leads to from a page in ``folder``; cached: every page has the menu's links."""
    file = (folder / path).resolve()
    if file.is_dir():
        file /= "index.html"
    return file if file.is_file() else None


def _fault(page: Path, path: str, anchor: str) -> str | None:
    file = _file(page.parent, path) if path else page
    if file is None:
        return "no such page"
    if anchor and file.suffix == ".html" and anchor not in _document(file).anchors:
        return "no such heading"
    return None
