"""A server without its sockets: what a call's bytes do to it, and whether it is as it was before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from math import inf
from pathlib import Path
from typing import Any
from unittest.mock import patch

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from mooring.app.extender import LocalContext
from mooring.cluster.decoding import decode_json
from mooring.cluster.kinds import KINDS, ClusterObject, Put
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.service import decisions
from mooring.service.calls import streams
from mooring.service.services import Servicers
from mooring.serving.calls import reading
from mooring.serving.calls.errors import failure_of
from mooring.serving.calls.memory import MemoryBudget, Share, body_budget_bytes
from mooring.serving.calls.reading import MAX_MESSAGE_BYTES, Reader
from mooring.sessions import capacity
from mooring.testing import make_node, make_pod
from mooring.testing.builders import to_json
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import (
    decision_service_pb2,
    objects_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
)
from tests.cluster.following import held
from tests.laboratories.fuzz.judging import Finding, check, check_text
from tests.service.backends import World, world

OBJECTS = Path(__file__).parents[2] / "testdata" / "protobuf"
"""An object of each kind with every field set, in all encodings."""

SERVICES = {
    "scheduling": scheduling_service_pb2.DESCRIPTOR.services_by_name["SchedulingService"],
    "cluster": cluster_pb.DESCRIPTOR.services_by_name["ClusterService"],
    "plugins": plugin_service_pb2.DESCRIPTOR.services_by_name["PluginService"],
    "simulation": simulation_service_pb2.DESCRIPTOR.services_by_name["SimulationService"],
    "decisions": decision_service_pb2.DESCRIPTOR.services_by_name["DecisionService"],
}
METHODS = {
    method.name: (part, GetMessageClass(method.input_type))
    for part, service in SERVICES.items()
    for method in service.methods
}
"""By name of the RPC: the attribute of ``Servicers``, and the class of its requests."""

READERS = {
    method.name: Reader(METHODS[method.name][1].FromString, method.input_type)
    for service in SERVICES.values()
    for method in service.methods
}
"""By name of the RPC: what makes its requests of bytes."""

CHANGING = ("Bind", "Reserve", "Unreserve", "UnreserveMany", "Schedule", "PushObjects", "RemoveSource")
"""The RPCs that may change something, if they succeed."""

PATIENCE = 20.0
"""Seconds that the caller gives each call."""

SESSION = "s"
"""The id of the session that is open,"""
FOR_GOOD = 1e9
"""and how many seconds it lives."""

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@cache
def cluster_objects() -> tuple[ClusterObject, ...]:
    """Six nodes, pods on some and pending ones, and an object of every kind that the state keeps."""
    nodes = [make_node(f"n{at}", labels={ZONE: f"z{at % 3}", HOST: f"n{at}"}) for at in range(6)]
    pods = [
        make_pod(
            f"p{at}",
            node=f"n{at % 4}" if at < 8 else "",
            labels={"app": f"a{at % 2}"},
            requests={"cpu": "500m", "memory": "1Gi"},
            metadata={"uid": f"u{at}"},
        )
        for at in range(12)
    ]
    others = [decode_json(file.read_bytes(), kind_of(file)) for file in sorted(OBJECTS.glob("*-full.json"))]
    return (*nodes, *pods, *(item for item in others if item is not None))


def kind_of(file: Path) -> str:
    """Return the kind of the object in a file, which begins with it."""
    return next(kind for kind in KINDS if kind.lower() == file.name.partition("-")[0])


class Served:
    """Servicers over a small cluster that was pushed.

    Attributes:
        world: Their backend and state.
    """

    def __init__(self, served: World) -> None:
        self.world = served
        self._servicers = Servicers.of(served.backend)
        self._numbers = count()
        puts = [
            cluster_pb.PushEvent(
                put=cluster_pb.PutObjects(
                    objects=[objects_pb2.KubernetesObject(json=to_json(item))], kind=type(item).__name__
                )
            )
            for item in cluster_objects()
        ]
        events = [
            cluster_pb.PushEvent(snapshot_begin=cluster_pb.SnapshotBegin()),
            *puts,
            cluster_pb.PushEvent(snapshot_end=cluster_pb.SnapshotEnd()),
        ]
        load = cluster_pb.PushObjectsRequest(source="cluster", session="s", first_sequence=1, events=events)
        self._servicers.cluster.PushObjects(load, _context())
        sessions = served.backend.sessions
        session = sessions.open()
        # The real one can't be guessed.
        sessions._sessions[SESSION] = replace(session, id=SESSION, lease=FOR_GOOD, expires=inf)
        self._known = self._content()

    @property
    def synced(self) -> bool:
        """Whether it still decides."""
        return self.world.backend.synced()

    def take(self, name: str, data: bytes) -> Message | None:
        """Return the response to a request's bytes; None when it was rejected.

        Raises:
            Finding: The server failed by its own fault, or changed where it must not.
        """
        part, reader = METHODS[name][0], READERS[name]
        share = Share(MemoryBudget(body_budget_bytes()))
        try:
            request = reader.read(data, share)
            response: Message = self.answer(part, name, request)
        except MooringError:
            return None
        return response

    def answer(self, part: str, name: str, request: Any) -> Any:
        """Return the response, the last one of a stream; raises as the servicer does, unless that is a
        finding.
        """
        version = self.world.state.version
        context = _Leaving(self._give_news) if name.startswith("Watch") else _context()
        try:
            said = getattr(getattr(self._servicers, part), name)(request, context)
            answers = [said] if isinstance(said, Message) else list(said)
        except Exception as error:
            failure = failure_of(error)
            check_text(failure.text)
            if _is_ours(error, failure.code):
                raise Finding(f"{name} ends with {failure.code.name}: {error!r}"[:600]) from error
            self._same(version, f"{name} was rejected ({error!r:.200})")
            raise
        for each in answers:
            check(each.ByteSize() <= MAX_MESSAGE_BYTES, f"{name} answers with {each.ByteSize()} bytes")
        if name in CHANGING:
            self._known = self._content()
        else:
            self._same(version, f"{name} only asks")
        return answers[-1]

    def _give_news(self) -> None:
        """Change a node and make a decision, which watches report."""
        self.world.state.apply("news", [Put(make_node("news", labels={ZONE: f"z{next(self._numbers)}"}))])
        self._known = self._content()
        pod = objects_pb2.KubernetesObject(json=to_json(make_pod("news")))
        template = scheduling_service_pb2.PodTemplate(pod=objects_pb2.PodSource(object=pod))
        request = scheduling_service_pb2.ScheduleRequest(templates=[template])
        self._servicers.scheduling.Schedule(request, _context())

    def _same(self, version: int, why: str) -> None:
        """Steps that were taken back leave a version behind and nothing else."""
        if self.world.state.version != version or version % 16 == 0:
            found = self._content()
            check(found == self._known, f"{why}, but the state has changed")

    def _content(self) -> Any:
        state, backend = self.world.state, self.world.backend
        placed = {uid: record.node_name for uid, record in state.snapshot.pods.records.items()}
        reservations = backend.committer.reservations
        return (
            held(state),
            placed,
            len(reservations),
            [(s.name, s.session, s.next_sequence) for s in backend.sources()],
        )


def _is_ours(error: Exception, code: grpc.StatusCode) -> bool:
    """Return whether the server is at fault; a plugin may well say that it can't decide about a pod."""
    if isinstance(error, PluginFailureError):
        return error.__cause__ is not None or ": returned " in error.message
    return not isinstance(error, MooringError) or code is grpc.StatusCode.INTERNAL


def _context() -> Any:
    return LocalContext(PATIENCE)


class _Leaving(LocalContext):
    """The context of a watch: something happens at its second look for news, and the caller goes after the
    third.
    """

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__(PATIENCE)
        self._looks, self._happens = 0, happens

    def is_active(self) -> bool:
        self._looks += 1
        if self._looks == 2:
            self._happens()
        return self._looks <= 3


@contextmanager
def serving() -> Iterator[Served]:
    """Yield a server with a state of its own."""
    # The limit for large requests counts all; no node is filled pod by pod, no call waits.
    with (
        patch.object(reading, "SMALL_BYTES", 0),
        patch.object(capacity, "MOST_PLACED", 20),
        patch.object(decisions, "LONGEST_WAIT_SECONDS", 0.2),
        patch.object(streams, "LOOK_SECONDS", 0.0),
        world(push=True) as served,
    ):
        yield Served(served)
