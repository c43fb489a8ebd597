"""Record sequences, or compare mooring with a whole kube-scheduler on fresh ones.

    python -m tests.conformance.sequences.run vectors --seed 1 --count 1000
    python -m tests.conformance.sequences.run compare --seed 7 --count 10000 [--version 1.34]

Both need Go and build the oracle first. `compare` exits 1 if the two sides differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.progress import track

from tests.conformance.families.draft import Manifest
from tests.conformance.program import NEWEST, VERSIONS, answers, build
from tests.conformance.recordings import recording, write
from tests.conformance.sequences.generator import sequences
from tests.conformance.sequences.replay import differences

Answered = tuple[Manifest, Manifest]
MOST_SHOWN = 5


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["vectors", "compare"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--version", choices=VERSIONS, default=NEWEST, help="the release to agree with")
    arguments = parser.parse_args()
    version = arguments.version
    answered = answers(build(version), sequences(arguments.seed, arguments.count, version))
    if arguments.mode == "vectors":
        return record(answered, vectors_of(version))
    return compare(track(answered, "sequences", total=arguments.count), version)


def vectors_of(version: str) -> Path:
    """The file of a release's recorded sequences."""
    return recording("sequences", version)


def record(answered: Iterable[Answered], out: Path) -> int:
    """Write what the oracle accepts, an object of sequence and decisions a line; always the same bytes."""
    lines = [
        json.dumps({"sequence": sequence, "decisions": answer["decisions"]}, separators=(",", ":"))
        for sequence, answer in answered
        if "error" not in answer
    ]
    return write(lines, out, "sequences")


def compare(answered: Iterable[Answered], version: str) -> int:
    agreed = refused = decisions = 0
    wrong: list[tuple[str, list[str]]] = []
    for sequence, answer in answered:
        if "error" in answer:
            refused += 1
            continue
        decisions += sum(decided is not None for decided in answer["decisions"])
        if found := differences(sequence, answer["decisions"], version):
            wrong.append((sequence["id"], found))
        else:
            agreed += 1
    for identity, found in wrong[:MOST_SHOWN]:
        print("\n  ".join([identity, *found]))
    print(f"{agreed} agree ({decisions} decisions), {len(wrong)} differ, {refused} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
