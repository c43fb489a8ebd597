"""``mooring why-pending``: which pods have no node, and what is in the way.

A server answers from the decisions that it remembers. Other pods, and those of manifests or of a live
cluster, are each evaluated in the cluster as it is now.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.change import UNFINISHED, advice_of, option_document, print_advice, suggested
from mooring.cli.clusters import add_cluster, choose_cluster
from mooring.cli.console import print_line, print_table, read_and_shown
from mooring.cli.decisions import document_of, victims_of
from mooring.cli.flags import (
    Commands,
    Flags,
    add_command,
    add_deciding,
    add_output,
    engine_options,
    pod_key,
)
from mooring.cli.output import Exit, UsageError, print_document, worst
from mooring.cli.past import show_history
from mooring.cli.selection import PodSelection, add_selection, selection_of
from mooring.cli.tables.preemption import node_of, print_preemption
from mooring.cli.values import seconds

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from mooring.decisions.asking import PendingPod
    from mooring.framework import Pod
    from mooring_client.v1 import decision_service_pb2 as pb
    from mooring_client.v1 import simulation_service_pb2 as simulation

    Advise = Callable[[Pod, str], simulation.SuggestChangesResponse]

_EXAMPLES = """examples:
  mooring why-pending                                    the pods that a server on this machine remembers
  mooring why-pending web-3 -n prod                      one pod, with its attempts
  mooring why-pending -l app=web -A --kubeconfig ~/.kube/config
  kubectl get nodes,pods -A -o json | mooring why-pending --manifests -"""

EXAMPLES = 3
"""The number of pods named for each group."""

COLUMNS = ("#PODS", "NAMESPACE", "OWNER", "REASON", "#NODES", "SINCE", "SUCH AS")


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "say which pods have no node, and why"
    parser = add_command(commands, "why-pending", text, _EXAMPLES)
    parser.add_argument("pod", metavar="POD", nargs="?", default="", help="only this pod, with its attempts")
    flags = Flags(parser)
    add_cluster(flags)
    add_selection(flags.group("Selection flags"))
    flags.add(
        "profile",
        "NAME",
        "",
        "only decisions of this profile; for --cluster and --manifests, each pod's profile",
    )
    text = "only a server's decisions of the last TIME; 0 = all that it remembers"
    flags.add("window", "TIME", "0", text, seconds)
    flags.switch("history", "the life of one POD, as a server knows it")
    add_output(flags)
    add_deciding(flags, stubs=True)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    choose_cluster(args)
    selection = selection_of(args)
    if args.history:
        if args.server and args.pod:
            return show_history(args)
        raise UsageError("--history needs a POD and --server ADDRESS: a process remembers what it did")
    if not args.server:
        return _run_offline(args, options, selection)
    return _run_pod(args) if args.pod else _run_groups(args, selection)


def _run_groups(args: argparse.Namespace, selection: PodSelection) -> int:
    from mooring_client.v1 import decision_service_pb2 as pb

    request = pb.SummarizeReasonsRequest(
        namespace=selection.namespace, profile=args.profile, label_selector=selection.selector
    )
    request.window.FromNanoseconds(int(args.window * 1e9))
    request.ask_now, request.advise = not args.window, True
    found, before = remote.decide(args, "SummarizeReasons", request), 0
    # A turn takes two seconds; the next one continues if the cluster hasn't changed.
    while found.unexplained_count and found.asked_count > before:
        before = found.asked_count
        found = remote.decide(args, "SummarizeReasons", request)
    groups = [_group(each) for each in found.groups]
    if args.output == "table":
        _print_groups(groups, found.group_count)
        _print_asked(found.asked_count, found.unexplained_count if request.ask_now else 0)
    else:
        print_document(args.output, groups)
    return _exit_code(groups)


def _exit_code(groups: Iterable[dict[str, Any]]) -> int:
    return worst(Exit.PREEMPTS if each["nominated"] == each["pods"] else Exit.UNSCHEDULED for each in groups)


def _print_asked(asked: int, left: int) -> None:
    """Say which pods the server has not decided about."""
    if asked:
        pods = "1 pod was" if asked == 1 else f"{asked} pods were"
        print_line(f"{pods} evaluated now: the server remembers no decision")
    if left:
        print_line(
            f"{left} more have no node: repeat the command, or run mooring explain POD for one of them"
        )


def _run_offline(args: argparse.Namespace, options: tuple[Option, ...], selection: PodSelection) -> int:
    """Evaluate each pod in the cluster as it is now."""
    from mooring.app.offline import pending_pods
    from mooring.app.what_if import advising

    key = pod_key(args.pod, args.namespace) if args.pod else ""

    def wanted(pod: Pod) -> bool:
        return pod.key == key if key else selection.wants(pod)

    chosen = engine_options(args, options)
    with read_and_shown("asking") as shown:
        core, found = pending_pods(chosen, args.manifests, wanted, shown, profile=args.profile)
        groups = _grouped(found, advising(core, chosen), args.profile)
    if args.output == "table":
        _print_groups(groups, len(groups))
        for each in found if args.pod else ():
            _print_one(each)
    else:
        print_document(args.output, groups)
    return _exit_code(groups)


def _print_one(pod: PendingPod) -> None:
    if pod.why is not None:
        print_line(f"pod {pod.pod.key}: {pod.why.message}")
    print_preemption(pod.preemption)


def _grouped(pods: list[PendingPod], advise: Advise, profile: str) -> list[dict[str, Any]]:
    """Return the pods by controller and dominant reason, in the form of ``_group``."""
    from mooring.decisions.summary import grouped
    from mooring.service.reasons import group_message

    asked, now = {each.pod.metadata.uid: each for each in pods}, time.time()
    groups = []
    for group in grouped(each.unplaced() for each in pods):
        members = [asked[pod.newest.uid] for pod in group.pods]
        kept_for = dict.fromkeys(name for each in members for name in each.kept_for)
        more: dict[str, Any] = {"preemption": members[0].preemption, "keptFor": list(kept_for)[:EXAMPLES]}
        if members[0].stuck:
            more |= advice_of(advise(members[0].pod, profile))
        groups.append({**_group(group_message(group, now, now)), **more})
    return groups


def _print_groups(groups: list[dict[str, Any]], count: int) -> None:
    if not groups:
        print_line("no pod is known to wait for a node")
        return
    _print_advice(groups)
    print_table(COLUMNS, map(_row, groups))
    if count > len(groups):
        print_line(f"... and {count - len(groups)} more groups")


def _print_advice(groups: list[dict[str, Any]]) -> None:
    """Print the advice that helps most pods, which the table repeats for each group."""
    helped: Counter[str] = Counter()
    for group in groups:
        if group["advice"]:
            helped[group["advice"]["text"]] += group["pods"] if group["controller"] else 1
    if helped:
        text, count = helped.most_common(1)[0]
        print_line(f"{count} {'pod' if count == 1 else 'pods'} would fit with this: {text}", "bold yellow")


def _row(group: dict[str, Any]) -> tuple[str, ...]:
    plugin = f"{group['plugin']}: " if group["plugin"] else ""
    return (
        str(group["pods"]),
        group["namespace"],
        group["controller"] or "",
        f"{plugin}{group['reason']}{_preempting(group)}{_advice(group)}",
        str(group["nodes"] or ""),
        _ago(group["oldest"]),
        group["examples"][0].rpartition("/")[2] if group["examples"] else "",
    )


def _advice(group: dict[str, Any]) -> str:
    if group["adviceUnfinished"]:
        return f" -> {UNFINISHED}"
    if not group["advice"]:
        return ""
    doubt = "" if group["advice"]["complete"] else " (not all was tried)"
    # Pods without an owner need not be alike: the advice is about the first one.
    pod = "" if group["controller"] or group["pods"] == 1 else f"for {group['examples'][0]}: "
    return f" -> {pod}{group['advice']['text']}{doubt}"


def _preempting(group: dict[str, Any]) -> str:
    """Return a sentence about pods that will preempt others, and about nominated pods in their way."""
    count, said = group["nominated"], []
    if count:
        some = "" if count == group["pods"] else f"{count} of {group['pods']} "
        said.append(f"{some}will run after preemption")
    if kept_for := group.get("keptFor"):
        said.append(f"room is kept for the nominated {', '.join(kept_for)}")
    return f" ({'; '.join(said)})" if said else ""


def _ago(moment: str | None) -> str:
    """Return how long ago a time was, like kubectl's AGE; "" if the text is not a time."""
    try:
        passed = time.time() - datetime.fromisoformat(moment or "").timestamp()
    except ValueError:
        return ""
    for unit, seconds_each in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if passed >= 2 * seconds_each:
            return f"{passed / seconds_each:.0f}{unit}"
    return f"{max(0.0, passed):.0f}s"


