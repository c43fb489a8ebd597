"""``mooring explain``: why would this pod go where?"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli import change, remote
from mooring.cli.blame import show_blame
from mooring.cli.clusters import add_cluster, choose_cluster
from mooring.cli.console import print_line, status_line
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
from mooring.cli.selection import add_selection, selection_of
from mooring.cli.tables import SHOWN_NODES, View, but_for_that, print_explanation, print_verdict
from mooring.cli.tables.one_node import is_rejected, print_comparison, print_node, print_what_it_takes
from mooring.cli.tables.pods import PodRow, print_pods
from mooring.cli.tables.preemption import node_of
from mooring.cli.values import one_of, positive, seed, words
from mooring.framework import Code, SubjectKind

if TYPE_CHECKING:
    from mooring.cluster.manifests import Manifests
    from mooring.runtime.answers import CycleOptions, Document


WATCH_SECONDS = 2.0

_EXAMPLES = """examples:
  mooring explain web -n prod                            the server at its default address
  mooring explain web --kubeconfig ~/.kube/config        a live cluster, read once
  kubectl get nodes,pods -A -o json | mooring explain prod/web --manifests -
  mooring explain deploy/web -n prod                     one of the Deployment's pods
  mooring explain -n prod -l app=web                     a row for each pod without a node
  mooring explain web --node worker-1                    why there, or why not
  mooring explain web --what-would-it-take worker-1      what would have to change"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "show every node and every plugin for one pod"
    parser = add_command(commands, "explain", text, _EXAMPLES)
    text = "NAME, NAMESPACE/NAME, or an owner such as deploy/NAME; default: the pods of -n, -A and -l"
    parser.add_argument("pod", metavar="POD", nargs="?", default="", help=text)
    flags = Flags(parser)
    add_selection(flags.group("Selection flags"))
    add_cluster(flags)
    flags.add("profile", "NAME", "", "the profile; default that of the pod's schedulerName")
    flags.add("seed", "NUMBER", "0", "decides between nodes of equal totals", seed)
    text = "an earlier decision about the pod, of --server: -1 = the last one, 3 = its third attempt"
    flags.add("attempt", "NUMBER", "", text, _attempt)
    flags.switch("all-rejections", "name every plugin that rejects a node, not only the first")
    flags.switch("always-score", "score a single feasible node too")
    view = flags.group("Output flags")
    _add_view(view)
    add_output(view, "wide", "name")
    add_deciding(flags, stubs=True)
    parser.set_defaults(run=run)


def _attempt(text: str) -> int:
    """Parse the number of an attempt: positive, or negative from the newest one on; 0 = none."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and int(digits)) and text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number other than 0")
    return int(text or "0")


def _add_view(flags: Flags) -> None:
    flags.switch("watch", f"ask again every {WATCH_SECONDS:g} s, and show each answer that differs")
    flags.add("by", "REASON|NODE", "reason", "a row for each reason or for each rejected node", _BY)
    flags.add("top", "COUNT", str(SHOWN_NODES), "the nodes of each table", positive)
    flags.switch("all", "show every node")
    flags.add("node", "NODE", "", "why this node, or why not")
    flags.add("compare", "NODE,NODE", "", "the scores of two nodes side by side", _two)
    flags.switch("blame", "print the pods, rules, gates and configuration that cost the decision")
    flags.add("what-would-it-take", "NODE", "", "print which changes would send the pod to this node")


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    _check_usage(args)
    choose_cluster(args)
    if args.attempt and not args.server:
        raise UsageError("--attempt needs --server ADDRESS: a process remembers its own decisions")
    if args.blame:
        return show_blame(args, options, pod_key(args.pod, args.namespace))
    last = None
    while True:
        with status_line("reading the cluster"):
            answers = [_ask(args, options)] if args.pod else _ask_all(args, options)
        if answers != last:
            _show_all(args, answers, options)
        if not args.watch:
            return worst(map(_exit_code, answers))
        last = answers
        sys.stdout.flush()
        time.sleep(WATCH_SECONDS)


def _check_usage(args: argparse.Namespace) -> None:
    """Raise UsageError if the flags don't go together."""
    if args.pod and (args.all_namespaces or args.selector):
        raise UsageError("give either a POD, or -A and -l to select some")
    if not (args.pod or args.namespace or args.all_namespaces or args.selector):
        raise UsageError("name a POD, or select some with -n, -A and -l")
    if not args.pod and (args.attempt or args.blame or _asked_nodes(args)):
        raise UsageError("--attempt, --blame, --node, --compare and --what-would-it-take are about one POD")


