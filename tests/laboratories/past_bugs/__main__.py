"""Past bugs and seeded bugs: which test shows each, and a command that runs those tests."""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).parents[3]
CODE = ("server", "adapters")
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
    rows = re.findall(r"^\| ([A-Z]\d+[^|]*?) \| ([^|]*) \| `([^|]*)` \|$", TABLE.read_text(), re.MULTILINE)
    return [PastBug(*row) for row in rows]


class BeforeTheMend(msgspec.Struct, frozen=True):
    """A test that fails on the code that had the bug.

    Attributes:
        id: The bug.
        code: The commit of the code.
        tests: The commit of the tests.
        test: The test, as it was called then.
    """

    id: str
    code: str
    tests: str
    test: str

    def report(self, repository: Path = ROOT) -> tuple[bool, str]:
        """Run the test, and return whether it fails, and pytest's output.

        Files that only the tests' commit has are there, too: the tests import them, and the code does not.
        """
        with tempfile.TemporaryDirectory() as folder:
            for commit, *part in ((self.tests,), (self.code,), (self.tests, "tests")):
                command = ["git", "archive", commit, *part]
                archive = subprocess.run(command, cwd=repository, capture_output=True, check=True).stdout
                subprocess.run(["tar", "--extract"], cwd=folder, input=archive, check=True)
            path = os.pathsep.join(str(Path(folder, part)) for part in CODE)
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-m", "", "--tb=line", self.test],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
        return done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout


def before_the_mends() -> dict[str, BeforeTheMend]:
    """Return the rows of the table of code that had the bugs, by bug."""
    cells = " \\| ".join(["`([^|]*)`"] * 3)
    rows = re.findall(rf"^\| ([A-Z]\d+[^|]*?) \| {cells} \|$", TABLE.read_text(), re.MULTILINE)
    return {row[0]: BeforeTheMend(*row) for row in rows}


def seeded_bugs() -> Iterator[tuple[str, str]]:
    """Yield the laboratory and the name of every bug that is put back."""
    for laboratory, files in SEEDED.items():
        for file in files:
            for node in ast.parse((TABLE.parents[1] / file).read_text()).body:
                if isinstance(node, ast.FunctionDef) and [one.arg for one in node.args.args] == ["patch"]:
                    yield laboratory, node.name


def then(bugs: Sequence[PastBug]) -> int:
    """Run the tests of some bugs on the code that had them, and print what each did.

    Returns:
        The number of tests that do not fail there.
    """
    rows, silent = before_the_mends(), 0
    for bug in bugs:
        if row := rows.get(bug.id):
            fails, output = row.report()
            silent += not fails
            print(f"{bug.id}: {'fails' if fails else 'DOES NOT FAIL'} on {row.code}\n{output}", flush=True)
        else:
            print(f"{bug.id}: only a test of today shows it")
    return silent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests of some bugs.

    Returns:
        0; otherwise the exit code of the first that fails, or with --then the number that do not fail.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.past_bugs", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("bug", nargs="*", help="ids of past bugs, such as E1")
    parser.add_argument("--all", action="store_true", help="every past bug")
    parser.add_argument(
        "--then", action="store_true", help="run them on the code that had the bugs: they have to fail"
    )
    parser.add_argument("--seeded", action="store_true", help="the bugs that are put back, all of them")
    args = parser.parse_args(arguments)
    known = {one.id: one for one in past_bugs()}
    if unknown := set(args.bug) - known.keys():
        parser.error(f"no past bug {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    wanted = [known[name] for name in (known if args.all else args.bug)]
    if args.then:
        return then(wanted)
    tests = [one.shown_by for one in wanted if not one.row]
    if args.seeded:
        tests += [f"tests/laboratories/{name}" for name in FINDING]
    commands = [["-m", "pytest", "-q", "-m", "slow or not slow", *tests]] if tests else []
    soak = ["-m", "tests.laboratories.soak", "--seed", "1", "--size", "0.2"]
    commands += [[*soak, "--row", row] for row in dict.fromkeys(one.row for one in wanted) if row]
    codes = [subprocess.call([sys.executable, *command], cwd=ROOT) for command in commands]
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    raise SystemExit(main())
