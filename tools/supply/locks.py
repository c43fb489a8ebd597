"""The packages of the lock files in ``requirements``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "requirements"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
NEEDED_BY = re.compile(r"^    #(?: via|  ) ([a-z0-9][a-z0-9._-]*)")


@dataclass(frozen=True)
class Locked:
    """A package of a lock file.

    Attributes:
        name: Its name in the registry.
        version: The only version that is installed.
        needed_by: Who needs it: packages of the same file, ``mooring-scheduler`` or ``mooring-client``.
    """

    name: str
    version: str
    needed_by: frozenset[str]

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def locked(requirements: str) -> Iterator[Locked]:
    """Yield the packages of ``requirements/<requirements>.txt``, in the file's order."""
    text = (FOLDER / f"{requirements}.txt").read_text(encoding="utf-8")
    for entry in re.split(r"\n(?=\S)", text):
        if found := PINNED.match(entry):
            needed = (NEEDED_BY.match(line) for line in entry.splitlines())
            yield Locked(found[1], found[2], frozenset(one[1] for one in needed if one))


def names() -> list[str]:
    """Return the lock files' names without suffix."""
    return sorted(file.stem for file in FOLDER.glob("*.txt"))
