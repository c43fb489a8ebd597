"""Make vectors, or compare mooring with kube-scheduler on fresh scenarios.

    python -m tests.laboratories.conformance.run vectors --seed 1 --count 1600
    python -m tests.laboratories.conformance.run compare --seed 7 --count 20000 [--family node-affinity]
    python -m tests.laboratories.conformance.run case --name NAME < SCENARIO

`--version 1.34` asks an older release on both sides.

These need Go and build the oracle first. `compare` exits 1 if the two sides differ; `case`
prints the line that makes one scenario a named case. `scenarios` only writes them, a JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mooring.runtime.cycle.cycle import CycleOptions
from mooring.testing.question import question
from tests.laboratories.conformance import generator
from tests.laboratories.conformance.compare import differences, shrink
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.plain_cycle import document_of
from tests.laboratories.conformance.preempting import preempted
from tests.laboratories.conformance.program import NEWEST, VERSIONS, Oracle, answers, build
from tests.laboratories.conformance.recordings import recording, write

Answered = tuple[Manifest, Manifest]
# Without a terminal there is no bar, and the log would be empty for as long as the run takes.
REPORT_SECONDS = 30.0
RAISED = "mooring raised"
TIMES_ASKED_AGAIN = 100
POOLS_IN_ORDER_SINCE = "1.36"
"""Before, kube-scheduler tries pools of devices, and slices in them, in a random order."""
TIMED_OUT = "timed out trying to allocate devices"
OFTENER_ASKED = "InterPodAffinityHostnameFastPath"
"""With this gate InterPodAffinity skips pods less often in kube-scheduler, and its verdicts are the same."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    for mode in (modes.add_parser("vectors"), modes.add_parser("compare"), modes.add_parser("scenarios")):
        mode.add_argument("--seed", type=int, default=1)
        mode.add_argument("--count", type=int, default=1600)
        mode.add_argument(
            "--family", choices=generator.NAMES, help="this family only (default: all take turns)"
        )
    case = modes.add_parser("case")
    case.add_argument("--name", required=True)
    for mode in modes.choices.values():
        mode.add_argument("--version", choices=VERSIONS, default=NEWEST, help="the release to agree with")
    modes.choices["vectors"].add_argument("--out", type=Path, help="default: where the tests look")
    modes.choices["compare"].add_argument(
        "--most", type=int, default=5, help="mismatches to shrink and print"
    )
    arguments = parser.parse_args()
    version = arguments.version
    if arguments.mode == "case":
        return make_case(build(version), json.load(sys.stdin) | {"id": arguments.name})
    asked = generator.scenarios(arguments.seed, arguments.count, arguments.family, version)
    if arguments.mode == "scenarios":
        sys.stdout.writelines(json.dumps(scenario) + "\n" for scenario in asked)
        return 0
    program = build(version)
    answered = _with_progress(answers(program, asked), arguments.count)
    with Oracle(program) as one_by_one:
        if arguments.mode == "vectors":
            settled = (each for each in answered if not _is_left_to_chance(*each, one_by_one, version))
            return make_vectors(settled, arguments.out or vectors_of(version))
        return compare(answered, one_by_one, version, arguments.most)


def vectors_of(version: str) -> Path:
    """Return the file of a release's vectors."""
    return recording("vectors", version)


def make_vectors(answered: Iterable[Answered], out: Path) -> int:
    """Write what the oracle accepts, a JSON object of scenario and document a line; always the same bytes."""
    lines = [_vector(scenario, answer) for scenario, answer in answered if "error" not in answer]
    return write(lines, out, "vectors")


def make_case(program: Path, scenario: Manifest) -> int:
    [(_, answer)] = answers(program, [scenario])
    if "error" in answer:
        print(f"the oracle rejects this scenario: {answer['error']}", file=sys.stderr)
        return 1
    print(_vector(scenario, answer))
    return 0


def _vector(scenario: Manifest, answer: Manifest) -> str:
    vector = {"scenario": scenario, "document": answer["document"]}
    return json.dumps(vector, separators=(",", ":"), sort_keys=True)


def explained(scenario: Manifest, version: str = NEWEST) -> Manifest:
    """Return mooring's document; for a pod that fits no node with the result of preemption."""
    asked = question(
        scenario["objects"],
        scenario["pod"],
        scenario.get("config"),
        profile=scenario.get("profile"),
        feature_gates=scenario.get("feature_gates"),
        version=version,
    )
    options = CycleOptions(always_score=scenario.get("always_score", False))
    document = document_of(asked.engine, asked.pod, asked.profile, options, asked.warnings)
    if document["nodes"] and not document["feasible"]:
        document["preemption"] = preempted(asked)
    return document


