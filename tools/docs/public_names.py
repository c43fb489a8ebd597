"""The public names of ``mooring.framework``: listed in a file, so that no change of them goes unnoticed.

``--check`` compares the list with the code; without it, the list is written. ``--against REF`` asks griffe
what would break plugins that were written for the version that REF names.
"""

import argparse
import difflib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "docs" / "public_names.txt"
PACKAGE = "mooring.framework"


@dataclass(frozen=True)
class Public:
    """A name that plugin authors may use.

    Attributes:
        name: As it is imported, or a member's name within its class.
        item: The object of that name.
        signature: Its declaration, without a body.
    """

    name: str
    item: griffe.Object
    signature: str


def public_names() -> Iterator[Public]:
    """Yield what ``mooring.framework`` exports, in alphabetical order."""
    package = griffe.load(
        PACKAGE,
        search_paths=[str(ROOT / "server")],
        resolve_aliases=True,
        resolve_external=False,
        allow_inspection=False,
    )
    for name in sorted(package.exports or (), key=str):
        yield _public(package[str(name)])


def public_members(item: griffe.Class) -> Iterator[Public]:
    """Yield the public attributes and methods that a class adds to its bases', in the source's order."""
    members = (member for member in item.members.values() if not member.is_alias)
    for member in sorted(members, key=lambda one: one.lineno or 0):
        if not member.name.startswith("_") or member.name == "__init__":
            yield _public(member)


def _public(found: griffe.Object | griffe.Alias) -> Public:
    item = found.final_target if isinstance(found, griffe.Alias) else found
    return Public(found.name, item, _signature(item))


def _signature(item: griffe.Object) -> str:
    if isinstance(item, griffe.Function):
        return f"def {item.signature()}"
    if isinstance(item, griffe.Class):
        bases = ", ".join(str(base) for base in item.bases)
        return f"class {item.name}({bases})" if bases else f"class {item.name}"
    if isinstance(item, griffe.Attribute):
        if "property" in item.labels:
            return f"property {item.name}: {item.annotation}"
        annotation = f": {item.annotation}" if item.annotation is not None else ""
        value = f" = {item.value}" if item.value is not None else ""
        return f"{item.name}{annotation}{value}"
    return str(item.name)


def lines() -> Iterator[str]:
    """Yield the list: a line for each name, and an indented one for each member of a class."""
    for public in public_names():
        yield _one_line(public.signature)
        if isinstance(public.item, griffe.Class):
            for member in public_members(public.item):
                yield f"    {_one_line(member.signature)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def check(path: Path = LIST) -> int:
    """Compare the list with the code and print what differs; the exit code."""
    listed = path.read_text(encoding="utf-8").splitlines()
    found = list(lines())
    if listed == found:
        return 0
    print(*difflib.unified_diff(listed, found, "listed", "in the code", lineterm="", n=1), sep="\n")
    print(
        f"The public names of {PACKAGE} have changed. Keep what plugins use; or, if the change is meant, run"
        " `make names` and say in CHANGELOG.md what plugin authors have to do."
    )
    return 1


def breakages(reference: str) -> int:
    """Print what would break plugins that were written for ``reference``; the exit code."""
    program = Path(sys.executable).with_name("griffe")
    command = (program, "check", PACKAGE, "--search", "server", "--against", reference)
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if something differs")
    parser.add_argument("--against", metavar="REF", help="a commit or tag to compare with, by `griffe check`")
    args = parser.parse_args(arguments)
    if args.check or args.against:
        code = check() if args.check else 0
        return code or (breakages(args.against) if args.against else 0)
    LIST.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
