"""``mooring why-pending``: which pods have no node, and what is in the way."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.decisions import document_of
from mooring.cli.flags import SERVER, Commands, Flags, add_namespace, add_output, add_verbosity, pod_key
from mooring.cli.output import EXIT_OK, EXIT_UNSCHEDULED, print_document
from mooring.cli.values import seconds

if TYPE_CHECKING:
    from mooring.v1 import decision_service_pb2 as pb

COLUMNS = ("PODS", "NAMESPACE", "OWNER", "REASON", "NODES", "SINCE", "SUCH AS")


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "say which pods have no node, and why"
    parser = commands.add_parser("why-pending", help=text, description=text, allow_abbrev=False)
    parser.add_argument("pod", metavar="POD", nargs="?", default="", help="only this pod, with its attempts")
    flags = Flags(parser)
    remote.add_server(flags.group(SERVER), remote.DEFAULT_SERVER)
    add_namespace(flags)
    flags.add("profile", "NAME", "", "only decisions of this profile")
    flags.add("window", "TIME", "0", "look at the decisions of so long; 0 = all that are remembered", seconds)
    add_output(flags)
    add_verbosity(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    """Carry it out."""
    return _run_pod(args) if args.pod else _run_groups(args)


def _run_groups(args: argparse.Namespace) -> int:
    from mooring.v1 import decision_service_pb2 as pb

    request = pb.SummarizeReasonsRequest(namespace=args.namespace, profile=args.profile)
    request.window.FromNanoseconds(int(args.window * 1e9))
    found = remote.decide(args, "SummarizeReasons", request)
    if args.output == "table":
        _print_groups(found)
    else:
        print_document(args.output, [_group(each) for each in found.groups])
    return EXIT_UNSCHEDULED if found.groups else EXIT_OK


def _print_groups(found: pb.SummarizeReasonsResponse) -> None:
    from mooring.cli.console import print_line, put, table_of

    if not found.groups:
        print_line("no pod waits for a node, by what is remembered of decisions")
        return
    put(table_of(COLUMNS, map(_row, found.groups)))
    if found.group_count > len(found.groups):
        print_line(f"... and {found.group_count - len(found.groups)} more groups")


def _row(group: pb.ReasonGroup) -> tuple[str, ...]:
    seconds_ago = time.time() - group.oldest_time.ToNanoseconds() / 1e9
    owner = f"{group.controller_kind}/{group.controller_name}" if group.controller_kind else ""
    plugin = f"{group.reason.plugin}: " if group.reason.plugin else ""
    return (
        str(group.pod_count),
        group.namespace,
        owner,
        f"{plugin}{group.reason.reason}",
        str(group.reason.node_count or ""),
        f"{max(0.0, seconds_ago):.0f}s",
        group.examples[0].name if group.examples else "",
    )


def _group(group: pb.ReasonGroup) -> dict[str, Any]:
    return {
        "namespace": group.namespace,
        "controller": f"{group.controller_kind}/{group.controller_name}" if group.controller_kind else None,
        "plugin": group.reason.plugin,
        "reason": group.reason.reason,
        "nodes": group.reason.node_count,
        "pods": group.pod_count,
        "examples": [f"{pod.namespace}/{pod.name}" for pod in group.examples],
        "oldest": group.oldest_time.ToJsonString(),
        "newest": group.newest_time.ToJsonString(),
        "lastSeq": group.last_seq,
        "trend": list(group.trend),
        "message": group.message,
    }


def _run_pod(args: argparse.Namespace) -> int:
    from mooring.cli.console import print_line
    from mooring.v1 import decision_service_pb2 as pb

    namespace, _, name = pod_key(args.pod, args.namespace).rpartition("/")
    where = pb.DecisionFilter(namespace=namespace, pod=name, profile=args.profile)
    found = remote.decide(args, "ListDecisions", pb.ListDecisionsRequest(filter=where, limit=1_000)).decisions
    if args.output != "table":
        print_document(args.output, [document_of(each) for each in found])
    elif not found:
        print_line(f"nothing is remembered of pod {namespace}/{name}")
    else:
        _print_attempts(f"{namespace}/{name}", found)
    waits = not found or found[-1].result != pb.DECISION_RESULT_SCHEDULED
    return EXIT_UNSCHEDULED if waits else EXIT_OK


def _print_attempts(pod: str, found: list[pb.Decision]) -> None:
    from mooring.cli.console import print_line

    last = found[-1]
    if last.node:
        print_line(f"pod {pod} has node {last.node} by decision {last.seq}")
        return
    print_line(f"pod {pod}: {last.status.message}")
    if last.dominant.reason:
        plugin = f"{last.dominant.plugin}: " if last.dominant.plugin else ""
        print_line(f"above all {plugin}{last.dominant.reason} ({last.dominant.node_count} nodes)")
    tries = "1 decision" if len(found) == 1 else f"{len(found)} decisions in {_between(found[0], last)}"
    print_line(f"{tries} so far; mooring explain {pod} --attempt -1 --server ... shows all nodes")


def _between(first: pb.Decision, last: pb.Decision) -> str:
    return f"{(last.time.ToNanoseconds() - first.time.ToNanoseconds()) / 1e9:.0f} s"
