"""Sessions: private versions of the cluster, in which everything can be tried and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from mooring_client.calls import Calls
from mooring_client.nodes import NodeTable
from mooring_client.pods import Placement, Pods, source_of
from mooring_client.questions import Questions
from mooring_client.v1 import simulation_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2 import PutObjects, RemoveObject
from mooring_client.v1.objects_pb2 import KubernetesObject
from mooring_client.v1.scheduling_service_pb2 import COMMIT_MODE_RESERVE, GroupToSchedule


@dataclass(slots=True)
class Trial:
    """Trial changes to a session for the length of a block.

    Attributes:
        kept: Whether what was done stays when the block ends.
    """

    kept: bool = field(default=False)

    def keep(self) -> None:
        """Let what was done stay when the block ends."""
        self.kept = True


class Session(Questions):
    """One session, which ends with its ``with`` block. For one thread at a time.

    Nothing that is done in it shows outside, and nothing that happens later in the cluster shows in it. Every
    method raises ``CallFailedError``, with the reason SESSION_NOT_FOUND when the session's lease has ended,
    and SESSION_EXPIRED when the cluster has moved on too far since it began.

    Args:
        calls: To the server whose session it is.
        nodes: The server's nodes.
        timeout: Seconds that a method has, unless its caller says otherwise.
        origin: The id of a session to begin with; "" = the cluster as it is now.

    Attributes:
        id: Its id.
    """

    def __init__(self, calls: Calls, nodes: NodeTable, timeout: float, origin: str = "") -> None:
        super().__init__(calls, nodes, timeout)
        request = pb.OpenSessionRequest(from_session=origin)
        self.id = self._send(lambda stubs: stubs.simulation.OpenSession, request, None).session.id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, *, timeout: float | None = None) -> None:
        """End it now; otherwise it ends a minute after its last call."""
        request = pb.CloseSessionRequest(session=self.id)
        self._send(lambda stubs: stubs.simulation.CloseSession, request, timeout)

    def fork(self) -> Session:
        """Return a new session that begins with this one's current version; later changes are not shared."""
        return Session(self._calls, self._nodes, self._timeout, self.id)

    def put(self, *objects: bytes) -> pb.Session:
        """Add objects of any kinds, given as JSON, or replace those of the same name."""
        return self.change(put=objects)

    def remove(self, kind: str, name: str, namespace: str = "") -> pb.Session:
        """Remove an object that is there."""
        return self.change(remove=[RemoveObject(kind=kind, namespace=namespace, name=name)])

    def change(
        self, put: Sequence[bytes] = (), remove: Iterable[RemoveObject] = (), *, timeout: float | None = None
    ) -> pb.Session:
        """Add or replace objects, then remove some: all of it, or nothing.

        Args:
            put: Objects of any kinds, as JSON.
            remove: Objects that are there.
            timeout: Seconds; None = the client's.

        Returns:
            What the session is then.
        """
        request = pb.ChangeSessionRequest(session=self.id)
        if put:
            sent = PutObjects(objects=[KubernetesObject(json=each) for each in put])
            request.changes.append(pb.SessionChange(put=sent))
        request.changes.extend(pb.SessionChange(remove=each) for each in remove)
        return self._send(lambda stubs: stubs.simulation.ChangeSession, request, timeout).session

    def place(self, groups: Sequence[Pods], *, profile: str = "", seed: int = 0) -> list[Placement]:
        """Place the pods of all groups in order, as ``Client.schedule`` would; they count from then on."""
        return self.schedule(groups, commit_mode=COMMIT_MODE_RESERVE, profile=profile, seed=seed)

    def mark(self, *, timeout: float | None = None) -> int:
        """Remember what the session is now, and return the mark to go back to."""
        request = pb.MarkSessionRequest(session=self.id)
        return self._send(lambda stubs: stubs.simulation.MarkSession, request, timeout).mark

    def revert(self, mark: int = 0, *, timeout: float | None = None) -> pb.Session:
        """Undo what was done since a mark, or everything; return what the session is then."""
        request = pb.RevertSessionRequest(session=self.id, mark=mark)
        return self._send(lambda stubs: stubs.simulation.RevertSession, request, timeout).session

    def commit(self, mark: int, *, timeout: float | None = None) -> pb.Session:
        """Forget a mark, and return what the session is then. What was done since stays."""
        request = pb.CommitSessionRequest(session=self.id, mark=mark)
        return self._send(lambda stubs: stubs.simulation.CommitSession, request, timeout).session

    @contextmanager
    def trying(self) -> Iterator[Trial]:
        """Take back in the end what was done in the block, unless it was kept; blocks nest."""
        mark = self.mark()
        trial = Trial()
        try:
            yield trial
        except BaseException:
            self.revert(mark)
            raise
        if trial.kept:
            self.commit(mark)
        else:
            self.revert(mark)

    def estimate_capacity(
        self, *shapes: bytes, limit: int = 0, by_node: bool = False
    ) -> list[pb.ShapeCapacity]:
        """How many more pods there is room for, of each shape by itself; shapes are pods as JSON."""
        request = pb.EstimateCapacityRequest(
            session=self.id, shapes=map(source_of, shapes), limit=limit, include_nodes=by_node
        )
        answer = self._send(lambda stubs: stubs.simulation.EstimateCapacity, request, None)
        return list(answer.shapes)

    def plan_removal(self, nodes: Iterable[str] = (), *, cumulative: bool = False) -> list[pb.NodeRemoval]:
        """Which nodes could go, of those given or of all: see ``SimulationService.PlanRemoval``."""
        request = pb.PlanRemovalRequest(session=self.id, nodes=nodes, cumulative=cumulative)
        return list(self._send(lambda stubs: stubs.simulation.PlanRemoval, request, None).nodes)

    def plan_node_groups(
        self, groups: Iterable[pb.NodeGroup], pods: Iterable[bytes] = ()
    ) -> pb.PlanNodeGroupsResponse:
        """Say how many more nodes of each group would help pods, given as JSON, or all that have no node.

        See ``SimulationService.PlanNodeGroups``.
        """
        request = pb.PlanNodeGroupsRequest(session=self.id, groups=groups, pods=map(source_of, pods))
        return self._send(lambda stubs: stubs.simulation.PlanNodeGroups, request, None)

    def suggest_changes(
        self,
        pod: bytes | GroupToSchedule,
        nodes: Iterable[str] = (),
        kinds: Iterable[pb.ChangeKind.ValueType] = (),
    ) -> pb.SuggestChangesResponse:
        """Say what would make a pod, given as JSON, or a group fit.

        See ``SimulationService.SuggestChanges``.
        """
        request = pb.SuggestChangesRequest(session=self.id, nodes=nodes, kinds=kinds)
        if isinstance(pod, bytes):
            request.pod.CopyFrom(source_of(pod))
        else:
            request.group.CopyFrom(pod)
        return self._send(lambda stubs: stubs.simulation.SuggestChanges, request, None)
