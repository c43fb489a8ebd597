"""``make bench PART=peers``: mooring and kube-scheduler in one run, on the same clusters and pods."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from tests.laboratories.bench import machine
from tests.laboratories.bench.peers import in_process, needs
from tests.laboratories.bench.peers.clusters import bound
from tests.laboratories.bench.peers.contestants import IN_FLIGHT, contestants
from tests.laboratories.bench.peers.side_by_side import side_by_side
from tests.laboratories.bench.report import FOLDER, publish, record
from tests.laboratories.bench.steps import measure_all
from tests.laboratories.bench.workload import Figure
from tests.laboratories.e2e.build import KUBERNETES_VERSION

TITLE = f"mooring beside kube-scheduler {KUBERNETES_VERSION} in one run"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write the report.

    Returns:
        0; 1 if something that is needed is missing.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench.peers", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--nodes", type=int, nargs="+", default=[500, 1000, 5000], help="sizes of the cluster")
    add("--pods", type=int, default=2000, help="pods that each scheduler binds in a round")
    add("--decisions", type=int, default=200, help="decisions of a repeat in process")
    add("--repeats", type=int, default=5, help="repeats, and rounds of all contestants in turn")
    add("--part", choices=["decisions", "cluster"], help="leave out the other part")
    add("--only", metavar="NAME", action="append", help="workloads with NAME in their name")
    add("--record", action="store_true", help="write the tables into docs/figures, too")
    args = parser.parse_args(arguments)
    workloads = {w.name: w for w in in_process.workloads(args.nodes, args.decisions)}
    decided = [] if args.part == "cluster" else named(workloads, args.only)
    binding = [] if args.part == "decisions" else named(contestants(), args.only)
    if not args.only:
        binding = [name for name in binding if not name.startswith(IN_FLIGHT)]
    if not decided and not binding:
        names = "\n  ".join([*workloads, *contestants()])
        parser.error(f"nothing has {' or '.join(args.only)} in its name; there are:\n  {names}")
    try:
        needs.provide(cluster=bool(binding))
    except needs.MissingError as error:
        print(f"bench-peers: {error}", file=sys.stderr)
        return 1
    found: list[Figure] = []
    try:
        found += measure_all([workloads[name] for name in decided], args.repeats)
        for nodes in args.nodes if binding else ():
            found += bound(nodes, {name: contestants()[name] for name in binding}, args.pods, args.repeats)
    finally:
        # A run that is stopped after twenty minutes still reports its figures.
        summary = [figure for nodes in args.nodes for figure in side_by_side(found, nodes)]
        publish(TITLE, summary + found, FOLDER / "peers")
        if args.record:
            _record(summary + found)
    return 0


def _record(found: Sequence[Figure]) -> None:
    """Write the tables of each part that was measured into its section of docs/figures."""
    alone = [figure for figure in found if figure.group.startswith("decision")]
    together = [figure for figure in found if figure not in alone]
    for part, figures in (("decisions", alone), ("cluster", together)):
        if figures:
            record(f"bench-peers {part}", machine.describe(), figures)


def named(names: Iterable[str], parts: Sequence[str] | None) -> list[str]:
    """Return those that have one of ``parts`` in them; all if there are no parts."""
    return [name for name in names if not parts or any(part in name for part in parts)]


if __name__ == "__main__":
    raise SystemExit(main())