def _ask(args: argparse.Namespace, options: tuple[Option, ...]) -> Document:
    """Return the explanation. Raises NotFoundError if it has no such pod, or the server lacks one of the
    nodes.
    """
    pod = pod_key(args.pod, args.namespace)
    if args.server and pod.count("/") > 1:
        pod = remote.pod_of_owner(args, pod)
    # For one node, all that is known about it is printed.
    every = args.all_rejections or bool(_asked_nodes(args))
    from mooring.app.offline import node_named

    document = _remote(args, pod, every) if args.server else _offline(args, options, pod, every)
    known = list(document["nodes"])
    args.node, args.what_would_it_take = (
        name and node_named(name, known) for name in (args.node, args.what_would_it_take)
    )
    args.compare = tuple(node_named(name, known) for name in args.compare)
    return document


def _ask_all(args: argparse.Namespace, options: tuple[Option, ...]) -> list[Document]:
    """Return the explanations of all selected pods that have no node."""
    selection = selection_of(args, namespace="default")
    if args.server:
        pods = remote.pending_pods(args, selection)
        return [_remote(args, pod, args.all_rejections) for pod in pods]
    explain, manifests = _explaining(args, options, args.all_rejections)
    return [explain(pod.key) for pod in manifests.pods if pod.pending and selection.wants(pod)]


def _remote(args: argparse.Namespace, pod: str, every: bool) -> Document:
    from mooring_client.v1 import scheduling_service_pb2 as pb

    if args.attempt:
        return {**remote.explain_attempt(args, pod, args.attempt).document(), **change.advice_of(None)}
    request = pb.ExplainRequest(
        pod=remote.reference(pod),
        profile=args.profile,
        seed=args.seed,
        all_rejections=every,
        always_score=args.always_score,
    )
    document = remote.explain(args, request).document()
    return {**document, **change.advice_of(change.suggested(args, pod) if _stuck(document) else None)}


def _offline(args: argparse.Namespace, options: tuple[Option, ...], pod: str, every: bool) -> Document:
    return _explaining(args, options, every)[0](pod)


def _explaining(
    args: argparse.Namespace, options: tuple[Option, ...], every: bool
) -> tuple[Callable[[str], Document], Manifests]:
    """Return a function that explains a pod of the manifests, and these. Raises MooringError if the manifests
    or the configuration can't be used.
    """
    from mooring.app.offline import core_over, explain_in, pod_named
    from mooring.app.what_if import advising

    chosen = engine_options(args, options)
    core, manifests = core_over(chosen, args.manifests)
    cycle, advise = _cycle(args, every), cache(partial(advising, core, chosen))

    def explain(name: str) -> Document:
        found = explain_in(
            core.engine, manifests.pods, name, profile=args.profile, seed=args.seed, cycle=cycle
        )
        document = found.document()
        if not _stuck(document):
            return {**document, **change.advice_of(None)}
        return {**document, **change.advice_of(advise()(pod_named(name, manifests.pods), args.profile))}

    return explain, manifests


def _stuck(document: Document) -> bool:
    """Return whether no node takes the pod, and preemption makes no room for it."""
    if any(each["kind"] == SubjectKind.POD_GROUP.label for each in document["findings"]):
        return not node_of(document["preemption"])
    found = but_for_that(document)
    return (
        found["status"]["code"] != Code.ERROR.label
        and found["selected"] is None
        and (not node_of(document["preemption"]))
    )


