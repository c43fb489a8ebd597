"""The servicer of Cluster Autoscaler's Expander, and its command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Final

import grpc

from mooring.framework.errors import InvalidArgumentError
from mooring.serving.calls.listener import OfferedService
from mooring.serving.commands import AdapterParser
from mooring_adapter.command import Adapter
from mooring_adapter.mooring import Asking, Mooring
from mooring_client.v1.cluster_service_pb2 import PutObjects
from mooring_client.v1.nodes_pb2 import NodeNames, NodeSelection
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2 import (
    COMMIT_MODE_RESERVE,
    PodTemplate,
    ScheduleRequest,
    ScoreRequest,
)
from mooring_client.v1.simulation_service_pb2 import ChangeSessionRequest, RevertSessionRequest, SessionChange
from mooring_expander.wire import expander_service_pb2 as pb
from mooring_expander.wire import new_node_pb2
from mooring_expander.wire.expander_service_pb2_grpc import ExpanderServicer, add_ExpanderServicer_to_server

HOST_NAME: Final = "kubernetes.io/hostname"


class Expander(ExpanderServicer):
    """Answers from one mooring. Without a ``profile`` each pod has that which SchedulingService says."""

    def __init__(self, mooring: Mooring, profile: str = "") -> None:
        self._mooring = mooring
        self._profile = profile

    def BestOptions(  # noqa: N802 - the name of the call
        self, request: pb.BestOptionsRequest, context: grpc.ServicerContext
    ) -> pb.BestOptionsResponse:
        """Return the options that place the most pods, the best first; none if no option places a pod."""
        for at, option in enumerate(request.options):
            if option.node_count < 0:
                raise InvalidArgumentError.at(f"options[{at}].node_count", f"{option.node_count} is negative")
            if not _template(request, option):
                raise InvalidArgumentError.at(
                    f"options[{at}].node_group_id",
                    f"there is no node of {option.node_group_id!r}; send one in node_bytes_map",
                )
        asking = self._mooring.asking(context)
        with asking.session() as session:
            placed = [
                self._placed(asking, session, option, _template(request, option))
                for option in request.options
            ]
            most = max(placed, default=0)
            best = [each for each, count in zip(request.options, placed, strict=True) if count == most > 0]
            if len(best) > 1:
                totals = self._totals(asking, session, best, [_template(request, option) for option in best])
                # Equal ones stay in the request's order.
                best = [best[at] for at in sorted(range(len(best)), key=lambda at: -totals[at])]
        return pb.BestOptionsResponse(options=map(_named, best))

    def _placed(self, asking: Asking, session: str, option: pb.Option, template: bytes) -> int:
        """Return how many pods the option places. The session is unchanged afterwards."""
        # The pods find room on as many of these equal nodes as there are pods, if they do at all.
        count = min(option.node_count, len(_pods(option)))
        if not count:
            return 0
        _add_nodes(asking, session, [template] * count)
        question = ScheduleRequest(
            session=session,
            templates=[PodTemplate(pod=_source(pod)) for pod in _pods(option)],
            profile=self._profile,
            commit_mode=COMMIT_MODE_RESERVE,
        )
        verdicts = asking.call(asking.scheduling.Schedule, question).pod_verdicts
        asking.call(asking.simulation.RevertSession, RevertSessionRequest(session=session))
        return sum(verdict == 0 for verdict in verdicts)

    def _totals(
        self, asking: Asking, session: str, options: Sequence[pb.Option], templates: Sequence[bytes]
    ) -> Sequence[int]:
        """Return the totals of a node of each option, side by side, for the first pod of the first one."""
        names = _add_nodes(asking, session, templates)
        question = ScoreRequest(
            session=session,
            pod=_source(_pods(options[0])[0]),
            nodes=NodeSelection(names=NodeNames(names=names)),
            profile=self._profile,
            include_totals=True,
            omit_plugins=True,
        )
        return asking.call(asking.scheduling.Score, question).totals


def _pods(option: pb.Option) -> Sequence[bytes]:
    return option.pod_bytes or option.pod


def _source(pod: bytes) -> PodSource:
    return PodSource(object=KubernetesObject(protobuf=pod))


def _add_nodes(asking: Asking, session: str, templates: Sequence[bytes]) -> list[str]:
    """Add a node of each template to a session, and return their names."""
    names = [f"expander-{number}" for number in range(len(templates))]
    nodes = [
        KubernetesObject(protobuf=_node(template, name))
        for template, name in zip(templates, names, strict=True)
    ]
    change = SessionChange(put=PutObjects(kind="Node", objects=nodes))
    asking.call(asking.simulation.ChangeSession, ChangeSessionRequest(session=session, changes=[change]))
    return names


def _template(request: pb.BestOptionsRequest, option: pb.Option) -> bytes:
    group = option.node_group_id
    return request.node_bytes_map.get(group) or request.node_map.get(group) or b""


def _node(template: bytes, name: str) -> bytes:
    """Return a node as the template is, with a name of its own."""
    meta = new_node_pb2.NewNodeMeta(name=name, uid=name, labels={HOST_NAME: name})
    return template + new_node_pb2.NewNode(metadata=meta).SerializeToString()


def _named(option: pb.Option) -> pb.Option:
    """Return an option without its pods, which Cluster Autoscaler knows."""
    return pb.Option(node_group_id=option.node_group_id, node_count=option.node_count, debug=option.debug)


def _add_flags(parser: AdapterParser) -> None:
    parser.flag("profile", "NAME", "", "profile that places pods; if not given, that of each pod")


def offered(answering: Expander) -> OfferedService:
    """Return the service that an expander answers."""
    descriptor = pb.DESCRIPTOR.services_by_name["Expander"]
    return OfferedService(descriptor, partial(add_ExpanderServicer_to_server, answering))


def _service(mooring: Mooring, args: argparse.Namespace) -> OfferedService:
    return offered(Expander(mooring, args.profile))


ADAPTER: Final = Adapter(
    name="mooring-expander",
    about="Answers Cluster Autoscaler's gRPC expander calls with the decisions of a mooring server.",
    listen="127.0.0.1:7000",
    add_flags=_add_flags,
    service=_service,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``mooring-expander``; the result is the exit code."""
    return ADAPTER.run(argv)
