"""Decisions that count: the one way by which every pod gets its place, is bound, or gives the place back.

The RPCs Reserve, Unreserve, Bind and Schedule, the extender's bind verb and the second scheduler all come
this way. Mirrors ``scheduleOnePod`` in ``schedule_one.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import BindOutcome, CycleState, Pod, Status
from mooring.framework.errors import (
    InvalidArgumentError,
    PermissionDeniedError,
    UnavailableError,
    bound_elsewhere,
)
from mooring.runtime.binding_cycle import BindingCycle, Expect
from mooring.runtime.commit import Commit, Committed
from mooring.runtime.evaluation import Evaluation
from mooring.runtime.fitting import (
    current_pod,
    no_longer_fits,
    placed_pod,
    refuse_placed,
    still_fits,
)
from mooring.runtime.placement import Placement, reserve_in_turn
from mooring.runtime.profile import Profile
from mooring.runtime.progress import Progress, Unhurried
from mooring.runtime.reservations import Reservation, Stage
from mooring.runtime.rows import Rows


class Committer:
    """Places pods. Safe from any thread.

    Args:
        cycle: What happens to a pod once it has its node.

    Attributes:
        reservations: The pods that have a place and are not bound.
    """

    def __init__(self, cycle: BindingCycle) -> None:
        self._cycle = cycle
        self._engine = cycle.engine
        self.reservations = cycle.reservations

    def require_leader(self) -> None:
        """Refuse to go on without the lease.

        Raises:
            UnavailableError: Another process holds it (NOT_LEADER).
        """
        self._cycle.require_leader()

    def place(
        self, pod: Pod, profile: Profile, rows: Rows, *, seed: int = 0, progress: Progress | None = None
    ) -> Placement:
        """Decide, assume and bind ``pod``.

        Raises:
            FailedPreconditionError: It has a node already, is being deleted or is gated.
            MooringError: The decision or the binding failed.
        """
        begun = self.begin(pod, profile, rows, seed=seed, progress=progress)
        if begun.reservation is None:
            return begun
        return Placement(begun.choice, committed=self.finish(begun.reservation, progress))

    def begin(
        self, pod: Pod, profile: Profile, rows: Rows, *, seed: int = 0, progress: Progress | None = None
    ) -> Placement:
        """The scheduling cycle: decide, assume, Reserve, Permit.

        The reservation that it gives belongs to the caller, who calls ``finish`` exactly once, from any
        thread; until then every other call about the pod waits.

        Raises:
            MooringError: As ``place``; nothing is left of it.
        """
        return self._decide(pod, profile, rows, seed, progress, keep=False)

    def finish(
        self, reservation: Reservation, progress: Progress | None = None, expect: Expect | None = None
    ) -> Committed:
        """The binding cycle: wait for Permit, PreBind, Bind, PostBind; ``expect`` as there.

        Raises:
            MooringError: A plugin or the binding failed; what was reserved is released, or kept for as long
                as nobody knows whether the pod is bound.
        """
        try:
            return self._cycle.finish(reservation, progress, expect)
        finally:
            self.reservations.end_turn(reservation.uid)

    def place_reserved(
        self,
        pod: Pod,
        profile: Profile,
        rows: Rows,
        *,
        seed: int = 0,
        owner: str = "",
        progress: Progress | None = None,
    ) -> Placement:
        """Decide, assume and reserve ``pod``; ``bind`` or ``unreserve`` ends the reservation.

        Raises:
            MooringError: As ``place``; nothing is left of it.
        """
        placement = self._decide(pod, profile, rows, seed, progress, keep=True)
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
    ) -> Sequence[Placement]:
        """``place_reserved`` for the first of some pods, see ``reserve_in_turn``."""
        self._cycle.require_leader()
        pods = templates, indices, names, uids
        return reserve_in_turn(self._cycle, *pods, seed=seed, owner=owner, progress=progress)

    def reserve(
        self, pod: Pod, node_name: str, profile: Profile, *, owner: str = "", progress: Progress | None = None
    ) -> Status:
        """Assume ``pod`` on the node that somebody chose and run Reserve. Repeating it is safe.

        Returns:
            Success, or why the node or a Reserve plugin won't have it; then nothing is reserved.

        Raises:
            NotFoundError: The node is unknown (NODE_NOT_FOUND).
            FailedPreconditionError: The pod is on another node, being deleted or gated.
        """
        self._cycle.require_leader()
        with self.reservations.turn(pod.metadata.uid, progress or Unhurried()):
            known = self.reservations.get(pod.metadata.uid)
            if known is not None:
                if known.commit.node_name != node_name:
                    raise bound_elsewhere(pod.key, known.commit.node_name)
                return Status()
            reservation, evaluation = self._assumed(pod, node_name, profile, progress)
            if reservation is None:
                return evaluation.status
            reservation.owner = owner
            status = self._cycle.reserve(reservation, progress)
            if status.ok:
                self._cycle.hold(reservation)
            return status

    def unreserve(
        self, namespace: str, name: str, uid: str, *, owner: str = "", progress: Progress | None = None
    ) -> bool:
        """End the reservation of exactly this pod.

        Returns:
            Whether there was one.

        Raises:
            InvalidArgumentError: The UID is that of a pod of another name.
            PermissionDeniedError: Somebody else reserved it.
            FailedPreconditionError: The pod is bound (POD_BOUND_ELSEWHERE).
            UnavailableError: Whether it is bound is not known yet.
        """
        self._cycle.require_leader()
        with self.reservations.turn(uid, progress or Unhurried()):
            reservation = self.reservations.get(uid)
            pod = reservation.commit.pod if reservation is not None else placed_pod(self._engine.state, uid)
            if pod is None:
                return False
            if pod.key != f"{namespace}/{name}":
                raise InvalidArgumentError.at("pod.uid", f"is not that of pod {namespace}/{name}")
            if reservation is None:
                raise bound_elsewhere(pod.key, pod.spec.node_name)
            if reservation.owner not in ("", owner):
                raise PermissionDeniedError(f"pod {pod.key} was reserved by somebody else", pod=pod.key)
            if reservation.stage is Stage.UNKNOWN:
                raise UnavailableError(
                    f"whether pod {pod.key} is bound is not known yet; repeat the call",
                    reason="API_SERVER_UNAVAILABLE",
                    pod=pod.key,
                )
            self._cycle.release(reservation)
            return True

    def bind(
        self, pod: Pod, node_name: str, profile: Profile, *, progress: Progress | None = None
    ) -> Committed:
        """Bind ``pod`` to the node that somebody chose. Repeating it for the same node is safe.

        Raises:
            NotFoundError: The node is unknown (NODE_NOT_FOUND).
            FailedPreconditionError: The pod is on another node, being deleted or gated, or the filters refuse
                the node by now (NODE_NO_LONGER_FITS).
            MooringError: The binding failed.
        """
        self._cycle.require_leader()
        with self.reservations.turn(pod.metadata.uid, progress or Unhurried()):
            known = self.reservations.get(pod.metadata.uid)
            if known is not None:
                return self._bind_reserved(known, node_name, progress)
            # What was read before the turn may be of while somebody tried to bind the pod.
            pod = current_pod(self._engine.state, pod)
            if pod.spec.node_name == node_name:
                return self._bind_again(pod, node_name, profile, progress)
            reservation, evaluation = self._assumed(pod, node_name, profile, progress)
            if reservation is None:
                raise no_longer_fits(pod, node_name, evaluation)
            status = self._cycle.reserve(reservation, progress)
            return self._bound(reservation, status, progress)

    def _decide(
        self, pod: Pod, profile: Profile, rows: Rows, seed: int, progress: Progress | None, *, keep: bool
    ) -> Placement:
        """Decide, assume, Reserve; then hold the reservation (``keep``), or go on to Permit with the turn."""
        self._cycle.require_leader()
        uid = pod.metadata.uid
        self.reservations.take_turn(uid, progress or Unhurried())
        handed_on = False
        try:
            refuse_placed(self._engine.state, pod)
            choice = self._engine.decide_and_assume(pod, profile, rows, seed=seed, progress=progress)
            if choice.node_name is None:
                return Placement(choice)
            reservation = Reservation(Commit(profile, choice.notes, pod, choice.node_name))
            status = self._cycle.reserve(reservation, progress)
            if status.ok and keep:
                self._cycle.hold(reservation)
            elif status.ok:
                status = self._cycle.permit(reservation, progress)
                handed_on = status.ok
            return Placement(choice, reservation) if status.ok else Placement(choice, None, Committed(status))
        finally:
            if not handed_on:
                self.reservations.end_turn(uid)

    def _bind_reserved(
        self, reservation: Reservation, node_name: str, progress: Progress | None
    ) -> Committed:
        commit = reservation.commit
        if commit.node_name != node_name:
            raise bound_elsewhere(commit.pod.key, commit.node_name)
        if reservation.stage is Stage.UNKNOWN:
            return self._cycle.send(reservation, progress)
        reservation.stage = Stage.BINDING
        evaluation = self._refiltered(reservation, progress)
        if not len(evaluation.feasible):
            self._cycle.release(reservation)
            raise no_longer_fits(commit.pod, node_name, evaluation)
        return self._bound(reservation, Status(), progress)

    def _refiltered(self, reservation: Reservation, progress: Progress | None) -> Evaluation:
        commit = reservation.commit
        try:
            return still_fits(self._engine, commit.pod, commit.node_name, commit.profile, progress)
        except BaseException:
            self._cycle.release(reservation)
            raise

    def _bind_again(self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None) -> Committed:
        """A pod that was bound there before: nothing to do once the cluster says so, too."""
        record = self._engine.state.snapshot.pods.get(pod.metadata.uid)
        if record is None or not record.assumed:
            return Committed(Status(), BindOutcome.ALREADY_BOUND)
        commit = Commit(profile, CycleState(), pod, node_name)
        self.reservations.add(reservation := Reservation(commit, Stage.UNKNOWN))
        return self._cycle.send(reservation, progress)

    def _bound(self, reservation: Reservation, status: Status, progress: Progress | None) -> Committed:
        if status.ok:
            status = self._cycle.permit(reservation, progress)
        return self._cycle.finish(reservation, progress) if status.ok else Committed(status)

    def _assumed(
        self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None
    ) -> tuple[Reservation | None, Evaluation]:
        """A reservation on the node, which has just been filtered; None when the pod doesn't fit."""
        refuse_placed(self._engine.state, pod)
        evaluation = self._engine.assume_if_fits(pod, node_name, profile, progress)
        commit = Commit(profile, evaluation.state, pod, node_name)
        return (Reservation(commit) if len(evaluation.feasible) else None), evaluation