def _cycle(args: argparse.Namespace, every: bool) -> CycleOptions:
    from mooring.runtime.answers import CycleOptions

    return CycleOptions(always_score=args.always_score, all_rejections=every, beyond_nominated=True)


def _show_all(args: argparse.Namespace, documents: list[Document], options: tuple[Option, ...]) -> None:
    """Print one explanation whole, and of the pods of a selection a row each unless more is requested."""
    if args.pod:
        _show(args, documents[0], options)
    elif args.output in ("json", "yaml"):
        print_document(args.output, documents)
    elif not documents and args.output != "name":
        print_line("no pod without a node is selected")
    elif args.output == "table":
        print_pods([_row(document) for document in documents])
        if len(documents) > 1:
            print_line("each pod is evaluated by itself; mooring schedule places one after the other")
    else:
        for document in documents:
            _show(args, document, options)


def _row(document: Document) -> PodRow:
    status, node = document["status"], document["selected"]
    failed = status["code"] == Code.ERROR.label
    total = document["nodes"][node]["total"] if node is not None else None
    said = "" if node is not None else status["message"] or ", ".join(status["reasons"])
    if document["advice"]:
        said = f"{document['advice']['text']} would do: {said}"
    return PodRow(document["pod"], node, total, said, failed, node_of(document["preemption"]))


def _show(args: argparse.Namespace, document: Document, options: tuple[Option, ...]) -> None:
    asked, otherwise = _asked_nodes(args), but_for_that(document)
    if args.output in ("table", "wide"):
        change.print_advice(document["pod"], document)
    if args.output in ("json", "yaml"):
        print_document(args.output, _about(document, asked) if asked else document)
    elif args.output == "name":
        if document["selected"] is not None:
            print(f"node/{document['selected']}")
    elif not asked or not document["nodes"]:
        most = None if args.all else args.top
        print_explanation(document, View(most=most, by_node=args.by == "node", wide=args.output == "wide"))
    else:
        if args.compare:
            print_comparison(otherwise, *args.compare)
        if args.node:
            print_node(otherwise, args.node)
        if args.what_would_it_take:
            _show_what_it_takes(args, otherwise, options)
        print_verdict(document)


def _show_what_it_takes(args: argparse.Namespace, document: Document, options: tuple[Option, ...]) -> None:
    """Print the changes with which a node would take the pod.

    Those of a rejected node were tried in a session. Nothing can be tried for an earlier decision: it shows
    why the node was rejected.
    """
    name = args.what_would_it_take
    if not is_rejected(document["nodes"][name]):
        print_what_it_takes(document, name)
        return
    found = {} if args.attempt else change.ask(args, options, document["pod"], [name], by_flags=False)
    if found.get("options"):
        print_line(f"{name} would take it with one of these sets of changes:")
        change.print_options(found)
    else:
        print_node(document, name)


def _exit_code(document: Document) -> int:
    if document["status"]["code"] == Code.ERROR.label:
        return Exit.FAILED
    if document["selected"] is not None:
        return Exit.OK
    preempts = document["otherwise"] is None and node_of(document["preemption"])
    return Exit.PREEMPTS if preempts else Exit.UNSCHEDULED


def _asked_nodes(args: argparse.Namespace) -> list[str]:
    """Return the nodes that the flags ask about, each once."""
    return list(dict.fromkeys(filter(None, (args.node, *args.compare, args.what_would_it_take))))


def _about(document: Document, nodes: list[str]) -> Document:
    """Return the document with these nodes alone."""
    kept: dict[str, Any] = {name: document["nodes"][name] for name in nodes}
    return {**document, "nodes": kept}


_BY = one_of("reason", "node")


def _two(text: str) -> tuple[str, ...]:
    """Parse two names, separated by a comma; none for an empty text."""
    names = tuple(words(text))
    if len(names) not in (0, 2):
        raise argparse.ArgumentTypeError(f"{text!r} is not two nodes, NODE,NODE")
    return names
