"""Decisions that count: the one way by which every pod gets its place, is bound, or gives the place back.

The RPCs Reserve, Unreserve, Bind and Schedule, the extender's bind verb and the second scheduler all come
this way. Mirrors ``scheduleOnePod`` in ``schedule_one.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import SUCCESS, BindOutcome, CycleState, Pod, Status
from mooring.framework.errors import (
    InvalidArgumentError,
    PermissionDeniedError,
    UnavailableError,
    bound_elsewhere,
)
from mooring.framework.handle import BindingAnswer, BindingEnded
from mooring.runtime.commit.binding_cycle import BindingCycle, Expect
from mooring.runtime.commit.extension_points import Commit, Committed
from mooring.runtime.commit.placement import (
    PlacedPod,
    ReservedPod,
    begin_placing_in_turn,
    place_held,
    reserve_in_turn,
)
from mooring.runtime.commit.preconditions import (
    current_pod,
    no_longer_fits,
    placed_pod,
    reject_placed,
    still_fits,
)
from mooring.runtime.commit.reservations import Reservation, Stage
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.choice import PlacedColumns
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.plugin_calls import NoDeadline, Progress
from mooring.runtime.profiles.profile import Profile


class Committer:
    """Places pods. Safe from any thread.

    Args:
        cycle: Takes a pod from its node to its binding.

    Attributes:
        reservations: The pods that have a place and are not bound.
    """

    def __init__(self, cycle: BindingCycle) -> None:
        self._cycle = cycle
        self._engine = cycle.engine
        self.reservations = cycle.reservations

    def require_leader(self) -> None:
        """Require the lease; raises UnavailableError if another process holds it (NOT_LEADER)."""
        self._cycle.require_leader()

    def require_may_commit(self) -> None:
        """Require that pods may be placed; see ``BindingCycle``."""
        self._cycle.require_may_commit()

    def place_pod(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> PlacedPod:
        """Decide, assume and bind ``pod``. Raises FailedPreconditionError if it has a node already, is being
        deleted or is gated, and MooringError if the decision or the binding failed.
        """
        begun = self.begin_placing(pod, profile, candidates, seed=seed, progress=progress)
        if begun.reservation is None:
            return begun
        return PlacedPod(begun.choice, committed=self.finish_binding(begun.reservation, progress))

    def begin_placing(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> PlacedPod:
        """Run the scheduling cycle: decide, assume, Reserve, Permit.

        The caller owns the reservation and calls ``finish_binding`` exactly once, from any thread; until then
        every other call about the pod waits. Raises MooringError as ``place_pod`` does; nothing is left of
        it.
        """
        return self._decide(pod, profile, candidates, seed, progress, keep=False)

    def begin_placing_member(
        self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None = None
    ) -> Reservation | Status:
        """Assume ``pod`` on the node that the decision about its group selected; then Reserve and Permit.

        As ``begin_placing``, the caller owns the reservation and calls ``finish_binding`` exactly once.
        Returns the reservation; or why the node or a plugin rejects the pod, which then holds nothing. Raises
        MooringError as ``reserve_pod`` does.
        """
        self._cycle.require_may_commit()
        uid = pod.metadata.uid
        self.reservations.lock_pod(uid, progress or NoDeadline())
        handed_on = False
        try:
            reject_placed(self._engine.state, pod)
            evaluation = self._engine.assume_if_fits(pod, node_name, profile.grouped, progress)
            if not evaluation.feasible_count:
                return evaluation.status
            reservation = Reservation(Commit(profile, evaluation.state, pod, node_name))
            status = self._cycle.reserve(reservation, progress)
            if status.ok:
                status = self._cycle.permit(reservation, progress)
            handed_on = status.ok
            return reservation if status.ok else status
        finally:
            if not handed_on:
                self.reservations.unlock_pod(uid)

    def finish_binding(
        self, reservation: Reservation, progress: Progress | None = None, expect: Expect | None = None
    ) -> Committed:
        """Run the binding cycle: wait for Permit, PreBind, Bind, PostBind; ``expect`` as in ``BindingCycle``.
        Raises MooringError if a plugin or the binding failed; what was reserved is released, or kept for as
        long as it is unknown whether the pod is bound.
        """
        try:
            return self._cycle.finish_binding(reservation, progress, expect)
        finally:
            self.reservations.unlock_pod(reservation.uid)

    def begin_binding(self, reservation: Reservation, progress: Progress, ended: BindingEnded) -> bool:
        """Begin ``finish_binding`` without waiting; False, and nothing is sent, if it has to be called.

        ``ended`` gets the answer, with which ``end_binding`` is to be called exactly once, from any thread.
        If it raises MooringError, nothing was sent, and the reservation is released.
        """
        try:
            return self._cycle.begin_binding(reservation, progress, ended)
        except BaseException:
            self.reservations.unlock_pod(reservation.uid)
            raise

    def end_binding(self, reservation: Reservation, answer: BindingAnswer) -> Committed:
        """Finish a binding that was begun and has this answer, as ``finish_binding`` would. It blocks where
        further requests have to be made. Raises MooringError as ``finish_binding`` does.
        """
        try:
            return self._cycle.end_binding(reservation, answer)
        finally:
            self.reservations.unlock_pod(reservation.uid)

    def place_reserved(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        seed: int = 0,
        owner: str = "",
        progress: Progress | None = None,
    ) -> PlacedPod:
        """Decide, assume and reserve ``pod``; ``bind_pod`` or ``unreserve_pod`` ends the reservation. Raises
        MooringError as ``place_pod`` does; nothing is left of it.
        """
        placement = self._decide(pod, profile, candidates, seed, progress, keep=True)
        if placement.reservation is not None:
            placement.reservation.owner = owner
        return placement

    def place_reserved_in_turn(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        names: Sequence[str],
        uids: Sequence[str],
        *,
        seed: int = 0,
        owner: str = "",
        progress: Progress | None = None,
    ) -> PlacedColumns:
        """``place_reserved`` for the first of some pods, see ``reserve_in_turn``."""
        self._cycle.require_may_commit()
        pods = templates, indices, names, uids
        return reserve_in_turn(self._cycle, *pods, seed=seed, owner=owner, progress=progress)

    def begin_placing_in_turn(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        pods: Sequence[Pod],
        progress: Progress | None = None,
    ) -> list[PlacedPod]:
        """``begin_placing`` for the first of some pods, see ``placement.begin_placing_in_turn``."""
        self._cycle.require_may_commit()
        return begin_placing_in_turn(self._cycle, templates, indices, pods, progress=progress)

    def reserve_pod(
        self, pod: Pod, node_name: str, profile: Profile, *, owner: str = "", progress: Progress | None = None
    ) -> ReservedPod:
        """Assume ``pod`` on the node that the caller selected and run Reserve. Repeating it is safe.

        Returns:
            Success, or why the node or a Reserve plugin won't have it; then nothing is reserved.

        Raises:
            NotFoundError: The node is unknown (NODE_NOT_FOUND).
            FailedPreconditionError: The pod is on another node, being deleted or gated.
        """
        self._cycle.require_may_commit()
        with self.reservations.locked_pod(pod.metadata.uid, progress or NoDeadline()):
            held = place_held(self._engine.state, self.reservations, pod.metadata.uid)
            if held is not None and held.node_name == node_name:
                return ReservedPod(SUCCESS, held)
            reservation, evaluation = self._assumed(pod, node_name, profile, progress)
            if reservation is None:
                return ReservedPod(evaluation.status)
            reservation.owner = owner
            status = self._cycle.reserve(reservation, progress)
            if status.ok:
                self._cycle.hold_reservation(reservation)
            return ReservedPod(status)

    def unreserve_pod(
        self, namespace: str, name: str, uid: str, *, owner: str = "", progress: Progress | None = None
    ) -> bool:
        """``unreserve`` for exactly this pod. Raises InvalidArgumentError if the UID is that of a pod of
        another name, and MooringError as ``unreserve`` does.
        """
        return self.unreserve(uid, key=f"{namespace}/{name}", owner=owner, progress=progress)

    def unreserve(
        self, uid: str, *, key: str = "", owner: str = "", progress: Progress | None = None
    ) -> bool:
        """End the reservation of the pod with this UID, if its namespace/name is ``key``; "" = any.

        Returns:
            Whether there was one.

        Raises:
            InvalidArgumentError: The UID is that of a pod of another name.
            PermissionDeniedError: Another client reserved it.
            FailedPreconditionError: The pod is bound (POD_BOUND_ELSEWHERE).
            UnavailableError: Whether it is bound is not known yet.
        """
        self._cycle.require_leader()
        with self.reservations.locked_pod(uid, progress or NoDeadline()):
            reservation = self.reservations.find_reservation(uid)
            pod = reservation.commit.pod if reservation is not None else placed_pod(self._engine.state, uid)
            if pod is None:
                return False
            if key and pod.key != key:
                raise InvalidArgumentError.at("pod.uid", f"is not that of pod {key}")
            if reservation is None:
                raise bound_elsewhere(pod.key, pod.spec.node_name)
            if reservation.owner not in ("", owner):
                raise PermissionDeniedError(f"pod {pod.key} was reserved by another client", pod=pod.key)
            if reservation.stage is Stage.UNKNOWN:
                raise UnavailableError(
                    f"whether pod {pod.key} is bound is not known yet; repeat the call",
                    reason="API_SERVER_UNAVAILABLE",
                    pod=pod.key,
                )
            self._cycle.release_reservation(reservation)
            return True

    def bind_pod(
        self, pod: Pod, node_name: str, profile: Profile, *, progress: Progress | None = None
    ) -> Committed:
        """Bind ``pod`` to the node that the caller selected. Repeating it for the same node is safe.

        Raises:
            NotFoundError: The node is unknown (NODE_NOT_FOUND).
            FailedPreconditionError: The pod is on another node, being deleted or gated, or the filters reject
                the node by now (NODE_NO_LONGER_FITS).
            MooringError: The binding failed.
        """
        self._cycle.require_may_commit()
        with self.reservations.locked_pod(pod.metadata.uid, progress or NoDeadline()):
            known = self.reservations.find_reservation(pod.metadata.uid)
            if known is not None:
                return self._bind_reserved(known, node_name, progress)
            # Anything read before the pod was locked may be out of date: another call may have bound it.
            pod = current_pod(self._engine.state, pod)
            if pod.spec.node_name == node_name:
                return self._bind_again(pod, node_name, profile, progress)
            reservation, evaluation = self._assumed(pod, node_name, profile, progress)
            if reservation is None:
                raise no_longer_fits(pod, node_name, evaluation)
            status = self._cycle.reserve(reservation, progress)
            return self._bound(reservation, status, progress)

    def _decide(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        seed: int,
        progress: Progress | None,
        *,
        keep: bool,
    ) -> PlacedPod:
        """Decide, assume, Reserve; then hold the place (``keep``), or Permit, and the pod stays locked."""
        self._cycle.require_may_commit()
        uid = pod.metadata.uid
        self.reservations.lock_pod(uid, progress or NoDeadline())
        handed_on = False
        try:
            reject_placed(self._engine.state, pod)
            choice = self._engine.place(pod, profile, candidates, seed=seed, progress=progress)
            if choice.node_name is None:
                return PlacedPod(choice)
            reservation = Reservation(Commit(profile, choice.written, pod, choice.node_name))
            status = self._cycle.reserve(reservation, progress)
            if status.ok and keep:
                self._cycle.hold_reservation(reservation)
            elif status.ok:
                status = self._cycle.permit(reservation, progress)
                handed_on = status.ok
            return PlacedPod(choice, reservation) if status.ok else PlacedPod(choice, None, Committed(status))
        finally:
            if not handed_on:
                self.reservations.unlock_pod(uid)

    def _bind_reserved(
        self, reservation: Reservation, node_name: str, progress: Progress | None
    ) -> Committed:
        commit = reservation.commit
        if commit.node_name != node_name:
            raise bound_elsewhere(commit.pod.key, commit.node_name)
        if reservation.stage is Stage.UNKNOWN:
            return self._cycle.send_binding(reservation, progress)
        reservation.stage = Stage.BINDING
        evaluation = self._refiltered(reservation, progress)
        if not evaluation.feasible_count:
            self._cycle.release_reservation(reservation)
            raise no_longer_fits(commit.pod, node_name, evaluation)
        return self._bound(reservation, Status(), progress)

    def _refiltered(self, reservation: Reservation, progress: Progress | None) -> Evaluation:
        commit = reservation.commit
        try:
            return still_fits(self._engine, commit.pod, commit.node_name, commit.profile, progress)
        except BaseException:
            self._cycle.release_reservation(reservation)
            raise

    def _bind_again(self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None) -> Committed:
        """Return a pod that was bound there before: nothing to do once the cluster says so, too."""
        record = self._engine.state.snapshot.pods.get(pod.metadata.uid)
        if record is None or not record.assumed:
            return Committed(Status(), BindOutcome.ALREADY_BOUND)
        commit = Commit(profile, CycleState(), pod, node_name)
        self.reservations.add_reservation(reservation := Reservation(commit, Stage.UNKNOWN))
        committed = self._cycle.send_binding(reservation, progress)
        return Committed(SUCCESS, BindOutcome.ALREADY_BOUND) if committed.status.ok else committed

    def _bound(self, reservation: Reservation, status: Status, progress: Progress | None) -> Committed:
        if status.ok:
            status = self._cycle.permit(reservation, progress)
        return self._cycle.finish_binding(reservation, progress) if status.ok else Committed(status)

    def _assumed(
        self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None
    ) -> tuple[Reservation | None, Evaluation]:
        """Return a reservation on the node, which has just been filtered; None when the pod doesn't fit."""
        reject_placed(self._engine.state, pod)
        evaluation = self._engine.assume_if_fits(pod, node_name, profile, progress)
        commit = Commit(profile, evaluation.state, pod, node_name)
        return (Reservation(commit) if evaluation.feasible_count else None), evaluation