def _group(group: pb.ReasonGroup) -> dict[str, Any]:
    from mooring.service.wire.findings import code_label

    return {
        "namespace": group.namespace,
        "controller": f"{group.controller_kind}/{group.controller_name}" if group.controller_kind else None,
        "plugin": group.reason.plugin,
        "reason": group.reason.reason,
        "code": code_label(group.reason.code) or None,
        "nodes": group.reason.node_count,
        "pods": group.pod_count,
        "examples": [f"{pod.namespace}/{pod.name}" for pod in group.examples],
        "oldest": group.oldest_time.ToJsonString() if group.HasField("oldest_time") else None,
        "newest": group.newest_time.ToJsonString(),
        "lastSeq": group.last_seq or None,
        "trend": list(group.trend),
        "message": group.message,
        "nominated": group.nominated_count,
        "advice": {**option_document(group.advice), "complete": not group.advice_partial}
        if group.HasField("advice")
        else None,
        "adviceUnfinished": group.advice_partial and not group.HasField("advice"),
    }


def _run_pod(args: argparse.Namespace) -> int:
    from mooring_client.v1 import decision_service_pb2 as pb

    namespace, _, name = pod_key(args.pod, args.namespace).rpartition("/")
    where = pb.DecisionFilter(namespace=namespace, pod=name, profile=args.profile)
    found = remote.decide(args, "ListDecisions", pb.ListDecisionsRequest(filter=where, limit=1_000)).decisions
    if args.output != "table":
        print_document(args.output, [document_of(each) for each in found])
    elif not found:
        return _ask_now(args, f"{namespace}/{name}")
    else:
        _print_attempts(args, f"{namespace}/{name}", found)
    if not found or found[-1].result != pb.DECISION_RESULT_SCHEDULED:
        return Exit.PREEMPTS if found and found[-1].nominated_node else Exit.UNSCHEDULED
    return Exit.OK


