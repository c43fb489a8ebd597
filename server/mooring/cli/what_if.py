"""``mooring what-if``: how many more pods would fit, which nodes could go, what would help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mooring.app.embedding import Option
from mooring.cli import change, node_groups, removal
from mooring.cli.clusters import add_cluster, choose_cluster
from mooring.cli.console import print_line, print_table
from mooring.cli.flags import (
    Commands,
    Flags,
    Parser,
    add_command,
    add_deciding,
    add_namespace,
    add_output,
    pod_key,
)
from mooring.cli.output import Exit, UsageError, complain, print_document
from mooring.cli.tables.preemption import node_of, print_preemption
from mooring.cli.values import one_of, positive, seed
from mooring.cli.what_if_answers import answer, sent
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.releases import DEFAULT_KUBE_VERSION, Gates, KubeVersion

if TYPE_CHECKING:
    from mooring.app.what_if import Question
    from mooring.framework.objects import Object
    from mooring_client.v1 import simulation_service_pb2 as pb

MOST_NAMED = 10
"""The number of pods still pending that are printed, each with its reason."""

DRAIN = "drain"


_EXAMPLES = """examples:
  mooring what-if capacity --shape pod.yaml --manifests cluster.yaml
  mooring what-if removal --manifests cluster.yaml       the best node to drain comes first
  mooring what-if node-groups --group groups.yaml --manifests cluster.yaml
  mooring what-if change web -n prod --manifests cluster.yaml"""


def add(commands: Commands) -> None:
    """Declare the command and the questions that it has."""
    text = "explore changes: how many more pods would fit, which nodes could go, what would help"
    parser = add_command(commands, "what-if", text, _EXAMPLES)
    questions: Commands = parser.add_subparsers(dest="question", required=True, metavar="QUESTION")
    _add_capacity(questions)
    _add_removal(questions)
    _add_node_groups(questions)
    _add_change(questions)


def _add_capacity(questions: Commands) -> None:
    text = "how many more pods of each shape fit, and why no more do"
    parser, flags = _question(questions, "capacity", text)
    flags.many("shape", "PATH", "a manifest with a pod, or with a workload that makes pods")
    flags.add("limit", "COUNT", "1000000", "count at most this many pods of a shape", positive)
    flags.switch("nodes", "print how many each node takes")
    text = "ResourceQuotas, or cluster for those of the live one; print how many their namespaces admit"
    flags.many("quota", "PATH", text)
    _add_ignore_pending(flags)
    flags.add("profile", "NAME", "", "the profile; default that of the pod's schedulerName")
    parser.set_defaults(run=_run_capacity)


def _add_removal(questions: Commands) -> None:
    text = "which nodes could go, and where their pods would land"
    parser, flags = _question(questions, "removal", text)
    flags.many("node", "NAME", "consider only this node; default all")
    modes = "drain: a node stays, cordoned, until its pods have others; deletion: it is deleted first"
    flags.add("by", "HOW", DRAIN, f"how nodes are removed; {modes}", one_of(DRAIN, "deletion"))
    flags.switch("cumulative", "remove each node that can go before the next one is considered")
    _add_ignore_pending(flags)
    flags.add("profile", "NAME", "", "the profile of pods whose schedulerName names no profile")
    parser.set_defaults(run=_run_removal)


def _add_node_groups(questions: Commands) -> None:
    text = "the group, and the number of its nodes, that would take the pending pods"
    parser, flags = _question(questions, "node-groups", text)
    flags.many(
        "group",
        "PATH",
        "manifests with one node for each group, which gives the group its name and its nodes' form",
    )
    flags.many("price", "NAME=PRICE", "price of one node of a group; default 1")
    flags.add("profile", "NAME", "", "the profile; default that of each pod's schedulerName")
    parser.set_defaults(run=_run_node_groups)


def _add_change(questions: Commands) -> None:
    text = "the fewest changes after which an unschedulable pod, or a pod group, would fit"
    parser, flags = _question(questions, "change", text)
    parser.add_argument(
        "pod", metavar="POD", help="NAME, pod/NAME or NAMESPACE/NAME; podgroup/NAME is a group"
    )
    add_namespace(flags)
    flags.many("node", "NAME", "consider only this node; default any, or a new one")
    kinds = f"kinds of change: {', '.join(change.KINDS)}; default all, for a group all but move"
    flags.many("kind", "KIND", kinds)
    flags.add("profile", "NAME", "", "the profile; default that of the pod's schedulerName")
    parser.set_defaults(run=_run_change)


def _add_ignore_pending(flags: Flags) -> None:
    flags.switch("ignore-pending", "leave out pending pods; by default they are placed first")


def _question(questions: Commands, name: str, text: str) -> tuple[Parser, Flags]:
    (example,) = [line for line in _EXAMPLES.splitlines() if line.startswith(f"  mooring what-if {name} ")]
    parser = add_command(questions, name, text, f"example:\n{example}")
    flags = Flags(parser)
    add_cluster(flags)
    flags.add("seed", "NUMBER", "0", "decides between nodes of equal totals", seed)
    add_output(flags)
    add_deciding(flags, otherwise=f"that of the server, else {DEFAULT_KUBE_VERSION}", stubs=True)
    return parser, flags


def _run_capacity(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    _choose_cluster(args)
    if not args.shape:
        raise UsageError("give the pods with --shape PATH")
    from mooring.app.quotas import admitted, quotas_of
    from mooring.app.what_if import shapes_of
    from mooring_client.v1 import objects_pb2
    from mooring_client.v1 import simulation_service_pb2 as pb

    gates = Gates(KubeVersion.parse(args.kube_version or DEFAULT_KUBE_VERSION), args.feature_gates)
    shapes, quotas = shapes_of(args.shape, gates), quotas_of(args.quota, args.manifests)
    request = pb.EstimateCapacityRequest(
        shapes=[objects_pb2.PodSource(object=sent(shape.pod)) for shape in shapes],
        profile=args.profile,
        limit=args.limit,
        include_nodes=args.nodes,
        seed=args.seed,
        ignore_pending=args.ignore_pending,
    )
    response = _answer(args, options, request, [claim for shape in shapes for claim in shape.claims])
    found = [
        {
            "shape": shape.name,
            "count": each.count,
            "limited": each.limited,
            "end": each.end.message,
            "nodes": {node.node: node.count for node in each.nodes},
            "namespaces": _namespaces(each.count, each.end.message, admitted(quotas, shape.pod)),
            **_queue(response),
        }
        for shape, each in zip(shapes, response.shapes, strict=True)
    ]
    if args.output != "table":
        print_document(args.output, found)
    else:
        _print_capacity(found, by_node=args.nodes)
        _print_queue(response)
    return Exit.OK


def _print_capacity(found: list[dict[str, Any]], *, by_node: bool) -> None:
    rows = [(each["shape"], Text(_amount(each), _style(each["count"] > 0)), each["end"]) for each in found]
    print_table(("SHAPE", "#MORE", "THEN"), rows)
    for each in found:
        if by_namespace := each["namespaces"]:
            head = f"NAMESPACE FOR {each['shape']}"
            print_table((head, "#MORE", "THEN"), _namespace_rows(by_namespace))
    for each in found if by_node else ():
        print_table((f"NODE FOR {each['shape']}", "#PODS"), [(n, str(c)) for n, c in each["nodes"].items()])


def _namespaces(
    count: int, end: str, admitted: dict[str, tuple[int | None, str]]
) -> dict[str, dict[str, Any]]:
    """Return by namespace how many more pods its quotas and the nodes have room for, and what ends it."""
    return {
        name: {"count": count, "end": end} if most is None or most > count else {"count": most, "end": why}
        for name, (most, why) in admitted.items()
    }


def _namespace_rows(found: dict[str, dict[str, Any]]) -> list[tuple[str, Text, str]]:
    return [
        (name, Text(f"{each['count']:,}", _style(each["count"] > 0)), each["end"])
        for name, each in sorted(found.items())
    ]


def _run_removal(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    _choose_cluster(args)
    from mooring_client.v1 import simulation_service_pb2 as pb

    request = pb.PlanRemovalRequest(
        nodes=args.node,
        mode=pb.RemovalMode.Value(f"REMOVAL_MODE_{args.by.upper()}"),
        cumulative=args.cumulative,
        ignore_pending=args.ignore_pending,
        profile=args.profile,
        seed=args.seed,
    )
    response = _answer(args, options, request)
    found = [{**removal.document(each), **_queue(response)} for each in response.nodes]
    if not (args.cumulative or args.node):
        found.sort(key=removal.disruption)
    if args.output != "table":
        print_document(args.output, found)
        return Exit.OK
    removal.print_nodes(found)
    how = "together" if args.cumulative else "each alone"
    going = sum(each["removable"] for each in found)
    said = f"{going} of {len(found)} nodes could go by {args.by}, {how}"
    print_line(said if found else "there are no nodes")
    _print_queue(response)
    return Exit.OK


def _queue(response: pb.EstimateCapacityResponse | pb.PlanRemovalResponse) -> dict[str, Any]:
    return {
        "placedFirst": response.placed_count,
        "stillPending": len(response.unplaced),
        "preempted": list(map(removal.pod_key, response.preempted)),
    }


def _print_queue(response: pb.EstimateCapacityResponse | pb.PlanRemovalResponse) -> None:
    left = list(map(node_groups.left_over, response.unplaced))
    if response.placed_count or left:
        said = f"placed first: {response.placed_count}, still pending: {len(left)}"
        print_line(f"pending pods {said}")
        node_groups.print_preempted(list(map(removal.pod_key, response.preempted)))
    for each in left[:MOST_NAMED]:
        print_line(f"  {each['pod']}: {each['message']}")
    if len(left) > MOST_NAMED:
        print_line(f"  and {len(left) - MOST_NAMED} more: see mooring why-pending")


def _run_node_groups(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    _choose_cluster(args)
    if not args.group:
        raise UsageError("give the groups with --group PATH")
    from mooring.app.what_if import groups_of
    from mooring_client.v1 import simulation_service_pb2 as pb

    groups = [
        pb.NodeGroup(name=group.name, price=group.price, node=sent(group.template))
        for group in groups_of(args.group, _prices(args.price))
    ]
    request = pb.PlanNodeGroupsRequest(groups=groups, profile=args.profile, seed=args.seed)
    response = _answer(args, options, request)
    found = node_groups.document(response)
    if args.output != "table":
        print_document(args.output, found)
        return Exit.OK
    node_groups.print_options(found)
    return Exit.OK


def _answer(
    args: argparse.Namespace, options: tuple[Option, ...], request: Question, objects: Sequence[Object] = ()
) -> Any:
    """Return the answer; its warnings go to standard error."""
    response = answer(args, options, request, objects)
    for warning in response.warnings:
        complain(warning)
    return response


def _run_change(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    _choose_cluster(args)
    unknown = [kind for kind in args.kind if kind not in change.KINDS]
    if unknown:
        raise UsageError(f"--kind: {unknown[0]!r} is not one of {', '.join(change.KINDS)}")
    kind, _, name = args.pod.rpartition("/")
    grouped = kind == change.GROUP
    key = pod_key(name if grouped else args.pod, args.namespace)
    found = change.ask(args, options, key, args.node, args.kind, group=grouped)
    fits = found["fits"] and not args.node
    asked = f"{'group' if grouped else 'pod'} {key}"
    if args.output != "table":
        print_document(args.output, found)
    elif fits:
        print_line(f"{asked} fits as it is")
    else:
        print_line(f"{asked}: {found['message'] or 'fits'}")
        print_preemption(found["preemption"])
        change.print_options(found)
        if not found["options"]:
            print_line("no such change would make it fit")
    for warning in found["warnings"] if args.output == "table" else ():
        print_line(f"warning: {warning}", "yellow")
    if found["options"] or fits:
        return Exit.OK
    return Exit.PREEMPTS if node_of(found["preemption"]) else Exit.UNSCHEDULED


def _prices(words: list[str]) -> dict[str, float]:
    """Return the prices by group. Raises InvalidArgumentError if one is not NAME=PRICE."""
    prices: dict[str, float] = {}
    for word in words:
        name, _, text = word.partition("=")
        try:
            prices[name] = float(text)
        except ValueError:
            prices[name] = -1.0
        if not name or not 0 <= prices[name] < float("inf"):
            raise InvalidArgumentError.at("--price", f"{word!r} is not NAME=PRICE")
    return prices


def _choose_cluster(args: argparse.Namespace) -> None:
    """Choose the cluster, and the release of one that is read."""
    choose_cluster(args)
    if not args.server:
        args.kube_version = args.kube_version or DEFAULT_KUBE_VERSION
    elif args.plugin or args.unknown_plugins == "stub":
        raise UsageError(
            "--plugin and --unknown-plugins are for manifests: a server decides with its own plugins"
        )


def _amount(found: dict[str, Any]) -> str:
    return f"{found['count']} or more" if found["limited"] else str(found["count"])


def _style(good: bool) -> str:
    return "green" if good else "red"
