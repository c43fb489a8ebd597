"""``mooring decisions``: what a running process has decided."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.clusters import choose_server
from mooring.cli.flags import SERVER, Commands, Flags, add_command, add_output, add_verbosity, pod_key
from mooring.cli.output import Exit, complain, print_document
from mooring.cli.past import show_comparison, show_time_line
from mooring.cli.selection import add_selection, selection_of
from mooring.cli.tables.preemption import SHOWN_VICTIMS, first_sentence
from mooring.cli.values import count, one_of, positive, seconds, words

if TYPE_CHECKING:
    from mooring_client.v1 import decision_service_pb2 as pb

WAIT_SECONDS = 15
"""How long a call of ``--watch`` waits for the next decision."""

PAGE = 1_000
"""The most decisions that a call lists."""

RETRY_SECONDS = 1.0
"""The pause when the server lets no more callers wait."""

RESULTS = ("scheduled", "unschedulable", "error", "failed")
COLUMNS = ("SEQ", "TIME", "POD", "KIND", "RESULT", "NODE", "WHY")
TABLES = ("table", "wide")
WIDE = ("PROFILE", "ATTEMPT", "FEASIBLE", "TOOK")
"""Further columns of ``-o wide``."""


_EXAMPLES = """examples:
  mooring decisions --limit 10                           the newest ones of a server on this machine
  mooring decisions --pod prod/web -o wide               all about one pod
  mooring decisions --watch --result unschedulable       the next ones that find no node
  mooring decisions --over 24h                           the last day, in twelve spans
  mooring decisions --compare 7,12                       what moved the outcome"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "list what a running scheduler or server has decided"
    parser = add_command(commands, "decisions", text, _EXAMPLES)
    flags = Flags(parser)
    server = flags.group(SERVER)
    remote.add_server(server, remote.DEFAULT_SERVER)
    server.add("cluster", "SOURCE", "", "the server: server:ADDRESS")
    server.add("kubeconfig", "FILE", "", "for kubectl mooring: the file of its cluster")
    server.add("context", "NAME", "", "a context of the kubeconfig; default its current one")
    _add_filter(flags.group("Filter flags"))
    flags.add("limit", "COUNT", "50", "how many, the newest ones", positive)
    flags.optional("over", "TIME", "the last TIME in spans: decisions, and why pods were pending", seconds)
    text = "in what two decisions differ, and what moved the outcome"
    flags.optional("compare", "SEQ,SEQ", text, _two_numbers)
    flags.switch("watch", "go on with the next decisions until Ctrl-C")
    add_output(flags, "wide")
    add_verbosity(flags)
    parser.set_defaults(run=run)


def _add_filter(flags: Flags) -> None:
    add_selection(flags)
    flags.add("pod", "POD", "", "only decisions about this pod: NAME, pod/NAME or NAMESPACE/NAME")
    flags.add("node", "NODE", "", "only decisions that selected or nominated this node")
    flags.add("profile", "NAME", "", "only decisions of this profile")
    flags.add(
        "result", "RESULT", "", f"only decisions that ended so: {', '.join(RESULTS)}", one_of("", *RESULTS)
    )
    flags.add("plugin", "NAME", "", "only decisions in which this plugin rejected something")
    text = "only close decisions: another node's total is known to be at most so far below; 0 = tied"
    flags.optional("margin", "POINTS", text, count)


