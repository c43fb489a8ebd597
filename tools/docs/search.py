"""The site's search: guides come first, and each question of docs/questions.toml finds its page."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import playwright

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "docs" / "questions.toml"
HIDDEN = ("CHANGELOG.html", "tests/")
"""The starts of the locations of pages that the search leaves out."""
MAX_HITS = 3
"""The page that answers a question has to be among the first hits, this many."""


def arrange(index: Path, sections: Sequence[str]) -> None:
    """Order the index by the menu's ``sections``, which decides between equal hits, and drop hidden pages."""
    document = json.loads(index.read_text(encoding="utf-8"))
    rank = {name: place for place, name in enumerate(sections)}
    shown = [item for item in document["items"] if not item["location"].startswith(HIDDEN)]
    document["items"] = sorted(shown, key=lambda item: rank.get(item["path"][0], len(rank)))
    index.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def questions() -> dict[str, str]:
    """Return the page of each question, as a path in the repository."""
    return tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))


def faults(site: Path, wanted: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each question whose page isn't among the first hits.

    The site's own search answers, in Node: the system's, or Playwright's.
    """
    (worker,) = site.glob("assets/javascripts/workers/search.*.js")
    node = shutil.which("node") or Path(playwright.__file__).with_name("driver") / "node"
    command = (node, Path(__file__).with_name("search.js"), worker, site / "search.json", *wanted)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for (question, page), line in zip(wanted.items(), done.stdout.splitlines(), strict=True):
        found = list(dict.fromkeys(location.partition("#")[0] for location in json.loads(line)))[:MAX_HITS]
        if page.replace(".md", ".html") not in found:
            yield f"docs/questions.toml: {question!r} finds {', '.join(found) or 'nothing'}, and not {page}"
