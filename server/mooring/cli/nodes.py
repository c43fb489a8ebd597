"""``mooring nodes``: how full each node is."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.clusters import add_cluster, choose_cluster
from mooring.cli.console import print_line, print_table
from mooring.cli.flags import (
    Commands,
    Flags,
    add_command,
    add_deciding,
    add_output,
    engine_options,
)
from mooring.cli.output import Exit, print_document
from mooring.cli.tables.names import ShortNames
from mooring.cli.values import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mooring_client.v1 import cluster_service_pb2 as pb

_EXAMPLES = """examples:
  mooring nodes                                          of a server on this machine, the fullest first
  mooring nodes --limit 10 --manifests cluster.yaml
  kubectl get nodes,pods -A -o json | mooring nodes --manifests -"""

FULL, BUSY = 95, 80
"""From how many percent on a node is full, or nearly so."""

USUAL = ("cpu", "memory", "pods")
"""The resources that come first."""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "nodes", "say how full each node is, the fullest first", _EXAMPLES)
    flags = Flags(parser)
    add_cluster(flags)
    flags.add("limit", "COUNT", "0", "at most this many nodes; 0 = all", count)
    add_output(flags)
    add_deciding(flags, stubs=True)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    choose_cluster(args)
    names, usage = _asked(args) if args.server else _read(args, options)
    found = sorted(_documents(names, usage), key=lambda each: (-each["percent"], each["node"]))
    shown = found[: args.limit or None]
    if args.output == "table":
        _print(shown, len(found))
    else:
        print_document(args.output, shown)
    return Exit.OK


def _asked(args: argparse.Namespace) -> tuple[Sequence[str], pb.NodeUsage]:
    """Return the nodes of a server, and their usage."""
    from mooring_client.v1 import cluster_service_pb2 as pb
    from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub

    request = pb.ListNodesRequest(include_usage=True, page_size=remote.ALL)
    with remote.calling(args) as channel:
        answer = ClusterServiceStub(channel).ListNodes(request, timeout=remote.TIMEOUT_SECONDS)
    return answer.nodes.names.names, answer.usage


def _read(args: argparse.Namespace, options: tuple[Option, ...]) -> tuple[Sequence[str], pb.NodeUsage]:
    """Return the nodes of manifests, and their usage."""
    from mooring.app.offline import core_over
    from mooring.service.wire.node_usage import usage_of

    table = core_over(engine_options(args, options), args.manifests)[0].state.snapshot.nodes
    rows = table.rows()
    return [table.names[row] for row in rows.tolist()], usage_of(table, rows).message(0, len(rows))


def _documents(names: Sequence[str], usage: pb.NodeUsage) -> list[dict[str, Any]]:
    cordoned = set(usage.cordoned_positions)
    return [
        _document(name, at, usage, cordoned=at in cordoned) | {"zone": usage.zones[usage.zone_positions[at]]}
        for at, name in enumerate(names)
    ]


def _document(name: str, at: int, usage: pb.NodeUsage, *, cordoned: bool) -> dict[str, Any]:
    amounts = {
        each.name: {"requested": each.requested[at], "allocatable": each.allocatable[at]}
        for each in usage.resources
        if each.allocatable[at]
    }
    shares = [100 * each["requested"] / each["allocatable"] for each in amounts.values()]
    return {
        "node": name,
        "percent": round(max(shares, default=0.0), 1),
        "resources": amounts,
        "cordoned": cordoned,
        "taints": usage.taints[usage.taint_positions[at]],
    }


def _print(found: list[dict[str, Any]], count: int) -> None:
    offered = {name for each in found for name in each["resources"]}
    resources = [*USUAL, *sorted(offered.difference(USUAL, ["ephemeral-storage"]))]
    names = ShortNames.of([each["node"] for each in found])
    heads = ("NODE", "#FULL", *(f"#{name.upper()}" for name in resources), "KEEPS PODS AWAY")
    rows: list[tuple[str | Text, ...]] = [
        (
            names.short(each["node"]),
            _share(each["percent"]),
            *(_amount(each["resources"].get(name)) for name in resources),
            ", ".join(filter(None, ("cordoned" if each["cordoned"] else "", each["taints"]))),
        )
        for each in found
    ]
    print_table(heads, rows)
    names.print_ending()
    full = sum(each["percent"] >= FULL for each in found)
    rest = f", {count - len(found)} more are emptier" if count > len(found) else ""
    print_line(f"{full} of these {len(found)} nodes are full by the requests of their pods{rest}")


def _share(percent: float) -> Text:
    style = "red" if percent >= FULL else "yellow" if percent >= BUSY else ""
    return Text(f"{percent:.0f} %", style)


def _amount(amounts: dict[str, int] | None) -> str:
    return f"{100 * amounts['requested'] / amounts['allocatable']:.0f} %" if amounts else ""
