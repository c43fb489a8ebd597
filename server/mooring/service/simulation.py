"""SimulationService: sessions, and questions made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import TypeVar

import grpc

from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError, node_not_found
from mooring.runtime.profiles.profiles import left_alone
from mooring.service.backend import Backend
from mooring.service.calls.access import client_name
from mooring.service.calls.interceptors import in_slot
from mooring.service.calls.slots import SlotProgress
from mooring.service.change_answer import answer, kinds_of
from mooring.service.wire.objects import decode_node, pod_reference, status_message, subject
from mooring.sessions.capacity import MOST, Capacity, capacity_of
from mooring.sessions.node_groups import MOST_NODES, NodeGroup, NodeGroups
from mooring.sessions.pending import LeftOver, Queue, pending, place_pending
from mooring.sessions.removal import Departure, Landing, NodeRemoval, Removal, adopted
from mooring.sessions.sessions import LEASE_SECONDS, MAX_LEASE_SECONDS, Session
from mooring.sessions.work_trees import Work
from mooring.v1 import objects_pb2
from mooring.v1 import simulation_service_pb2 as pb
from mooring.v1.simulation_service_pb2_grpc import SimulationServiceServicer

Response = TypeVar("Response")


class SimulationServicer(SimulationServiceServicer):
    """Answers from one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sessions = backend.sessions

    def OpenSession(
        self, request: pb.OpenSessionRequest, context: grpc.ServicerContext
    ) -> pb.OpenSessionResponse:
        owner, lease = client_name(context), _lease(request)
        self._backend.require_synced()
        origin = self._sessions.find(request.from_session, owner) if request.from_session else None
        policy = self._sessions.policy(
            request.kube_version, request.feature_gates, request.configuration, origin
        )
        seed = request.seed or (origin.seed if origin is not None else 0)
        session = self._sessions.open(owner, origin=origin, policy=policy, seed=seed, lease=lease)
        if policy is not None:
            self._require_engine(session, context)
        warnings = policy.warnings if policy is not None else ()
        return pb.OpenSessionResponse(session=_message(session), warnings=warnings)

    def _require_engine(self, session: Session, context: grpc.ServicerContext) -> None:
        """Make the engine of a session that was just opened, which is none if that fails."""

        def make(progress: SlotProgress) -> None:
            with self._sessions.trying(session, progress):
                pass

        try:
            self._run(context, make)
        except BaseException:
            self._sessions.close(session)
            raise

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
                return pb.GetSessionResponse(session=_message(session, work))

        return self._run(context, look)

    def ChangeSession(
        self, request: pb.ChangeSessionRequest, context: grpc.ServicerContext
    ) -> pb.ChangeSessionResponse:
        session = self._found(request.session, context)
        if not request.changes:
            raise InvalidArgumentError.at("changes", "is empty; send one or more")

        def change(progress: SlotProgress) -> pb.ChangeSessionResponse:
            changes, warnings = self._backend.read_changes(request.changes)
            with self._sessions.working(session, progress) as work:
                work.tree.apply_changes(changes)
            return pb.ChangeSessionResponse(session=_message(session), warnings=warnings)

        return self._run(context, change)

    def MarkSession(
        self, request: pb.MarkSessionRequest, context: grpc.ServicerContext
    ) -> pb.MarkSessionResponse:
        session = self._found(request.session, context)
        return self._run(context, lambda _: pb.MarkSessionResponse(mark=self._sessions.mark(session)))

    def RevertSession(
        self, request: pb.RevertSessionRequest, context: grpc.ServicerContext
    ) -> pb.RevertSessionResponse:
        session = self._found(request.session, context)

        def revert(_: SlotProgress) -> pb.RevertSessionResponse:
            self._sessions.revert(session, request.mark)
            return pb.RevertSessionResponse(session=_message(session))

        return self._run(context, revert)

    def CommitSession(
        self, request: pb.CommitSessionRequest, context: grpc.ServicerContext
    ) -> pb.CommitSessionResponse:
        session = self._found(request.session, context)
        if not request.mark:
            raise InvalidArgumentError.at("mark", "is missing; send the mark to forget")

        def commit(_: SlotProgress) -> pb.CommitSessionResponse:
            self._sessions.commit(session, request.mark)
            return pb.CommitSessionResponse(session=_message(session))

        return self._run(context, commit)

    def Capacity(self, request: pb.CapacityRequest, context: grpc.ServicerContext) -> pb.CapacityResponse:
        owner = client_name(context)
        if not request.shapes:
            raise InvalidArgumentError.at("shapes", "is empty; send one or more")
        if request.limit > MOST:
            raise InvalidArgumentError.at("limit", f"{request.limit} is more than {MOST}")

        def count(progress: SlotProgress) -> pb.CapacityResponse:
            with self._about(request.session, owner, progress) as work:
                return _capacity(self._backend.over(work), work, request, progress)

        return self._run(context, count)

    def Removal(self, request: pb.RemovalRequest, context: grpc.ServicerContext) -> pb.RemovalResponse:
        owner = client_name(context)
        twice = [name for name, count in Counter(request.nodes).items() if count > 1]
        if twice:
            raise InvalidArgumentError.at("nodes", f"{twice[0]!r} is there more than once")
        if request.mode not in (0, *Departure):
            raise InvalidArgumentError.at("mode", f"{request.mode} is not a mode of removal")

        def remove(progress: SlotProgress) -> pb.RemovalResponse:
            with self._about(request.session, owner, progress) as work:
                return _removal(self._backend.over(work), work, request, progress)

        return self._run(context, remove)

    def NodeGroups(
        self, request: pb.NodeGroupsRequest, context: grpc.ServicerContext
    ) -> pb.NodeGroupsResponse:
        owner = client_name(context)
        groups = [
            _node_group(self._backend, group, f"groups[{at}]") for at, group in enumerate(request.groups)
        ]
        names = Counter(group.name for group in groups)
        if not groups:
            raise InvalidArgumentError.at("groups", "is empty; send one or more")
        if max(names.values()) > 1:
            raise InvalidArgumentError.at("groups", f"{names.most_common(1)[0][0]!r} is there more than once")

        def look(progress: SlotProgress) -> pb.NodeGroupsResponse:
            with self._about(request.session, owner, progress) as work:
                return _node_groups(self._backend.over(work), work, request, groups, progress)

        return self._run(context, look)

    def Change(self, request: pb.ChangeRequest, context: grpc.ServicerContext) -> pb.ChangeResponse:
        owner, kinds = client_name(context), kinds_of(request)

        def look(progress: SlotProgress) -> pb.ChangeResponse:
            with self._about(request.session, owner, progress) as work:
                return answer(self._backend.over(work), work, request, kinds, progress)

        return self._run(context, look)

    def _run(self, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]) -> Response:
        """Run ``work`` where it gives way to live calls; however little it is, its call takes time."""
        self._backend.require_synced()
        return in_slot(self._backend.session_slots, context, work)

    def _found(self, session_id: str, context: grpc.ServicerContext) -> Session:
        if not session_id:
            raise InvalidArgumentError([FieldError("session", "is missing; open one")])
        return self._sessions.find(session_id, client_name(context))

    @contextmanager
    def _about(self, session_id: str, owner: str, progress: SlotProgress) -> Iterator[Work]:
        """Lend a work tree of the session, or of the live state as it is now."""
        if session_id:
            with self._sessions.trying(self._sessions.find(session_id, owner), progress) as work:
                yield work
            return
        session = self._sessions.open(owner)
        try:
            with self._sessions.trying(session, progress) as work:
                yield work
        finally:
            self._sessions.close(session)


