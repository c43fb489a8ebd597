"""Collects the pages of the site: the repository's own Markdown files, at the places that they have there.

Links between pages work in the repository and on the site alike. A link to anything else, such as a source
file, is text on the site, which holds pages only.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = (
    "*.md",
    "docs/**/*.md",
    "deploy/**/*.md",
    "server/mooring/plugins/*/README.md",
    "tests/laboratories/**/README.md",
)
"""Which Markdown files are pages."""

LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^()\s]+)\)")
PICTURES = (".svg", ".png")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def sources() -> dict[PurePosixPath, Path]:
    """Return the files that become pages, by their path in the repository."""
    found = sorted(file for pattern in PATTERNS for file in ROOT.glob(pattern))
    return {PurePosixPath(file.relative_to(ROOT)): file for file in found if "node_modules" not in file.parts}


def write_pages(target: Path) -> list[PurePosixPath]:
    """Copy every page below ``target``, with the pictures that pages show; the paths of the pages."""
    pages = sources()
    for path, file in pages.items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_without_dead_links(path, file.read_text(encoding="utf-8"), pages), encoding="utf-8")
    for picture in (file for kind in PICTURES for file in ROOT.glob(f"docs/**/*{kind}")):
        place = target / picture.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, place)
    return list(pages)


def title(file: Path) -> str:
    """Return the first heading of a page."""
    found = HEADING.search(file.read_text(encoding="utf-8"))
    if found is None:
        message = f"{file}: a page begins with a heading"
        raise SystemExit(message)
    return found.group(1).replace("`", "")


def groups(index: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the headings of an index that have a list of pages below them, with the names of those."""
    for part in index.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        if listed := re.findall(r"^- \[.*?\]\(([\w-]+\.md)\)$", body, re.MULTILINE):
            yield heading, listed


def _without_dead_links(path: PurePosixPath, text: str, pages: dict[PurePosixPath, Path]) -> str:
    def adapt(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        name, _, anchor = target.partition("#")
        if picture or not name or "://" in target or not (ROOT / path.parent / name).exists():
            return match.group()
        for candidate in _candidates(path, name):
            if candidate in pages:
                return f"[{label}]({_relative(path, candidate)}{'#' + anchor if anchor else ''})"
        return label

    # A block of code has no links.
    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(adapt, part) for part in parts[::2]]
    return "".join(parts)


def _candidates(path: PurePosixPath, name: str) -> Iterator[PurePosixPath]:
    """Yield what ``name`` on the page ``path`` may be: a page, or a folder with a README."""
    whole = (ROOT / path.parent / name).resolve()
    if whole.is_relative_to(ROOT):
        inside = PurePosixPath(whole.relative_to(ROOT))
        yield inside
        yield inside / "README.md"


def _relative(page: PurePosixPath, target: PurePosixPath) -> str:
    up = "../" * len(page.parent.parts)
    return f"{up}{target}"
