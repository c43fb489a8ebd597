"""Histories of kube-scheduler's own queue; see ``tests.laboratories.conformance.comparison``."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.laboratories.conformance.comparison import Comparison
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import NEWEST, PROGRAMS, SOURCE, of_release
from tests.laboratories.conformance.queue.generator import histories
from tests.laboratories.conformance.queue.replay import differences


def ask(seed: int, count: int, version: str) -> Iterable[Manifest]:
    """Return histories. Since 1.37 the queue knows groups; the rest of the comparison is the same."""
    return histories(seed, count, groups=version == NEWEST)


def build(version: str) -> Path:
    """Compile the program around the release's queue."""
    program = (PROGRAMS / f"queue-{version}").absolute()
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["go", "build", "-trimpath", *of_release(version), "-o", program, "./queue"], cwd=SOURCE, check=True
    )
    return program


QUEUE = Comparison(
    "queue",
    "history",
    "seen",
    "seen",
    ask,
    differences,
    lambda seen: Counter(steps=len(seen)),
    build,
    versions=("1.36", NEWEST),
)

if __name__ == "__main__":
    sys.exit(QUEUE.main())
