"""Replicas without a network: a state that takes pushes, and a connection that fails on request."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import grpc

from mooring.app.bridge import PushBridge
from mooring.cluster.sources import PushSource
from mooring.cluster.state import State
from mooring.framework.errors import MooringError
from mooring.framework.sources import SourceStatus
from mooring.pushing.log import PushLog
from mooring.pushing.replica import Replica, Watched
from mooring.recordings.playback import objects_of
from mooring_client.errors import CallFailedError
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1.errors_pb2 import CallError, ErrorReason


def failed(code: grpc.StatusCode, reason: str = "UNSPECIFIED") -> CallFailedError:
    """Return the failure of a call."""
    detail = CallError(reason=ErrorReason.Value(f"ERROR_REASON_{reason}"))
    return CallFailedError(code, "as the test says", detail, repeatable=False)


class Server:
    """A replica, and a connection to it.

    Attributes:
        state: Its state.
        requests: The calls of PushObjects that arrived.
        before: Called before a call takes effect; what it raises, the call raises.
        after: Called after that, likewise: an answer that is lost.
    """

    def __init__(self) -> None:
        self.requests: list[pb.PushObjectsRequest] = []
        self.before: Callable[[], Any] = lambda: None
        self.after: Callable[[], Any] = lambda: None
        self.restart()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave it as it is."""

    def restart(self) -> None:
        """Forget everything."""
        self.state = State()
        self.source = PushSource(self.state)

    def fall_silent(self) -> None:
        """Let it be long since the last call."""
        for name, each in self.source._sources.items():
            self.source._sources[name] = replace(each, called_at=-math.inf)

    def push(self, request: bytes) -> pb.PushObjectsResponse:
        self.before()
        message = pb.PushObjectsRequest.FromString(request)
        self.requests.append(message)
        try:
            result = PushBridge(self.source).push_objects(message, "")
        except MooringError as error:
            raise failed(grpc.StatusCode.OUT_OF_RANGE, error.reason) from error
        self.after()
        return pb.PushObjectsResponse(next_sequence=result.next_sequence, applied_count=result.applied_count)

    def describe(self) -> pb.GetClusterInfoResponse:
        self.before()
        sources = [
            pb.SourceInfo(name=each.name, session=each.session, silence_seconds=each.silence)
            for each in self.source.describe()
        ]
        return pb.GetClusterInfoResponse(sources=sources)

    @property
    def loads(self) -> int:
        """How many full loads arrived whole."""
        events = [event for request in self.requests for event in request.events]
        return sum(event.HasField("snapshot_end") for event in events)


class Watcher:
    """A watcher's state, with a source whose age the test sets.

    Args:
        most_bytes: As of its log.
    """

    def __init__(self, most_bytes: int = 1 << 20) -> None:
        self.state, self.most_bytes = State(), most_bytes
        self.log = PushLog(self.state, most_bytes)
        self.synced, self.staleness, self.late, self.doubt = True, 0.0, "nothing was heard", ""
        self.watched = Watched("cluster", self, self.log)

    def start(self) -> None:
        """Begin nothing."""

    def stop(self) -> None:
        """End nothing."""

    def describe(self) -> list[SourceStatus]:
        return []

    def restarted(self) -> Watcher:
        """Return another watcher of the same cluster, which has pushed nothing yet."""
        other = Watcher(self.most_bytes)
        other.state.replace("own", objects_of(self.state))
        return other

    def replica(self, server: Server) -> Replica:
        """Return what pushes to a server."""
        return Replica("server", self.watched, lambda: server)
