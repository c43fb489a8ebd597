"""Record histories of kube-scheduler's own queue, or compare mooring's with it on fresh ones.

    python -m tests.conformance.queue.run vectors --seed 1 --count 400
    python -m tests.conformance.queue.run compare --seed 7 --count 20000

Both need Go and build the program first. `compare` exits 1 if the two sides differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.progress import track

from tests.conformance.families.draft import Manifest
from tests.conformance.program import NEWEST, PROGRAMS, SOURCE, answers
from tests.conformance.queue.generator import histories
from tests.conformance.queue.replay import differences
from tests.conformance.recordings import recording, write

VECTORS = recording("queue", NEWEST)
MOST_SHOWN = 5


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["vectors", "compare"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    answered = answers(build(), histories(arguments.seed, arguments.count))
    if arguments.mode == "vectors":
        return record(answered)
    return compare(track(answered, "histories", total=arguments.count))


def build() -> Path:
    """Compile the program around the newest release's queue."""
    program = (PROGRAMS / "queue-1.36").absolute()
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-trimpath", "-o", program, "./queue"], cwd=SOURCE, check=True)
    return program


def record(answered: Iterable[tuple[Manifest, Manifest]]) -> int:
    """Write an object of history and what was seen a line; always the same bytes."""
    lines = [
        json.dumps({"history": history, "seen": answer["seen"]}, separators=(",", ":"))
        for history, answer in answered
    ]
    return write(lines, VECTORS, "histories")


def compare(answered: Iterable[tuple[Manifest, Manifest]]) -> int:
    agreed = steps = 0
    wrong: list[tuple[str, list[str]]] = []
    for history, answer in answered:
        steps += len(history["steps"])
        if found := differences(history, answer["seen"]):
            wrong.append((history["id"], found))
        else:
            agreed += 1
    for identity, found in wrong[:MOST_SHOWN]:
        print("\n  ".join([identity, *found]))
    print(f"{agreed} agree, {len(wrong)} differ, {steps} steps")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
