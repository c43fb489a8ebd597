"""Record what kube-scheduler's plugins make of changes, or compare mooring's with them on fresh ones.

    python -m tests.conformance.hints.run vectors --seed 1 --count 250
    python -m tests.conformance.hints.run compare --seed 7 --count 2000 [--version 1.34]

Both need Go and build the oracle first; a question has 20 changes. `compare` exits 1 if the two sides differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.progress import track

from tests.conformance.families.draft import Manifest
from tests.conformance.hints.generator import questions
from tests.conformance.hints.replay import differences
from tests.conformance.program import NEWEST, VERSIONS, answers, build
from tests.conformance.recordings import recording, write

Answered = tuple[Manifest, Manifest]
MOST_SHOWN = 10


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["vectors", "compare"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=250)
    parser.add_argument("--version", choices=VERSIONS, default=NEWEST, help="the release to agree with")
    arguments = parser.parse_args()
    version = arguments.version
    answered = answers(build(version), questions(arguments.seed, arguments.count, version))
    if arguments.mode == "vectors":
        return record(answered, vectors_of(version))
    return compare(track(answered, "questions", total=arguments.count), version)


def vectors_of(version: str) -> Path:
    """The file of a release's recorded hints."""
    return recording("hints", version)


def record(answered: Iterable[Answered], out: Path) -> int:
    """Write what the oracle accepts, a JSON object of question and answer a line; always the same bytes."""
    lines = [
        json.dumps({"question": question, "answer": answer["hints"]}, separators=(",", ":"), sort_keys=True)
        for question, answer in answered
        if "error" not in answer
    ]
    return write(lines, out, "questions")


def compare(answered: Iterable[Answered], version: str) -> int:
    agreed = refused = changes = 0
    told: Counter[str] = Counter()
    wrong: list[str] = []
    for question, answer in answered:
        if "error" in answer:
            refused += 1
            continue
        changes += sum("error" not in said for said in answer["hints"]["changes"])
        told.update(hint for said in answer["hints"]["changes"] for hint in (said["hints"] or {}).values())
        if found := list(differences(question, answer["hints"], version)):
            wrong.append("\n  ".join([question["id"], *found]))
        else:
            agreed += 1
    print("\n".join(wrong[:MOST_SHOWN]))
    print(f"{agreed} agree ({changes} changes; {dict(told)}), {len(wrong)} differ, {refused} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
