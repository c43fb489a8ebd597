"""``mooring explain``: why would this pod go where?"""

from __future__ import annotations

import argparse
from typing import Any

from msgspec.structs import replace

from mooring.cli import remote
from mooring.cli.flags import Commands, Flags, add_deciding, add_manifests, add_output, seed
from mooring.cli.manifests import engine_over
from mooring.cli.options import Option
from mooring.cli.output import EXIT_FAILED, EXIT_OK, EXIT_UNSCHEDULED, EXIT_USAGE, complain, print_json
from mooring.cli.tables import print_explanation
from mooring.framework import Code, Pod
from mooring.framework.errors import NotFoundError, PluginFailureError
from mooring.runtime.cycle import CycleOptions
from mooring.runtime.explain import document, failure_document
from mooring.runtime.rows import all_rows
from mooring.v1 import scheduling_service_pb2 as pb

LISTED_PODS = 20
"""So many pods are named where the wanted one is unknown."""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "show every node and every plugin for one pod"
    parser = commands.add_parser("explain", help=text, description=text, allow_abbrev=False)
    parser.add_argument("pod", metavar="POD", help="NAMESPACE/NAME, or a name in the default namespace")
    flags = Flags(parser)
    add_manifests(flags, required=False)
    remote.add_server(flags)
    flags.add("profile", "NAME", "", "the profile; default the one that the pod names")
    flags.add("seed", "NUMBER", "0", "decides between nodes of equal totals", seed)
    flags.switch("all-rejections", "name every plugin that refuses a node, not only the first")
    flags.switch("always-score", "score a single feasible node too")
    flags.switch("all", "show every node")
    add_output(flags)
    add_deciding(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    if bool(args.manifests) == bool(args.server):
        complain("give either --manifests PATH... or --server ADDRESS")
        return EXIT_USAGE
    answer = _remote(args) if args.server else _offline(args, options)
    if args.output == "json":
        print_json(answer)
    else:
        print_explanation(answer, all_nodes=args.all)
    if answer["status"]["code"] == Code.ERROR.label:
        return EXIT_FAILED
    return EXIT_OK if answer["selected"] is not None else EXIT_UNSCHEDULED


def _remote(args: argparse.Namespace) -> dict[str, Any]:
    request = pb.ExplainRequest(
        pod=remote.reference(args.pod),
        profile=args.profile,
        seed=args.seed,
        all_rejections=args.all_rejections,
        always_score=args.always_score,
    )
    return remote.explain(args, request)


def _offline(args: argparse.Namespace, options: tuple[Option, ...]) -> dict[str, Any]:
    engine, manifests = engine_over(args, options)
    pod = _pod(args.pod, manifests.pods)
    profile = engine.profile(args.profile, pod)
    state = engine.state.fork()
    if pod.spec.node_name:
        # The question is where it could be: neither its node nor its own use of it counts.
        state.discard(pod.metadata.uid)
        pod = replace(pod, spec=replace(pod.spec, node_name=""))
    cycle = CycleOptions(always_score=args.always_score, all_rejections=args.all_rejections)
    try:
        choice = engine.decide(pod, profile, all_rows, seed=args.seed, state=state, options=cycle)
    except PluginFailureError as failure:
        return failure_document(pod.key, profile.name, args.seed, failure)
    return document(choice, args.seed)


def _pod(wanted: str, pods: list[Pod]) -> Pod:
    key = wanted if "/" in wanted else f"default/{wanted}"
    for pod in pods:
        if pod.key == key:
            return pod
    pending = [pod.key for pod in pods if not pod.spec.node_name and not pod.finished]
    more = len(pending) - LISTED_PODS
    known = ", ".join(pending[:LISTED_PODS]) + (f" and {more} more" if more > 0 else "")
    raise NotFoundError(
        f"no pod {key} in the manifests; pending there: {known or 'none'}", reason="POD_NOT_FOUND", pod=key
    )
