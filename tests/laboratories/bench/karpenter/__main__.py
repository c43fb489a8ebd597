"""May this node go? Asks mooring and Karpenter's own code: ``python -m tests.laboratories.bench.karpenter``.

Both get the same nodes with the same pods, one node after another; the figures are processor time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mooring.cluster.decoding import from_manifest
from mooring.kernels.compile import wait_for_compiler
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.removal import Departure, NodeRemoval, Removal, adopted
from tests.laboratories.bench.cluster import node_name
from tests.laboratories.bench.futures import PODS_PER_NODE, SEED, manifests, work_on
from tests.laboratories.bench.karpenter.build import build

Verdict = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, compare and print.

    Returns:
        0; 1 if one of the two is wrong about a node.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.laboratories.bench.karpenter", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[500, 1000], help="sizes of the cluster")
    parser.add_argument(
        "--candidates", type=int, default=50, help="of so many nodes is asked whether they may go"
    )
    args = parser.parse_args(arguments)
    program, wrong = build(), 0
    for nodes in args.nodes:
        said = list(_mooring(nodes, args.candidates))
        theirs = _karpenter(program, nodes, args.candidates)
        wrong += sum(map(_differs, (removal for removal, _ in said), theirs))
        ours = statistics.median(seconds for _, seconds in said)
        peers = statistics.median(verdict["seconds"] for verdict in theirs)
        print(
            f"{nodes} nodes with {PODS_PER_NODE} pods each, {args.candidates} candidates: "
            f"mooring {1e3 * ours:.2f} ms a node, Karpenter {1e3 * peers:.2f} ms, "
            f"{peers / ours:.0f} times as long",
            flush=True,
        )
    print(f"{wrong} nodes about which they differ")
    return int(wrong > 0)


def _mooring(nodes: int, candidates: int) -> Iterator[tuple[NodeRemoval, float]]:
    """Yield mooring's answer about each node, and the seconds of processor time that it took."""
    work = work_on(map(from_manifest, [each for some in manifests(nodes) for each in some]))
    removal = Removal(work, partial(adopted, work.engine, ""), departure=Departure.DELETION, seed=SEED)
    # A server has answered before, and Karpenter's program was compiled before.
    list(removal.try_nodes([node_name(nodes - 1)], NoDeadline()))
    wait_for_compiler()
    found = removal.try_nodes(map(node_name, range(candidates)), NoDeadline())
    for _ in range(candidates):
        began = time.process_time()
        yield next(found), time.process_time() - began


def _karpenter(program: Path, nodes: int, candidates: int) -> list[Verdict]:
    """Return Karpenter's answers about the nodes."""
    some, pods = manifests(nodes)
    given = json.dumps({"nodes": some, "pods": pods, "candidates": candidates})
    answer = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    verdicts: list[Verdict] = json.loads(answer.stdout)["verdicts"]
    return verdicts


def _differs(ours: NodeRemoval, theirs: Verdict) -> bool:
    """Return whether only one of the two lets the node go, or they don't find places for the same pods."""
    assert ours.node_name == theirs["node"]
    landed = {landing.pod.metadata.name for landing in ours.landings if landing.node_name}
    return (ours.removable, landed) != (theirs["can_go"], set(theirs["landings"]))


if __name__ == "__main__":
    sys.exit(main())