def _ask_now(args: argparse.Namespace, pod: str) -> int:
    """Let the server evaluate a pod for which it remembers no decision."""
    from mooring.decisions.asking import FITS
    from mooring_client.v1 import scheduling_service_pb2 as scheduling

    remote.require_pending(args, pod)
    request = scheduling.ExplainRequest(pod=remote.reference(pod), profile=args.profile)
    found = remote.explain(args, request).document()
    if not found["selected"]:
        print_advice(pod, advice_of(suggested(args, pod)))
    said = f"{FITS} ({found['selected']})" if found["selected"] else found["status"]["message"]
    print_line(f"pod {pod}: {said}")
    print_preemption(found["preemption"])
    print_line(f"evaluated now: the server remembers no decision; mooring explain {pod} shows all nodes")
    return Exit.PREEMPTS if node_of(found["preemption"]) else Exit.UNSCHEDULED


def _print_attempts(args: argparse.Namespace, pod: str, found: list[pb.Decision]) -> None:
    last = found[-1]
    if last.node:
        print_line(f"pod {pod} has node {last.node} by decision {last.seq}")
        return
    if not last.nominated_node:
        print_advice(pod, advice_of(suggested(args, pod)))
    print_line(f"pod {pod}: {last.verdict.message}")
    _print_now(args, pod)
    if last.nominated_node and last.explained:
        print_preemption(remote.explain_attempt(args, pod, -1).document()["preemption"])
    elif last.victims:
        print_line(f"it preempts {victims_of(last)} on {last.nominated_node}")
    if last.dominant.reason:
        plugin = f"{last.dominant.plugin}: " if last.dominant.plugin else ""
        print_line(f"above all {plugin}{last.dominant.reason} ({last.dominant.node_count} nodes)")
    tries = "1 decision" if len(found) == 1 else f"{len(found)} decisions in {_between(found[0], last)}"
    print_line(f"{tries} so far; mooring explain {pod} --attempt -1 --server ... shows all nodes")


def _print_now(args: argparse.Namespace, pod: str) -> None:
    """Print whether a rejected pod would fit now, and if so, which event its queue waits for."""
    from mooring_client.v1 import decision_service_pb2 as pb
    from mooring_client.v1 import scheduling_service_pb2 as scheduling

    try:
        request = scheduling.ExplainRequest(pod=remote.reference(pod), profile=args.profile)
        node = remote.explain(args, request).document()["selected"]
        if node is None:
            return
        print_line(f"fits now: {node} would take it")
        namespace = pod.rpartition("/")[0]
        listing = pb.ListQueueRequest(namespace=namespace, limit=100_000, page_size=remote.ALL)
        queue = remote.decide(args, "ListQueue", listing).pods
    except remote.CallError:
        # The pod came with a call and isn't in the state, or this process has no queue.
        return
    for queued in queue:
        if f"{queued.pod.namespace}/{queued.pod.name}" == pod:
            print_line(_waits_for(queued))


def _waits_for(queued: pb.QueuedPod) -> str:
    """Return when a pod that fits is tried again."""
    from mooring_client.v1 import decision_service_pb2 as pb

    if queued.place == pb.QUEUE_PLACE_BACKOFF:
        return f"it is tried again at {_clock_time(queued.ready_time)}, when its backoff ends"
    if queued.place not in (pb.QUEUE_PLACE_UNSCHEDULABLE, pb.QUEUE_PLACE_GATED):
        return "it is about to be tried again"
    events = "; ".join(f"{', '.join(each.events)} ({each.plugin})" for each in queued.wakes)
    said = f"no change has woken it since; these may, if the plugin finds that they help: {events}"
    if not queued.HasField("sweep_time"):
        return said
    return f"{said}. Else the sweep tries it again at {_clock_time(queued.sweep_time)} or up to 30 s later"


def _clock_time(moment: Timestamp) -> str:
    return datetime.fromtimestamp(moment.ToNanoseconds() / 1e9, UTC).strftime("%H:%M:%SZ")


def _between(first: pb.Decision, last: pb.Decision) -> str:
    return f"{(last.time.ToNanoseconds() - first.time.ToNanoseconds()) / 1e9:.0f} s"
