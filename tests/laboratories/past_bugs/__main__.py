"""Past bugs and seeded bugs: which test shows each, and a command that runs those tests."""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[3]
TABLE = Path(__file__).with_name("README.md")

SEEDED = {
    "histories": ("histories/test_histories.py", "histories/recorder_bugs.py"),
    "soak": ("soak/test_known_bugs.py",),
    "model": ("model/test_model.py",),
    "interleavings": ("interleavings/test_interleavings.py",),
}
"""By laboratory: the files whose functions of one patch put a bug back."""

FINDING = (
    "histories/test_histories.py::test_a_bug_that_is_put_back_is_found",
    "histories/test_histories.py::test_threads_find_it_too",
    "histories/test_recorder_bugs.py",
    "soak/test_known_bugs.py",
    "model/test_model.py::test_walks_find_a_bug_that_is_put_back",
    "interleavings/test_interleavings.py::test_a_race_that_is_put_back_is_found",
)
"""The tests that find them."""


class PastBug(msgspec.Struct, frozen=True):
    """One row of the table.

    Attributes:
        id: Its name.
        was: The mistake.
        shown_by: A test, or a row of the soak.
    """

    id: str
    was: str
    shown_by: str

    @property
    def row(self) -> str:
        """The row of the soak; "" = a test shows it."""
        kind, _, row = self.shown_by.partition(" ")
        return row if kind == "soak" else ""


def past_bugs() -> list[PastBug]:
    """Return the rows of the table."""
    rows = re.findall(r"^\| ([A-Z]\d+[^|]*?) \| (.*?) \| `(.*?)` \|$", TABLE.read_text(), re.MULTILINE)
    return [PastBug(*row) for row in rows]


def seeded_bugs() -> Iterator[tuple[str, str]]:
    """Yield the laboratory and the name of every bug that is put back."""
    for laboratory, files in SEEDED.items():
        for file in files:
            for node in ast.parse((TABLE.parents[1] / file).read_text()).body:
                if isinstance(node, ast.FunctionDef) and [one.arg for one in node.args.args] == ["patch"]:
                    yield laboratory, node.name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests of some bugs.

    Returns:
        0; otherwise the exit code of the first that fails.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.past_bugs", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("bug", nargs="*", help="ids of past bugs, such as E1")
    parser.add_argument("--all", action="store_true", help="every past bug")
    parser.add_argument("--seeded", action="store_true", help="the bugs that are put back, all of them")
    args = parser.parse_args(arguments)
    known = {one.id: one for one in past_bugs()}
    if unknown := set(args.bug) - known.keys():
        parser.error(f"no past bug {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    wanted = [known[name] for name in (known if args.all else args.bug)]
    tests = [one.shown_by for one in wanted if not one.row]
    if args.seeded:
        tests += [f"tests/laboratories/{name}" for name in FINDING]
    commands = [["-m", "pytest", "-q", "-m", "slow or not slow", *tests]] if tests else []
    soak = ["-m", "tests.laboratories.soak", "--seed", "1", "--size", "0.2"]
    commands += [[*soak, "--row", one.row] for one in wanted if one.row]
    codes = [subprocess.call([sys.executable, *command], cwd=ROOT) for command in commands]
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    raise SystemExit(main())
