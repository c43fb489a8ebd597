"""The oracle's answers, kept for tests without Go: one JSON object a line, compressed."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.laboratories.conformance.families.draft import Manifest

TESTDATA = Path(__file__).parent / "testdata"


def recording(name: str, version: str) -> Path:
    """Return the file of one kind of answers of a release."""
    return TESTDATA / f"{name}-{version}.jsonl.gz"


def write(lines: Sequence[str], out: Path, what: str) -> int:
    """Write the lines, always as the same bytes, and print their number; return 0 for the exit code."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), compresslevel=9, mtime=0))
    print(f"{len(lines)} {what}, {out.stat().st_size} bytes: {out}")
    return 0


def read_lines(file: Path) -> list[bytes]:
    """Return the lines, each a JSON object."""
    return gzip.decompress(file.read_bytes()).splitlines()


def read(file: Path) -> list[Manifest]:
    """Return the objects."""
    objects: list[Manifest] = msgspec.json.Decoder().decode_lines(gzip.decompress(file.read_bytes()))
    return objects
