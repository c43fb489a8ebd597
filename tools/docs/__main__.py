"""Builds the site of the documents: ``python -m tools.docs``.

The pages are the repository's Markdown files, and the references of the gRPC contract and of
``mooring.framework``, which are generated here. Nothing is loaded from elsewhere, so the site works offline.
A link that leads nowhere is an error, and so is a question that the search does not answer.
"""

import argparse
import fnmatch
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from tools.docs import contract, framework, links, pages, search

ROOT = pages.ROOT
BUILD = ROOT / ".cache" / "docs"
"""Where pages and site are made; git ignores it."""

COLOURS = re.compile(r"\x1b\[[\d;]*m")
"""The colours that Zensical prints, on a terminal or not."""

WHY = "Why"
"""The section of the decisions; the generated references stand before it."""

INDEX = "docs/decisions/README.md"
"""The index of the decisions, whose groups are those of the menu."""


def navigation(staged: Path, found: Iterable[PurePosixPath], generated: dict[str, list[Path]]) -> list[Any]:
    """Return the menu: the sections of docs/menu.toml, with the references before the decisions."""
    sections = tomllib.loads((ROOT / "docs" / "menu.toml").read_text(encoding="utf-8"))
    left = [str(path) for path in found]
    menu: list[Any] = []

    def references(written: list[Path]) -> list[Any]:
        return [{pages.title(page): str(page.relative_to(staged))} for page in written]

    def entries(patterns: list[str]) -> list[Any]:
        listed: list[Any] = []
        for pattern in patterns:
            matching = fnmatch.filter(left, pattern)
            if not matching:
                message = f"docs/menu.toml: no page matches {pattern}"
                raise SystemExit(message)
            left[:] = [path for path in left if path not in matching]
            listed += ({pages.title(staged / path): path} for path in matching)
        return listed

    for name, patterns in sections.items():
        if name == WHY:
            menu += ({title: references(written)} for title, written in generated.items())
        menu.append({name: entries(patterns)})
        if name == WHY:
            for group, questions in pages.groups(ROOT / INDEX):
                folder = INDEX.rpartition("/")[0]
                menu[-1][name].append({group: entries([f"{folder}/{question}" for question in questions])})
    if left:
        message = f"not in the menu (docs/menu.toml, {INDEX}): {', '.join(left)}"
        raise SystemExit(message)
    return menu


def configuration(menu: list[Any]) -> str:
    """docs/zensical.toml with the menu; JSON's strings and lists are TOML's, too."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            inside = ", ".join(
                f"{json.dumps(key, ensure_ascii=False)} = {inline(one)}" for key, one in value.items()
            )
            return f"{{ {inside} }}"
        if isinstance(value, list):
            return f"[{', '.join(map(inline, value))}]"
        return json.dumps(value, ensure_ascii=False)

    settings = (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8")
    return f"{settings}\nnav = {inline(menu)}\n"


def main() -> int:
    """Run the command line; the exit code is 1 for a link or a question without an answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=BUILD, help="folder for pages and site")
    output = parser.parse_args().output.resolve()
    begun = time.monotonic()
    shutil.rmtree(output, ignore_errors=True)
    staged = output / "pages"
    found = pages.write_pages(staged)
    generated = {
        "gRPC reference": contract.write_pages(staged / "docs" / "grpc"),
        "Plugin reference": framework.write_pages(staged / "docs" / "framework"),
    }
    settings = output / "zensical.toml"
    menu = navigation(staged, found, generated)
    settings.write_text(configuration(menu), encoding="utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    command = (zensical, "build", "--strict", "--config-file", settings)
    done = subprocess.run(command, cwd=output, capture_output=True, text=True, check=False)
    if done.returncode:
        # The faults of each page come first; the traceback after them only shows that the mode is strict.
        said = done.stderr.partition("Traceback ")[0] or done.stderr
        print(COLOURS.sub("", said), file=sys.stderr)
        return 1
    site = output / "site"
    search.arrange(site / "search.json", [name for section in menu for name in section])
    wrong = [*links.faults(site), *search.faults(site, search.questions())]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    if wrong:
        return 1
    count = len(found) + sum(map(len, generated.values()))
    print(f"{count} pages in {time.monotonic() - begun:.1f} s: {site / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
