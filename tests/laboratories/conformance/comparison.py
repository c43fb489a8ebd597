"""The commands of hints, queue and sequences: record Go's answers, or compare with them.

    python -m tests.laboratories.conformance.SUBJECT.run vectors --seed 1 --count 250
    python -m tests.laboratories.conformance.SUBJECT.run compare --seed 7 --count 2000 [--version 1.34]

Both need Go and build the program first. `compare` exits 1 if the two sides differ.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import track

from tests.laboratories.conformance import program
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.recordings import recording, write

MAX_SHOWN = 5


@dataclass(frozen=True)
class Comparison:
    """One kind of question to mooring and to kube-scheduler's code.

    Attributes:
        name: The name of the questions and their recordings.
        asked: Under which name a recording holds a question.
        answered: Under which name it holds the answer.
        given: Under which name the program gives its answer.
        ask: Questions made from a seed: how many, for which release.
        differences: The differences of mooring's answer; nothing if both agree.
        counts: The counts that an answer adds to the summary, by name.
        build: Makes the program.
        versions: The releases that can be compared with.
        asked_again: How often a question with different answers is repeated: mooring may give any answer that
            the program gives by chance.
    """

    name: str
    asked: str
    answered: str
    given: str
    ask: Callable[[int, int, str], Iterable[Manifest]]
    differences: Callable[[Manifest, Any, str], Iterable[str]]
    counts: Callable[[Any], Counter[str]]
    build: Callable[[str], Path] = program.build
    versions: Sequence[str] = program.VERSIONS
    asked_again: int = 0

    def main(self) -> int:
        """Carry out the command line; the exit code."""
        parser = argparse.ArgumentParser(
            description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("mode", choices=["vectors", "compare"])
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--count", type=int, default=1000)
        parser.add_argument("--version", choices=self.versions, default=self.versions[-1])
        arguments = parser.parse_args()
        questions = self.ask(arguments.seed, arguments.count, arguments.version)
        built = self.build(arguments.version)
        answers = program.answers(built, questions)
        if arguments.mode == "vectors":
            return self.record(answers, arguments.version)
        with program.Oracle(built) as one_by_one:
            tracked = track(answers, self.name, total=arguments.count)
            return self.compare(tracked, one_by_one, arguments.version)

    def record(self, answers: Iterable[tuple[Manifest, Manifest]], version: str) -> int:
        """Write what the program accepts, a JSON object a line; always the same bytes."""
        lines = [
            json.dumps({self.asked: question, self.answered: answer[self.given]}, separators=(",", ":"))
            for question, answer in answers
            if "error" not in answer
        ]
        return write(lines, recording(self.name, version), self.name)

    def compare(
        self, answers: Iterable[tuple[Manifest, Manifest]], one_by_one: program.Oracle, version: str
    ) -> int:
        """Print the first differences and a summary; 1 if there are any."""
        agreed = rejected = by_chance = 0
        counts: Counter[str] = Counter()
        wrong: list[str] = []
        for question, answer in answers:
            if "error" in answer:
                rejected += 1
                continue
            counts += self.counts(answer[self.given])
            found = list(self.differences(question, answer[self.given], version))
            if found and self._by_chance(question, one_by_one, version):
                by_chance += 1
            elif found:
                wrong.append("\n  ".join([question["id"], *found]))
            else:
                agreed += 1
        print("\n".join(wrong[:MAX_SHOWN]))
        chance = f", {by_chance} left to chance" if self.asked_again else ""
        print(f"{agreed} agree, {len(wrong)} differ{chance}, {rejected} rejected; {dict(counts)}")
        return 1 if wrong else 0

    def _by_chance(self, question: Manifest, one_by_one: program.Oracle, version: str) -> bool:
        """Return whether the program has another answer, with which mooring agrees."""
        again = (one_by_one.ask(question) for _ in range(self.asked_again))
        return any(not list(self.differences(question, answer[self.given], version)) for answer in again)
