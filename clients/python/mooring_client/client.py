"""The calls of the client."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import grpc

from mooring_client.errors import NO_SOURCE, STALE, may_be_sent_again, reason_of
from mooring_client.nodes import NodeIndex
from mooring_client.pods import Placement, Pods, fill, placements
from mooring_client.session import ClientSession
from mooring_client.v1.cluster_service_pb2 import RemoveSourceRequest
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.nodes_pb2 import NODE_FORM_INDICES, NODE_FORM_NAMES
from mooring_client.v1.scheduling_service_pb2 import (
    COMMIT_MODE_DRY_RUN,
    CommitMode,
    ScheduleRequest,
    ScheduleResponse,
)
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a call is sent again; each pause is twice as long as the one before."""


class Client:
    """Schedules pods with a mooring server, opens sessions, and removes push sources.

    Safe from any thread; the channel stays the caller's.

    Args:
        channel: To one server: each replica has node indices of its own.
        timeout: Seconds that one call of a method may take, retries included; default 10.

    Attributes:
        nodes: The nodes as last listed.
    """

    def __init__(self, channel: grpc.Channel, timeout: float = 10.0) -> None:
        self._channel = channel
        self._scheduling = SchedulingServiceStub(channel)
        self._cluster = ClusterServiceStub(channel)
        self._timeout = timeout
        self.nodes = NodeIndex(self._cluster)

    def schedule(
        self,
        groups: Sequence[Pods],
        *,
        among: Sequence[str] | None = None,
        commit_mode: CommitMode.ValueType = COMMIT_MODE_DRY_RUN,
        profile: str = "",
        seed: int = 0,
    ) -> list[Placement]:
        """Decide about the pods of all groups in one batch, in order; each sees the earlier ones placed.

        A dry run is answered by indices, so that no names travel. What is committed is answered by names: an
        index means nothing once its node is gone, and a commit is not repeated in order to find out.

        Args:
            groups: The pods.
            among: The names of the nodes to choose from; None = all.
            commit_mode: The use of the selected nodes.
            profile: The profile; "" = as the server says.
            seed: Decides between nodes of equal totals.

        Raises:
            grpc.RpcError: The call failed, and may not be sent again, or time is over; see ``reason_of``.
            ValueError: A group has names for some of its pods only.
        """
        request = ScheduleRequest(commit_mode=commit_mode, profile=profile, seed=seed)
        uids = fill(request, groups)
        by_index = commit_mode == COMMIT_MODE_DRY_RUN
        request.nodes.answer_form = NODE_FORM_INDICES if by_index else NODE_FORM_NAMES
        until = time.monotonic() + self._timeout
        if self.nodes.epoch is None and (by_index or among is not None):
            self._refresh(until)
        while True:
            response = self._sent(request, among, until)
            names = self._names(response) if by_index else list(response.nodes.names.names)
            if names is not None:
                return list(placements(uids, names, response))
            # The nodes are others by now. If they are again before the answer comes, it goes round once more.
            self._refresh(until)
            names = self._names(response)
            if names is not None:
                return list(placements(uids, names, response))

    def session(self) -> ClientSession:
        """Return a new session, which begins with the cluster as it is now.

        Raises:
            grpc.RpcError: There are too many, or the server can't be reached.
        """
        return ClientSession(self._channel, self._timeout)

    def remove_source(self, source: str) -> bool:
        """Remove a push source with all its objects.

        Args:
            source: Its name, as in ``PushObjects``.

        Returns:
            Whether there was one.

        Raises:
            grpc.RpcError: The source is another client's, the server takes no pushes, or time is over.
        """
        request = RemoveSourceRequest(source=source)
        until = time.monotonic() + self._timeout
        try:
            _sent(lambda left: self._cluster.RemoveSource(request, timeout=left), until, idempotent=True)
        except grpc.RpcError as error:
            if reason_of(error) != NO_SOURCE:
                raise
            return False
        return True

    def _sent(self, request: ScheduleRequest, among: Sequence[str] | None, until: float) -> ScheduleResponse:
        dry = request.commit_mode == COMMIT_MODE_DRY_RUN
        while True:
            if among is not None:
                request.nodes.indices.CopyFrom(self.nodes.indices(among))
            try:
                return _sent(
                    lambda left: self._scheduling.Schedule(request, timeout=left), until, idempotent=dry
                )
            except grpc.RpcError as error:
                if among is None or reason_of(error) != STALE:
                    raise
            self._refresh(until)

    def _refresh(self, until: float) -> None:
        _sent(self.nodes.refresh, until, idempotent=True)

    def _names(self, response: ScheduleResponse) -> list[str] | None:
        indices = response.nodes.indices
        return self.nodes.names(indices.indices, indices.node_epoch)


def _sent(call: Callable[[float], T], until: float, *, idempotent: bool) -> T:
    """Return the response of ``call`` within the remaining seconds; retried if that is safe."""
    pause = FIRST_PAUSE
    while True:
        left = max(until - time.monotonic(), 0.0)
        try:
            return call(left)
        except grpc.RpcError as error:
            if not may_be_sent_again(error, idempotent=idempotent) or left <= pause:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
