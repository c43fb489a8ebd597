"""SimulationService: sessions, and questions made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import grpc

from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.answers import Progress
from mooring.service.backend import Backend, ObjectDecoder
from mooring.service.blame_answer import blame
from mooring.service.calls.slots import SlotProgress
from mooring.service.change_answer import change
from mooring.service.what_if import capacity, node_groups, removal
from mooring.serving.access.access import asking_client, current_call
from mooring.sessions.sessions import LEASE_SECONDS, MAX_LEASE_SECONDS, Session
from mooring.sessions.work_trees import Work
from mooring_client.v1 import simulation_service_pb2 as pb
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceServicer

Request = TypeVar(
    "Request",
    pb.EstimateCapacityRequest,
    pb.PlanRemovalRequest,
    pb.PlanNodeGroupsRequest,
    pb.SuggestChangesRequest,
    pb.AssignBlameRequest,
)
Response = TypeVar("Response")


class SimulationServicer(SimulationServiceServicer):
    """Answers from one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sessions = backend.sessions

    def OpenSession(
        self, request: pb.OpenSessionRequest, context: grpc.ServicerContext
    ) -> pb.OpenSessionResponse:
        owner, lease = asking_client().name, _lease(request)
        origin = self._sessions.find(request.from_session, owner) if request.from_session else None
        seed = request.seed or (origin.seed if origin is not None else 0)
        begin = partial(
            self._sessions.open, owner, client=current_call().claimant, origin=origin, seed=seed, lease=lease
        )

        def with_policy(progress: SlotProgress) -> pb.OpenSessionResponse:
            policy = self._sessions.policy(
                progress, request.kube_version, request.feature_gates, request.configuration, origin
            )
            session = begin(policy=policy)
            try:
                # Its engine is made now: without one there is no session.
                with self._sessions.trying(session, progress):
                    pass
            except BaseException:
                self._sessions.close(session)
                raise
            warnings = policy.warnings if policy is not None else ()
            return pb.OpenSessionResponse(session=_message(session), warnings=warnings)

        asked = request.kube_version or request.feature_gates or request.configuration
        if asked or (origin is not None and origin.policy is not None):
            return self._backend.in_session_slot(context, with_policy)
        self._backend.require_synced()
        return pb.OpenSessionResponse(session=_message(begin()))

    def CloseSession(
        self, request: pb.CloseSessionRequest, context: grpc.ServicerContext
    ) -> pb.CloseSessionResponse:
        self._sessions.close(self._found(request.session, context))
        return pb.CloseSessionResponse()

    def GetSession(
        self, request: pb.GetSessionRequest, context: grpc.ServicerContext
    ) -> pb.GetSessionResponse:
        session = self._found(request.session, context)

        def look(progress: SlotProgress) -> pb.GetSessionResponse:
            with self._sessions.trying(session, progress) as work:
                return pb.GetSessionResponse(session=_message(session, _counts(work)))

        return self._backend.in_session_slot(context, look)

    def ChangeSession(
        self, request: pb.ChangeSessionRequest, context: grpc.ServicerContext
    ) -> pb.ChangeSessionResponse:
        session = self._found(request.session, context)
        if not request.changes:
            raise InvalidArgumentError.at("changes", "is empty; send one or more")

        def change(progress: SlotProgress) -> pb.ChangeSessionResponse:
            changes, warnings = self._backend.read_changes(request.changes)
            with self._sessions.working(session, progress, request.ByteSize()) as work:
                work.tree.apply_changes(changes)
                counts = _counts(work)
            return pb.ChangeSessionResponse(session=_message(session, counts), warnings=warnings)

        return self._backend.in_session_slot(context, change)

    def MarkSession(
        self, request: pb.MarkSessionRequest, context: grpc.ServicerContext
    ) -> pb.MarkSessionResponse:
        session = self._found(request.session, context)
        return self._backend.in_session_slot(
            context, lambda _: pb.MarkSessionResponse(mark=self._sessions.mark(session))
        )

    def RevertSession(
        self, request: pb.RevertSessionRequest, context: grpc.ServicerContext
    ) -> pb.RevertSessionResponse:
        session = self._found(request.session, context)

        def revert(_: SlotProgress) -> pb.RevertSessionResponse:
            self._sessions.revert(session, request.mark)
            return pb.RevertSessionResponse(session=_message(session))

        return self._backend.in_session_slot(context, revert)

    def CommitSession(
        self, request: pb.CommitSessionRequest, context: grpc.ServicerContext
    ) -> pb.CommitSessionResponse:
        session = self._found(request.session, context)
        if not request.mark:
            raise InvalidArgumentError.at("mark", "is missing; send the mark to forget")

        def commit(_: SlotProgress) -> pb.CommitSessionResponse:
            self._sessions.commit(session, request.mark)
            return pb.CommitSessionResponse(session=_message(session))

        return self._backend.in_session_slot(context, commit)

    def EstimateCapacity(
        self, request: pb.EstimateCapacityRequest, context: grpc.ServicerContext
    ) -> pb.EstimateCapacityResponse:
        return self._answered(capacity, request, context)

    def PlanRemoval(
        self, request: pb.PlanRemovalRequest, context: grpc.ServicerContext
    ) -> pb.PlanRemovalResponse:
        return self._answered(removal, request, context)

    def PlanNodeGroups(
        self, request: pb.PlanNodeGroupsRequest, context: grpc.ServicerContext
    ) -> pb.PlanNodeGroupsResponse:
        return self._answered(node_groups, request, context)

    def SuggestChanges(
        self, request: pb.SuggestChangesRequest, context: grpc.ServicerContext
    ) -> pb.SuggestChangesResponse:
        return self._answered(partial(change, advisor=self._backend.advisor), request, context)

    def AssignBlame(
        self, request: pb.AssignBlameRequest, context: grpc.ServicerContext
    ) -> pb.AssignBlameResponse:
        version, gates = self._backend.kube_version, self._backend.feature_gates
        others = partial(self._sessions.other_rules, version, gates)
        return self._answered(partial(blame, others=others), request, context)

    def _answered(
        self,
        question: Callable[[ObjectDecoder, Work, Request, Progress], Response],
        request: Request,
        context: grpc.ServicerContext,
    ) -> Response:
        owner = asking_client().name

        def look(progress: SlotProgress) -> Response:
            with self._about(request.session, owner, progress) as work:
                return question(self._backend.decoder, work, request, progress)

        return self._backend.in_session_slot(context, look)

    def _found(self, session_id: str, context: grpc.ServicerContext) -> Session:
        if not session_id:
            raise InvalidArgumentError([FieldError("session", "is missing; open one")])
        return self._sessions.find(session_id, asking_client().name)

    @contextmanager
    def _about(self, session_id: str, owner: str, progress: SlotProgress) -> Iterator[Work]:
        """Lend a work tree of the session, or of the live state as it is now."""
        if session_id:
            with self._sessions.trying(self._sessions.find(session_id, owner), progress) as work:
                yield work
            return
        with self._sessions.asking(progress) as work:
            yield work


def _lease(request: pb.OpenSessionRequest) -> float:
    if not request.HasField("lease"):
        return LEASE_SECONDS
    seconds = request.lease.seconds + request.lease.nanos / 1e9
    if not 0 < seconds <= MAX_LEASE_SECONDS:
        raise InvalidArgumentError.at("lease", f"{seconds:g} s is not within 0 and {MAX_LEASE_SECONDS:g} s")
    return seconds


def _counts(work: Work) -> tuple[int, int]:
    return len(work.tree.snapshot.nodes), len(work.tree.snapshot.pods)


def _message(session: Session, counts: tuple[int, int] = (0, 0)) -> pb.Session:
    version = session.version
    message = pb.Session(
        id=session.id,
        state_version=version.live_version,
        change_count=version.change_count,
        mark_count=len(session.marks),
        node_count=counts[0],
        pod_count=counts[1],
    )
    message.lease.FromNanoseconds(int(session.lease * 1e9))
    return message
