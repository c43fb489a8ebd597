"""The calls of the client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final, Self

import grpc

from mooring_client.calls import Calls, Pauses
from mooring_client.errors import CallFailedError
from mooring_client.nodes import NodeTable, listed
from mooring_client.pods import source_of
from mooring_client.questions import Questions
from mooring_client.session import Session
from mooring_client.v1.cluster_service_pb2 import ListNodesRequest, RemoveSourceRequest
from mooring_client.v1.decision_service_pb2 import WatchDecisionsRequest, WatchDecisionsResponse
from mooring_client.v1.nodes_pb2 import NODE_FORM_NAMES
from mooring_client.v1.objects_pb2 import PodReference
from mooring_client.v1.plugin_service_pb2 import GetCapabilitiesRequest, GetCapabilitiesResponse
from mooring_client.v1.scheduling_service_pb2 import (
    BindRequest,
    BindResponse,
    ListReservationsRequest,
    Reservation,
    ReserveRequest,
    ReserveResponse,
    UnreservedPod,
    UnreserveManyRequest,
    UnreserveRequest,
)
from mooring_client.watches import NodeUpdate, decisions, node_updates

MAX_MESSAGE_BYTES: Final = 64 << 20
"""The largest answer that a client takes unless it is told otherwise."""


class Client(Questions):
    """Asks a mooring server, and has it place pods. Safe from any thread; ends with its ``with`` block.

    A call that fails is sent again as long as that is safe and may help. Every method raises
    ``CallFailedError`` for a reason that remains, or when time is over.

    Args:
        target: As grpcio has it, such as ``localhost:50051`` or ``unix:/run/mooring.sock``.
        credentials: TLS, by ``grpc.ssl_channel_credentials``; None = plain text.
        timeout: Seconds that a method has, repeats included, unless its caller says otherwise.
        max_message_bytes: The largest answer that is taken.
    """

    def __init__(
        self,
        target: str,
        credentials: grpc.ChannelCredentials | None = None,
        *,
        timeout: float = 10.0,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        calls = Calls(target, credentials, max_message_bytes)
        super().__init__(calls, NodeTable(calls), timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._calls.close()

    def reserve(
        self, pod: bytes | PodReference, node: str, *, profile: str = "", timeout: float | None = None
    ) -> ReserveResponse:
        """Reserve a place on a node for a pod that has a UID, if the filters let it run there."""
        request = ReserveRequest(pod=source_of(pod), node=node, profile=profile)
        return self._send(lambda stubs: stubs.scheduling.Reserve, request, timeout, commits=True)

    def unreserve(self, pod: PodReference, *, timeout: float | None = None) -> bool:
        """End the reservation of a pod; whether it had one."""
        request = UnreserveRequest(pod=pod)
        return self._send(lambda stubs: stubs.scheduling.Unreserve, request, timeout, commits=True).released

    def unreserve_many(self, uids: Sequence[str], *, timeout: float | None = None) -> list[UnreservedPod]:
        """End the reservations of the pods with these UIDs; one result for each."""
        request = UnreserveManyRequest(uids=uids)
        answer = self._send(lambda stubs: stubs.scheduling.UnreserveMany, request, timeout, commits=True)
        return list(answer.pods)

    def list_reservations(self, *, timeout: float | None = None) -> list[Reservation]:
        """Return the reservations of the process that answers, all pages."""
        request, pauses = ListReservationsRequest(), self._pauses(timeout)
        found: list[Reservation] = []
        while True:
            answer = self._calls.send(
                lambda stubs: stubs.scheduling.ListReservations, request, pauses, commits=True
            )
            found.extend(answer.reservations)
            if not answer.next_page_token:
                return found
            request.page_token = answer.next_page_token

    def watch_nodes(self, *, timeout: float | None = None) -> Iterator[NodeUpdate]:
        """Yield every node, then what changes; without ``timeout`` for as long as it is read."""
        return node_updates(self._calls, Pauses(timeout))

    def watch_decisions(
        self, after: int | None = None, *, timeout: float | None = None
    ) -> Iterator[WatchDecisionsResponse]:
        """Yield decisions as they are made, or those after a ``seq`` and then new ones.

        Args:
            after: The seq; None = new ones only.
            timeout: Seconds; None = for as long as it is read.
        """
        return decisions(self._calls, WatchDecisionsRequest(after_seq=after), Pauses(timeout))

    def bind(
        self, pod: PodReference, node: str, *, profile: str = "", timeout: float | None = None
    ) -> BindResponse:
        """Bind a pod, by its UID, to a node."""
        request = BindRequest(pod=pod, node=node, profile=profile)
        return self._send(lambda stubs: stubs.scheduling.Bind, request, timeout, commits=True)

    def list_nodes(self, labels: str = "", *, timeout: float | None = None) -> tuple[int, list[str]]:
        """Return the node epoch, and the names of the nodes in the order of their indices.

        Args:
            labels: A selector as kubectl takes it; "" = all nodes.
            timeout: Seconds; None = the client's.
        """
        request = ListNodesRequest(form=NODE_FORM_NAMES, label_selector=labels)
        answer = listed(self._calls, request, self._pauses(timeout))
        return answer.provenance.node_epoch, list(answer.nodes.names.names)

    def capabilities(self, *, timeout: float | None = None) -> GetCapabilitiesResponse:
        """Return what the server offers."""
        return self._send(lambda stubs: stubs.plugins.GetCapabilities, GetCapabilitiesRequest(), timeout)

    def session(self, origin: str = "", *, timeout: float | None = None) -> Session:
        """Open a session.

        Args:
            origin: The id of a session to begin with; "" = the cluster as it is now.
            timeout: Seconds, here and for its methods; None = the client's.
        """
        return Session(self._calls, self._nodes, self._timeout if timeout is None else timeout, origin)

    def remove_source(self, source: str, *, timeout: float | None = None) -> bool:
        """Remove a push source with all its objects.

        Args:
            source: Its name, as in ``PushObjects``.
            timeout: Seconds; None = the client's.

        Returns:
            Whether there was one.
        """
        request = RemoveSourceRequest(source=source)
        try:
            self._send(lambda stubs: stubs.cluster.RemoveSource, request, timeout)
        except CallFailedError as error:
            if error.reason != "SOURCE_NOT_FOUND":
                raise
            return False
        return True