def _lease(request: pb.OpenSessionRequest) -> float:
    if not request.HasField("lease"):
        return LEASE_SECONDS
    seconds = request.lease.seconds + request.lease.nanos / 1e9
    if not 0 < seconds <= MAX_LEASE_SECONDS:
        raise InvalidArgumentError.at("lease", f"{seconds:g} s is not within 0 and {MAX_LEASE_SECONDS:g} s")
    return seconds


def _message(session: Session, work: Work | None = None) -> pb.Session:
    version = session.version
    message = pb.Session(
        id=session.id,
        state_version=version.live_version,
        change_count=version.change_count,
        mark_count=len(session.marks),
    )
    message.lease.FromNanoseconds(int(session.lease * 1e9))
    if work is not None:
        message.node_count = len(work.tree.snapshot.nodes)
        message.pod_count = len(work.tree.snapshot.pods)
    return message


def _capacity(
    there: Backend, work: Work, request: pb.CapacityRequest, progress: SlotProgress
) -> pb.CapacityResponse:
    shapes, profiles, foreign = [], {}, dict[str, None]()
    queue = _queue(there, work, request, progress)
    work.keep()
    for at, source in enumerate(request.shapes):
        progress.check()
        pod = subject(there.decoder, work.tree, source, f"shapes[{at}]")
        profile = work.engine.profile(request.profile, pod)
        profiles[profile.name] = profile
        foreign |= dict.fromkeys(left_alone(pod, profile))
        found = capacity_of(
            work,
            pod,
            profile,
            limit=request.limit or MOST,
            by_node=request.include_nodes,
            seed=there.seed(request.seed),
            progress=progress,
        )
        work.go_back()
        shapes.append(_shape(found, by_node=request.include_nodes))
    warnings = dict.fromkeys(warning for profile in profiles.values() for warning in profile.warnings)
    return pb.CapacityResponse(
        provenance=_provenance(there, work),
        shapes=shapes,
        warnings=[*warnings, *foreign, *queue.warnings],
        placed_count=len(queue.placed),
        unplaced=map(_left_over, queue.left),
    )


