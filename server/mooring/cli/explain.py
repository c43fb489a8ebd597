"""``mooring explain``: why would this pod go where?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.flags import (
    Commands,
    Flags,
    add_deciding,
    add_manifests,
    add_output,
    engine_options,
    seed,
)
from mooring.cli.output import EXIT_FAILED, EXIT_OK, EXIT_UNSCHEDULED, EXIT_USAGE, complain, print_json
from mooring.cli.tables import print_explanation
from mooring.framework import Code

if TYPE_CHECKING:
    from mooring.runtime.cycle.explain import Explanation


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "show every node and every plugin for one pod"
    parser = commands.add_parser("explain", help=text, description=text, allow_abbrev=False)
    parser.add_argument("pod", metavar="POD", help="NAMESPACE/NAME, or a name in the default namespace")
    flags = Flags(parser)
    add_manifests(flags, required=False)
    remote.add_server(flags)
    flags.add("profile", "NAME", "", "the profile; default that of the pod's schedulerName")
    flags.add("seed", "NUMBER", "0", "decides between nodes of equal totals", seed)
    flags.switch("all-rejections", "name every plugin that rejects a node, not only the first")
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
    explanation = _remote(args) if args.server else _offline(args, options)
    answer = explanation.document()
    if args.output == "json":
        print_json(answer)
    else:
        print_explanation(answer, all_nodes=args.all)
    if answer["status"]["code"] == Code.ERROR.label:
        return EXIT_FAILED
    return EXIT_OK if answer["selected"] is not None else EXIT_UNSCHEDULED


def _remote(args: argparse.Namespace) -> Explanation:
    from mooring.v1 import scheduling_service_pb2 as pb

    request = pb.ExplainRequest(
        pod=remote.reference(args.pod),
        profile=args.profile,
        seed=args.seed,
        all_rejections=args.all_rejections,
        always_score=args.always_score,
    )
    return remote.explain(args, request)


def _offline(args: argparse.Namespace, options: tuple[Option, ...]) -> Explanation:
    from mooring.app.offline import explain_pod
    from mooring.runtime.cycle.cycle import CycleOptions

    return explain_pod(
        engine_options(args, options),
        args.manifests,
        args.pod,
        profile=args.profile,
        seed=args.seed,
        cycle=CycleOptions(always_score=args.always_score, all_rejections=args.all_rejections),
    )