def run(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring_client.v1 import decision_service_pb2 as pb

    choose_server(args)
    if args.compare:
        return show_comparison(args)
    if args.over:
        return show_time_line(args, selection_of(args).namespace)
    if args.node:
        args.node = _node_of(args)
    where = _filter(args)
    found = remote.decide(
        args, "ListDecisions", pb.ListDecisionsRequest(filter=where, limit=min(args.limit, PAGE))
    )
    newest = [*_before(args, where, found.decisions), *found.decisions]
    if not args.watch:
        _print_all(args.output, newest)
        return Exit.OK
    _print_each(args.output, newest)
    journal, after = found.journal_id, found.next_after_seq
    while True:
        request = pb.ListDecisionsRequest(filter=where, after_seq=after)
        request.wait.FromSeconds(WAIT_SECONDS)
        found = remote.decide(args, "ListDecisions", request)
        if found.journal_id != journal:
            # The process was restarted: its decisions are numbered from 1 again.
            journal, after = found.journal_id, 0
            continue
        if found.missed_count:
            print(f"... {found.missed_count} decisions were forgotten meanwhile", flush=True)
        _print_each(args.output, found.decisions)
        after = found.next_after_seq
        if found.wait_refused:
            time.sleep(RETRY_SECONDS)


def _before(
    args: argparse.Namespace, where: pb.DecisionFilter, page: Sequence[pb.Decision]
) -> list[pb.Decision]:
    """Return the decisions before those of ``page``, up to ``--limit`` in total."""
    from mooring_client.v1 import decision_service_pb2 as pb

    earlier: list[pb.Decision] = []
    while len(page) == PAGE and (left := args.limit - PAGE - len(earlier)) > 0:
        request = pb.ListDecisionsRequest(filter=where, before_seq=page[0].seq, limit=min(left, PAGE))
        page = remote.decide(args, "ListDecisions", request).decisions
        earlier = [*page, *earlier]
    return earlier


def document_of(decision: pb.Decision) -> dict[str, Any]:
    """Return a decision as a JSON object."""
    document = {
        "seq": decision.seq,
        "time": _time(decision),
        "pod": f"{decision.pod.namespace}/{decision.pod.name}",
        "uid": decision.pod.uid,
        "kind": kind_of(decision),
        "result": result_of(decision),
        "profile": decision.provenance.profile,
        "node": decision.node or None,
        "nominatedNode": decision.nominated_node or None,
        "victims": list(decision.victims),
        "violatedBudgets": list(decision.violated_budgets),
        "total": decision.total,
        "runnerUp": {"node": decision.runner_up_node, "total": decision.runner_up_total}
        if decision.runner_up_node
        else None,
        "ties": decision.tie_count,
        "evaluated": decision.evaluated_count,
        "feasible": decision.feasible_count,
        "rejectingPlugins": list(decision.rejecting_plugins),
        "message": decision.verdict.message,
        "attempt": decision.attempt or None,
        "seconds": decision.duration.ToNanoseconds() / 1e9,
        "seed": decision.seed,
        "stateVersion": decision.provenance.state_version,
        "configurationHash": decision.provenance.configuration_hash,
        "explained": decision.explained,
    }
    if decision.controller_kind:
        document["controller"] = f"{decision.controller_kind}/{decision.controller_name}"
    return document


def kind_of(decision: pb.Decision) -> str:
    """Return what was to be decided, as people read it."""
    from mooring_client.v1 import decision_service_pb2 as pb

    return pb.DecisionKind.Name(decision.kind).removeprefix("DECISION_KIND_").lower().replace("_", "-")


def result_of(decision: pb.Decision) -> str:
    """Return how it ended, as people read it."""
    from mooring_client.v1 import decision_service_pb2 as pb

    if decision.kind == pb.DECISION_KIND_FILTER and decision.result == pb.DECISION_RESULT_SCHEDULED:
        # The caller selects the node.
        return "feasible"
    return pb.DecisionResult.Name(decision.result).removeprefix("DECISION_RESULT_").lower()


def _two_numbers(text: str) -> tuple[int, int]:
    """Parse the numbers of two decisions, separated by a comma."""
    numbers = words(text)
    if len(numbers) != 2 or not all(map(str.isdecimal, numbers)):
        raise argparse.ArgumentTypeError(f"{text!r} is not the numbers of two decisions, SEQ,SEQ")
    return int(numbers[0]), int(numbers[1])


def _node_of(args: argparse.Namespace) -> str:
    """Return the whole name of a node as tables have it; a node that is gone is left as it is. Raises
    NotFoundError if several nodes have names that begin so.
    """
    from mooring.app.offline import node_named

    name: str = args.node
    with remote.calling(args) as channel:
        known = remote.node_names(channel)
    return node_named(name, known) if any(node.startswith(name) for node in known) else name


def _filter(args: argparse.Namespace) -> pb.DecisionFilter:
    from mooring_client.v1 import decision_service_pb2 as pb

    selection = selection_of(args)
    namespace, name = selection.namespace, ""
    if args.pod:
        namespace, _, name = pod_key(args.pod, args.namespace).rpartition("/")
    results = [pb.DecisionResult.Value(f"DECISION_RESULT_{args.result.upper()}")] if args.result else []
    return pb.DecisionFilter(
        namespace=namespace,
        pod=name,
        node=args.node,
        profile=args.profile,
        results=results,
        rejecting_plugin=args.plugin,
        max_margin=args.margin,
        label_selector=selection.selector,
    )


def _print_all(form: str, decisions: Sequence[pb.Decision]) -> None:
    if form in TABLES and not decisions:
        complain("no decision was made yet, or none matches")
    elif form in TABLES:
        _print_table(decisions, wide=form == "wide")
    else:
        print_document(form, [document_of(each) for each in decisions])


def _print_table(decisions: Sequence[pb.Decision], *, wide: bool) -> None:
    from mooring.cli.console import put, table_of
    from mooring.cli.tables.names import ShortNames

    nodes = {name for each in decisions for name in (each.node, each.nominated_node) if name}
    names = ShortNames.of(nodes, whole=wide)
    today = datetime.now(UTC).date()
    rows: list[tuple[str, ...]] = [
        (str(each.seq), _time_of_day(each, today), *_row(each, names.short)[2:]) for each in decisions
    ]
    if wide:
        rows = [(*row, *_more(each)) for row, each in zip(rows, decisions, strict=True)]
    put(table_of((*COLUMNS, *WIDE) if wide else COLUMNS, rows), wide=wide)
    names.print_ending()


def _print_each(form: str, decisions: Iterable[pb.Decision]) -> None:
    """Print decisions as they come: a line each, of JSON unless a table is requested."""
    from mooring.serving.logs import printable

    for each in decisions:
        if form in TABLES:
            print(printable("  ".join(_row(each))), flush=True)
        else:
            print(json.dumps(document_of(each), ensure_ascii=False), flush=True)


def _row(decision: pb.Decision, short: Callable[[str], str] = str) -> tuple[str, ...]:
    why = first_sentence(decision.verdict.message)
    if decision.node and decision.runner_up_node:
        why = f"{decision.total}, {short(decision.runner_up_node)} has {decision.runner_up_total}"
    elif decision.node and decision.tie_count > 1:
        why = f"{decision.total}, {decision.tie_count} tied"
    elif decision.node and decision.total:
        why = str(decision.total)
    elif decision.victims:
        why = f"preempts {victims_of(decision)}; {why}"
    elif not why and not decision.node and decision.evaluated_count:
        why = f"{decision.feasible_count} of {decision.evaluated_count} nodes are feasible"
    return (
        str(decision.seq),
        _time(decision),
        f"{decision.pod.namespace}/{decision.pod.name}",
        kind_of(decision),
        result_of(decision),
        short(decision.node) or (f"({short(decision.nominated_node)})" if decision.nominated_node else ""),
        why,
    )


def victims_of(decision: pb.Decision) -> str:
    """Return the victims, and the disruption budgets that this violates."""
    shown = ", ".join(decision.victims[:SHOWN_VICTIMS])
    more = len(decision.victims) - SHOWN_VICTIMS
    budgets = ", ".join(decision.violated_budgets)
    return shown + (f" and {more} more" if more > 0 else "") + (f", violating {budgets}" if budgets else "")


def _more(decision: pb.Decision) -> tuple[str, ...]:
    """Return what ``-o wide`` shows besides."""
    return (
        decision.provenance.profile,
        str(decision.attempt or ""),
        f"{decision.feasible_count}/{decision.evaluated_count}",
        f"{decision.duration.ToNanoseconds() / 1e6:.1f}ms",
    )


def _time(decision: pb.Decision) -> str:
    return _moment(decision).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _time_of_day(decision: pb.Decision, today: date) -> str:
    """Return the time in as few characters as say it, in UTC: of another day its date."""
    at = _moment(decision)
    return at.strftime("%H:%M:%SZ" if at.date() == today else "%Y-%m-%d")


def _moment(decision: pb.Decision) -> datetime:
    return datetime.fromtimestamp(decision.time.ToNanoseconds() / 1e9, UTC)