def _queue(
    there: Backend, work: Work, request: pb.CapacityRequest | pb.RemovalRequest, progress: SlotProgress
) -> Queue:
    """Place the pods that have no node, unless they are to be left out."""
    if request.ignore_pending:
        return Queue()
    profile_of = partial(adopted, work.engine, request.profile)
    return place_pending(work, profile_of, there.seed(request.seed), progress)


def _shape(found: Capacity, *, by_node: bool) -> pb.ShapeCapacity:
    nodes = sorted(found.nodes.items()) if by_node else ()
    return pb.ShapeCapacity(
        count=found.count,
        limited=found.limited,
        end=status_message(found.end, found.message),
        nodes=[pb.NodeCount(node=name, count=count) for name, count in nodes if count],
    )


def _removal(
    there: Backend, work: Work, request: pb.RemovalRequest, progress: SlotProgress
) -> pb.RemovalResponse:
    index = work.tree.snapshot.nodes.index
    unknown = [name for name in request.nodes if name not in index]
    if unknown:
        raise node_not_found(unknown[0])
    names = list(request.nodes) or sorted(index)
    queue = _queue(there, work, request, progress)
    removal = Removal(
        work,
        partial(adopted, work.engine, request.profile),
        departure=Departure(request.mode or Departure.DRAIN),
        queued=queue.placed,
        seed=there.seed(request.seed),
    )
    found = removal.try_nodes(names, progress, cumulative=request.cumulative)
    answers = [_node_removal(each) for each in found]
    return pb.RemovalResponse(
        provenance=_provenance(there, work),
        nodes=answers,
        warnings=queue.warnings,
        placed_count=len(queue.placed),
        unplaced=map(_left_over, queue.left),
    )


def _node_removal(found: NodeRemoval) -> pb.NodeRemoval:
    return pb.NodeRemoval(
        node=found.node_name,
        removable=found.removable,
        landings=[_landing(landing) for landing in found.landings],
        ending_pod_count=found.ending,
        alone=map(pod_reference, found.alone),
        exhausted_budgets=found.exhausted,
    )


def _landing(landing: Landing) -> pb.Landing:
    return pb.Landing(
        pod=pod_reference(landing.pod),
        node=landing.node_name,
        status=status_message(landing.status, landing.message),
        waits=landing.waits,
    )


def _node_group(backend: Backend, group: pb.NodeGroup, path: str) -> NodeGroup:
    if not group.name:
        raise InvalidArgumentError.at(f"{path}.name", "is missing")
    if group.max_count > MOST_NODES:
        raise InvalidArgumentError.at(f"{path}.max_count", f"{group.max_count} is more than {MOST_NODES}")
    price = group.price if group.HasField("price") else 1.0
    if not 0 <= price < inf:
        raise InvalidArgumentError.at(f"{path}.price", f"{price:g} is not a price")
    node = decode_node(backend.decoder, group.node, f"{path}.node")
    return NodeGroup(group.name, node, group.max_count or MOST_NODES, price)


def _node_groups(
    there: Backend,
    work: Work,
    request: pb.NodeGroupsRequest,
    groups: Sequence[NodeGroup],
    progress: SlotProgress,
) -> pb.NodeGroupsResponse:
    pods = [
        subject(there.decoder, work.tree, source, f"pods[{at}]") for at, source in enumerate(request.pods)
    ]
    profiles = work.engine.profiles
    profile_of = partial(profiles.find if pods else profiles.of_pod, request.profile)
    waiting, warnings = (pods, ()) if pods else pending(work.engine, profile_of)
    looking = NodeGroups(work, waiting, profile_of, seed=there.seed(request.seed))
    looking.place_existing(progress)
    return pb.NodeGroupsResponse(
        provenance=_provenance(there, work),
        warnings=warnings,
        placed_count=looking.placed,
        unplaced=map(_left_over, looking.rest),
        options=[
            pb.NodeGroupOption(
                group=option.group.name,
                node_count=option.count,
                price=option.price,
                left_over=map(_left_over, option.left_over),
            )
            for option in looking.options(groups, progress)
        ],
    )


def _left_over(left: LeftOver) -> pb.LeftOverPod:
    status = None if left.status.ok else status_message(left.status, left.message)
    return pb.LeftOverPod(pod=pod_reference(left.pod), status=status)


def _provenance(there: Backend, work: Work) -> objects_pb2.Provenance:
    return there.provenance(0, work.tree.snapshot.nodes.epoch)