def disagreement(scenario: Manifest, answer: Manifest, version: str = NEWEST) -> list[str]:
    """Return why mooring and the oracle differ on a scenario; nothing if they agree, or if the oracle rejects
    it.
    """
    if "error" in answer:
        return []
    try:
        ours = explained(scenario, version)
    except Exception as error:  # noqa: BLE001 - whatever it raises is a finding, and the run goes on
        return [f"{RAISED} {type(error).__name__}: {error}"]
    theirs = answer["document"]
    if (scenario.get("feature_gates") or {}).get(OFTENER_ASKED):
        for document in (ours, theirs):
            document.get("prefilter", {}).pop("InterPodAffinity", None)
    return differences(ours, theirs)


def compare(answered: Iterable[Answered], oracle: Oracle, version: str, most: int) -> int:
    agreed = rejected = chance = 0
    mismatches: list[Manifest] = []
    for scenario, answer in answered:
        if "error" in answer:
            rejected += 1
        elif not disagreement(scenario, answer, version):
            agreed += 1
        elif _by_chance(scenario, answer, oracle, version):
            chance += 1
        else:
            mismatches.append(scenario)
    for scenario in mismatches[:most]:
        _print_shrunk(scenario, oracle, version)
    print(f"{agreed} agree, {len(mismatches)} differ, {rejected} rejected by the API server's rules")
    if chance:
        print(f"  {chance} more are left to chance: kube-scheduler says this, too, when it is asked again")
    for family, count in _by_family(mismatches).items():
        print(f"  {count} in {family}")
    return 1 if mismatches else 0


def _is_left_to_chance(scenario: Manifest, answer: Manifest, oracle: Oracle, version: str) -> bool:
    return bool(disagreement(scenario, answer, version)) and _by_chance(scenario, answer, oracle, version)


def _by_chance(scenario: Manifest, answer: Manifest, oracle: Oracle, version: str) -> bool:
    """Return whether the oracle gives mooring's answer for each field now and then.

    It iterates over Go maps of pods, claims or drivers. The machine's speed decides how far a search gets
    within its filterTimeout, and whether it reaches an invalid object. Before ``POOLS_IN_ORDER_SINCE`` there
    are too many answers to meet mooring's again; there any other answer is enough.
    """
    if TIMED_OUT in answer["document"]["status"]["message"]:
        return True
    answers_again = (oracle.ask(scenario) for _ in range(TIMES_ASKED_AGAIN))
    if version < POOLS_IN_ORDER_SINCE:
        return any(
            "error" in again or differences(again["document"], answer["document"]) for again in answers_again
        )
    left = _fields(disagreement(scenario, answer, version))
    for again in answers_again:
        if "error" not in again:
            left &= _fields(disagreement(scenario, again, version))
        if not left:
            return True
    return False


def _fields(found: list[str]) -> set[str]:
    return {line.partition(": ")[0] for line in found}


def _print_shrunk(scenario: Manifest, oracle: Oracle, version: str) -> None:
    """Shrink without changing the sort of mismatch: the oracle checks pods and nodes alone."""

    def found(smaller: Manifest) -> list[str]:
        return disagreement(smaller, oracle.ask(smaller), version)

    sort = _sort(found(scenario))
    smallest = shrink(scenario, lambda smaller: not sort.isdisjoint(_sort(found(smaller))))
    print("\n".join([f"--- {scenario['id']}", json.dumps(smallest), *found(smallest)]))


def _sort(found: list[str]) -> set[str]:
    """Return the error, else the verdicts on the pod that differ, else the fields that differ."""
    for start in (RAISED, ".status.code"):
        if lines := {line for line in found if line.startswith(start)}:
            return lines
    return _fields(found)


def _by_family(scenarios: list[Manifest]) -> dict[str, int]:
    families = [str(scenario["id"]).split("/", maxsplit=1)[0] for scenario in scenarios]
    return {family: families.count(family) for family in sorted(set(families))}


def _with_progress(answered: Iterator[Answered], count: int) -> Iterator[Answered]:
    console = Console(stderr=True)
    columns = (TextColumn("scenarios"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    reported = time.monotonic()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("scenarios", total=count)
        for done, pair in enumerate(answered, start=1):
            yield pair
            progress.advance(task)
            if not console.is_terminal and time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                print(f"{done} of {count} scenarios", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
