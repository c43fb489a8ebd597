"""``mooring schedule``: place the pending pods of manifests or of a live cluster, offline."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli.clusters import add_cluster, choose_cluster
from mooring.cli.console import print_line, print_table, read_and_shown
from mooring.cli.flags import (
    Commands,
    Flags,
    add_command,
    add_deciding,
    add_output,
    engine_options,
)
from mooring.cli.output import Exit, print_document
from mooring.cli.selection import add_selection, selection_of
from mooring.cli.tables.pods import PodRow, print_pods
from mooring.cli.tables.preemption import first_sentence
from mooring.cli.values import one_of, seed

if TYPE_CHECKING:
    from mooring.app.offline import Outcome

_EXAMPLES = """examples:
  mooring schedule --manifests cluster.yaml              all pods without a node, in the order of the queue
  kubectl get nodes,pods -A -o json | mooring schedule --manifests - -n prod
  mooring schedule --manifests cluster.yaml --by owner   a row for each workload and reason
  mooring schedule --kubeconfig ~/.kube/config -l app=web --config new.yaml"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "place the pending pods of manifests or of a live cluster, offline: nothing in it changes"
    parser = add_command(commands, "schedule", text, _EXAMPLES)
    flags = Flags(parser)
    add_cluster(flags, server=False)
    add_selection(flags.group("Selection flags"))
    flags.add("profile", "NAME", "", "the profile of every pod; default that of each pod's schedulerName")
    flags.add("seed", "NUMBER", "0", "decides between nodes of equal totals", seed)
    flags.switch("no-preemption", "leave all pods where they are, and say which pods would preempt others")
    text = "a row for each pod, or for each owner and reason"
    flags.add("by", "POD|OWNER", "pod", text, one_of("pod", "owner"))
    add_output(flags, "wide")
    add_deciding(flags, stubs=True)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    choose_cluster(args)
    from mooring.app.offline import engine_over, place_in
    from mooring.runtime.profiles.profiles import oldest_first

    selection = selection_of(args)
    with read_and_shown("placing") as shown:
        engine, manifests = engine_over(engine_options(args, options), args.manifests)
        pods, preempt = oldest_first(filter(selection.wants, manifests.pods)), not args.no_preemption
        outcomes = place_in(engine, pods, shown, profile=args.profile, seed=args.seed, preempt=preempt)
    if args.output in ("json", "yaml"):
        print_document(args.output, [_document(outcome) for outcome in outcomes])
    else:
        _print(outcomes, by_owner=args.by == "owner", wide=args.output == "wide")
    return _exit_code(outcomes)


def _exit_code(outcomes: list[Outcome]) -> int:
    waiting = [outcome for outcome in outcomes if not (outcome.node or outcome.bound)]
    if any(outcome.failed for outcome in outcomes):
        return Exit.FAILED
    if not all(outcome.room_on for outcome in waiting):
        return Exit.UNSCHEDULED
    return Exit.PREEMPTS if waiting or any(outcome.preempts for outcome in outcomes) else Exit.OK


def _document(outcome: Outcome) -> dict[str, Any]:
    """For programs."""
    return {
        "pod": outcome.pod,
        "owner": outcome.owner or None,
        "node": outcome.node,
        "total": outcome.total,
        "code": outcome.code.label,
        "message": outcome.message,
        "roomOn": outcome.room_on or None,
        "preempts": list(outcome.preempts),
        "preemptedBy": outcome.preempted_by or None,
    }


def _print(outcomes: list[Outcome], *, by_owner: bool, wide: bool) -> None:
    if by_owner:
        _print_owners(outcomes)
    else:
        print_pods([_row(outcome) for outcome in outcomes], wide=wide)
    pending = [outcome for outcome in outcomes if not outcome.bound]
    placed = sum(outcome.node is not None for outcome in pending)
    failed = sum(outcome.failed for outcome in outcomes)
    preempted = sum(bool(outcome.preempted_by) for outcome in outcomes)
    said = f"{placed} of {len(pending)} pending pods placed"
    print_line(
        said + (f", {failed} failed" if failed else "") + (f", {preempted} preempted" if preempted else "")
    )


def _print_owners(outcomes: list[Outcome]) -> None:
    """Print a row for each owner and reason: its pods, those with a node, and on how many nodes they are."""
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for each in outcomes:
        reason = "" if each.node else first_sentence(each.message)
        groups.setdefault((each.pod.partition("/")[0], each.owner, reason), []).append(each)
    rows = [
        (
            namespace,
            owner or "none",
            str(len(own)),
            str(sum(each.node is not None for each in own)),
            str(len({each.node for each in own} - {None})),
            reason,
        )
        for (namespace, owner, reason), own in groups.items()
    ]
    print_table(("NAMESPACE", "OWNER", "#PODS", "#PLACED", "#NODES", "REASON"), rows)


def _row(outcome: Outcome) -> PodRow:
    victims = f"preempts {', '.join(outcome.preempts)}" if outcome.preempts else ""
    told = "; ".join(filter(None, (victims, outcome.message)))
    return PodRow(outcome.pod, outcome.node, outcome.total, told, outcome.failed, outcome.room_on)
