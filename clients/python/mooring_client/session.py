"""Sessions: private versions of the cluster, in which everything can be tried and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import grpc

from mooring_client.pods import Placement, Pods, fill, placements
from mooring_client.v1.cluster_service_pb2 import PutObjects, RemoveObject
from mooring_client.v1.nodes_pb2 import NODE_FORM_NAMES
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2 import (
    COMMIT_MODE_DRY_RUN,
    COMMIT_MODE_RESERVE,
    CommitMode,
    GroupToSchedule,
    ScheduleRequest,
)
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_client.v1.simulation_service_pb2 import (
    ChangeKind,
    ChangeSessionRequest,
    CloseSessionRequest,
    CommitSessionRequest,
    EstimateCapacityRequest,
    MarkSessionRequest,
    NodeGroup,
    NodeRemoval,
    OpenSessionRequest,
    PlanNodeGroupsRequest,
    PlanNodeGroupsResponse,
    PlanRemovalRequest,
    RevertSessionRequest,
    SessionChange,
    ShapeCapacity,
    SuggestChangesRequest,
    SuggestChangesResponse,
)
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub


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


class ClientSession:
    """One session, which ends with its ``with`` block. For one thread at a time.

    Nothing that is done in it shows outside, and nothing that happens later in the cluster shows in it. Every
    method raises grpc.RpcError when its call fails: SESSION_NOT_FOUND when the session's lease has ended,
    SESSION_EXPIRED when the cluster has moved on too far since it began; see ``reason_of``.

    Args:
        channel: To one server, whose session it is.
        timeout: Seconds that one call may take.
        origin: The id of a session to begin with; "" = the cluster as it is now.

    Attributes:
        id: Its id.
    """

    def __init__(self, channel: grpc.Channel, timeout: float = 10.0, origin: str = "") -> None:
        self._channel = channel
        self._timeout = timeout
        self._scheduling = SchedulingServiceStub(channel)
        self._simulation = SimulationServiceStub(channel)
        opened = self._simulation.OpenSession(OpenSessionRequest(from_session=origin), timeout=timeout)
        self.id = opened.session.id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it now; otherwise it ends a minute after its last call."""
        self._simulation.CloseSession(CloseSessionRequest(session=self.id), timeout=self._timeout)

    def fork(self) -> ClientSession:
        """Return a new session that begins with this one's current version; later changes are not shared."""
        return ClientSession(self._channel, self._timeout, self.id)

    def put(self, *objects: bytes) -> None:
        """Add objects of any kinds, given as JSON, or replace those of the same name."""
        sent = PutObjects(objects=[KubernetesObject(json=each) for each in objects])
        self._change(SessionChange(put=sent))

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        """Remove an object that is there."""
        self._change(SessionChange(remove=RemoveObject(kind=kind, namespace=namespace, name=name)))

    def place(self, groups: Sequence[Pods], *, profile: str = "", seed: int = 0) -> list[Placement]:
        """Place the pods of all groups in order, as ``Client.schedule`` would; they count from then on."""
        return self._schedule(groups, COMMIT_MODE_RESERVE, profile, seed)

    def schedule(self, groups: Sequence[Pods], *, profile: str = "", seed: int = 0) -> list[Placement]:
        """Decide about the pods of all groups in order; the session stays as it is."""
        return self._schedule(groups, COMMIT_MODE_DRY_RUN, profile, seed)

    def capacity(self, *shapes: bytes, limit: int = 0, by_node: bool = False) -> list[ShapeCapacity]:
        """How many more pods there is room for, of each shape by itself; shapes are pods as JSON."""
        request = EstimateCapacityRequest(
            session=self.id,
            shapes=[PodSource(object=KubernetesObject(json=shape)) for shape in shapes],
            limit=limit,
            include_nodes=by_node,
        )
        return list(self._simulation.EstimateCapacity(request, timeout=self._timeout).shapes)

    def removal(self, nodes: Iterable[str] = (), *, cumulative: bool = False) -> list[NodeRemoval]:
        """Which nodes could go, of those given or of all: see ``SimulationService.PlanRemoval``."""
        request = PlanRemovalRequest(session=self.id, nodes=nodes, cumulative=cumulative)
        return list(self._simulation.PlanRemoval(request, timeout=self._timeout).nodes)

    def node_groups(self, groups: Iterable[NodeGroup], pods: Iterable[bytes] = ()) -> PlanNodeGroupsResponse:
        """Say how many more nodes of each group would help pods, given as JSON, or all that have no node.

        See ``SimulationService.PlanNodeGroups``.
        """
        waiting = [PodSource(object=KubernetesObject(json=pod)) for pod in pods]
        request = PlanNodeGroupsRequest(session=self.id, groups=groups, pods=waiting)
        return self._simulation.PlanNodeGroups(request, timeout=self._timeout)

    def change(
        self, pod: bytes, nodes: Iterable[str] = (), kinds: Iterable[ChangeKind.ValueType] = ()
    ) -> SuggestChangesResponse:
        """Say what would make a pod fit, given as JSON: see ``SimulationService.SuggestChanges``."""
        source = PodSource(object=KubernetesObject(json=pod))
        request = SuggestChangesRequest(session=self.id, pod=source, nodes=nodes, kinds=kinds)
        return self._simulation.SuggestChanges(request, timeout=self._timeout)

    def change_group(
        self,
        namespace: str,
        name: str,
        pods: Iterable[bytes] = (),
        kinds: Iterable[ChangeKind.ValueType] = (),
    ) -> SuggestChangesResponse:
        """Say what would make a group fit, with its pods, given as JSON, or all that the session has.

        See ``SimulationService.SuggestChanges``.
        """
        waiting = [PodSource(object=KubernetesObject(json=pod)) for pod in pods]
        group = GroupToSchedule(namespace=namespace, name=name, pods=waiting)
        request = SuggestChangesRequest(session=self.id, group=group, kinds=kinds)
        return self._simulation.SuggestChanges(request, timeout=self._timeout)

    @contextmanager
    def trying(self) -> Iterator[Trial]:
        """Take back in the end what was done in the block, unless it was kept; blocks nest."""
        request = MarkSessionRequest(session=self.id)
        mark = self._simulation.MarkSession(request, timeout=self._timeout).mark
        trial = Trial()
        try:
            yield trial
        except BaseException:
            self._end(mark, kept=False)
            raise
        self._end(mark, kept=trial.kept)

    def _end(self, mark: int, *, kept: bool) -> None:
        if kept:
            commit = CommitSessionRequest(session=self.id, mark=mark)
            self._simulation.CommitSession(commit, timeout=self._timeout)
        else:
            revert = RevertSessionRequest(session=self.id, mark=mark)
            self._simulation.RevertSession(revert, timeout=self._timeout)

    def _change(self, *changes: SessionChange) -> None:
        request = ChangeSessionRequest(session=self.id, changes=changes)
        self._simulation.ChangeSession(request, timeout=self._timeout)

    def _schedule(
        self, groups: Sequence[Pods], mode: CommitMode.ValueType, profile: str, seed: int
    ) -> list[Placement]:
        request = ScheduleRequest(session=self.id, commit_mode=mode, profile=profile, seed=seed)
        uids = fill(request, groups)
        request.nodes.answer_form = NODE_FORM_NAMES
        response = self._scheduling.Schedule(request, timeout=self._timeout)
        return list(placements(uids, list(response.nodes.names.names), response))
