"""``make bench-peers``: mooring and kube-scheduler in one run, on the same clusters with the same pods."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.bench.peers import in_process, needs, rounds
from tests.bench.peers.contestants import contestants
from tests.bench.peers.side_by_side import side_by_side
from tests.bench.report import FOLDER, publish
from tests.bench.steps import Steps, steps
from tests.bench.workload import Figure, Sample, figures, measure

TITLE = "mooring beside kube-scheduler 1.36.3 in one run"
BASES = ("KubeScheduler", "Echo", "EchoFollowing")
"""Whom the others are compared with."""

TARGETS = {500: "- / 80", 1000: "- / 85", 5000: "- / 90"}
"""Percent of the echo's pods/s that mooring as an extender aims at, by nodes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write the report.

    Returns:
        0; 1 if something that is needed is missing.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.peers", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--nodes", type=int, nargs="+", default=[500, 1000, 5000], help="sizes of the cluster")
    add("--pods", type=int, default=1000, help="pods that each scheduler binds in a round")
    add("--decisions", type=int, default=200, help="decisions of a repeat in process")
    add("--repeats", type=int, default=5, help="repeats, and rounds of all contestants in turn")
    add("--part", choices=["decisions", "cluster"], help="leave out the other part")
    add("--only", metavar="NAME", action="append", help="workloads with NAME in their name")
    args = parser.parse_args(arguments)
    try:
        needs.provide(cluster=args.part != "decisions")
    except needs.MissingError as error:
        print(f"bench-peers: {error}", file=sys.stderr)
        return 1
    found: list[Figure] = []
    try:
        if args.part != "cluster":
            found += _in_process(args)
        for nodes in args.nodes if args.part != "decisions" else ():
            found += _on_clusters(args, nodes)
    finally:
        # Whoever stops it after twenty minutes wants what was found by then.
        summary = [figure for nodes in args.nodes for figure in side_by_side(found, nodes)]
        publish(TITLE, summary + found, FOLDER / "peers")
    return 0


def _wanted(name: str, args: argparse.Namespace) -> bool:
    return not args.only or any(part in name for part in args.only)


def _in_process(args: argparse.Namespace) -> list[Figure]:
    chosen = [w for w in in_process.workloads(args.nodes, args.decisions) if _wanted(w.name, args)]
    found: list[Figure] = []
    with steps(args.repeats * len(chosen)) as bar:
        for workload in chosen:
            bar.doing(workload.name)
            found += measure(workload, args.repeats, bar.done)
    return found


def _on_clusters(args: argparse.Namespace, nodes: int) -> list[Figure]:
    names = [name for name in contestants() if _wanted(name, args)]
    rates: dict[str, list[Sample]] = {name: [] for name in names}
    cpu: dict[str, list[Sample]] = {name: [] for name in names}
    with steps(args.repeats * len(names)) as bar:
        for number in range(args.repeats):
            # Whoever comes first in one round comes last in the next.
            order = names[number % len(names) :] + names[: number % len(names)]
            found = _round(args, nodes, order, bar)
            for name, rate in rounds.against(
                {name: rate for name, (rate, _) in found.items()}, BASES
            ).items():
                rates[name].append(rate)
                cpu[name].append(found[name][1])
    return [
        *(
            f
            for name in names
            for f in figures(f"{nodes}Nodes/{name}", rates[name], _targets(nodes, name), {})
        ),
        *(f for name in names for f in figures(f"{nodes}NodesCPU/{name}", cpu[name], {}, {})),
    ]


def _round(
    args: argparse.Namespace, nodes: int, names: Sequence[str], bar: Steps
) -> dict[str, tuple[Sample, Sample]]:
    found: dict[str, tuple[Sample, Sample]] = {}
    bar.doing(f"{nodes}Nodes")
    with rounds.cluster(nodes) as plane:
        for name in names:
            bar.doing(f"{nodes}Nodes/{name}")
            found[name] = rounds.bind(plane, contestants()[name], args.pods)
            bar.done()
    return found


def _targets(nodes: int, name: str) -> dict[str, str]:
    extender = name.startswith("Mooring") and name != "MooringScheduler"
    return {"% of Echo": TARGETS[nodes]} if extender and nodes in TARGETS else {}


if __name__ == "__main__":
    raise SystemExit(main())
