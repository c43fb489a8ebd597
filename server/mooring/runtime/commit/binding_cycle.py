"""From a reservation to the bound pod, or back: every way out confirms the reservation or releases it.

Mirrors ``bindingCycle`` and ``unreserveAndForget`` in ``schedule_one.go``. Unlike there, a binding whose
unknown outcome keeps its place until the pod itself was read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from mooring.framework import SUCCESS, Caller, Clock, Pod, Status
from mooring.framework.cluster_api import ClusterApi
from mooring.framework.cluster_events import PodRecordChange, StateChange
from mooring.framework.errors import (
    DeadlineExceededError,
    MooringError,
    NotFoundError,
    PluginFailureError,
    UnavailableError,
    bound_elsewhere,
    node_not_found,
)
from mooring.framework.handle import AlwaysLeader, BindingAnswer, BindingEnded, Leadership, require_leader
from mooring.runtime.commit.clock import SystemClock
from mooring.runtime.commit.extension_points import Committed
from mooring.runtime.commit.outcome_resolver import Resolver
from mooring.runtime.commit.preconditions import may_be_placed, reject_leaving
from mooring.runtime.commit.reservations import Reservation, Reservations, ReservedBatch, Stage
from mooring.runtime.cycle.plugin_calls import NoDeadline, Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.waiting_pods import PodAtPermit

log = logging.getLogger(__name__)

Expect = Callable[[Pod, str], object]
"""Called with a pod and the node that it is about to be bound to."""

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two attempts to learn an outcome; doubled from the first to the longest."""

RESERVED_PAUSE = 60.0
"""Seconds between two looks whether the pod of a plain reservation still exists."""

SETTLING_SECONDS = 10.0
"""Seconds after an unanswered binding in which the pod may still be bound: the API server has orders to give
the request up after this time."""


class BindingCycle:
    """The cycle that each reservation goes through. Safe from any thread; the caller has locked the pod.

    Args:
        engine: Whose state the pods are assumed in.
        leadership: Whether anything may be committed; always, by default.
        api: Finds out the outcome of a binding; None without an API server.
        settling_seconds: How long an unanswered binding may still take effect.
        gate: Raises a MooringError while nothing may be committed, also by the leader. It is open by default.

    Attributes:
        reservations: The pods that have a place and are not bound.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        leadership: Leadership | None = None,
        api: ClusterApi | None = None,
        clock: Clock | None = None,
        settling_seconds: float = SETTLING_SECONDS,
        gate: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine = engine
        self.reservations = Reservations()
        self._waiting = engine.profiles.waiting
        self._leadership = leadership or AlwaysLeader()
        self._api = api
        self._clock = clock or SystemClock()
        self._settling = settling_seconds
        self._gate = gate
        self._resolver = Resolver(self._resolve, self._clock)
        engine.state.subscribe(self._heard)

    def stop(self) -> None:
        """Find out no more outcomes: the process ends."""
        self._resolver.stop()

    def has_open_bindings(self) -> bool:
        """Return whether a binding was sent, or is about to be, and its outcome is not known."""
        counts = self.reservations.count_by_stage()
        return bool(counts[Stage.BINDING] or counts[Stage.UNKNOWN])

    def require_leader(self) -> None:
        """Require the lease; raises UnavailableError if another process holds it (NOT_LEADER)."""
        require_leader(self._leadership)

    def require_may_commit(self) -> None:
        """Require the lease, and what the gate requires; what is given back needs the lease alone. Raises
        MooringError if another process holds it (NOT_LEADER), or the gate is closed.
        """
        self.require_leader()
        self._gate()

    def reserve(self, reservation: Reservation, progress: Progress | None) -> Status:
        """Run Reserve for a pod that was just assumed; nothing is left of it unless that succeeds."""
        commit = reservation.commit
        self.reservations.add_reservation(reservation)
        try:
            status = commit.reserve(self.engine.calls(commit.profile, progress))
        except BaseException:
            self.release_reservation(reservation)
            raise
        if not status.ok:
            self.release_reservation(reservation)
        return status

    def permit(self, reservation: Reservation, progress: Progress | None) -> Status:
        """Run Permit: Success also when the pod has to wait, which ``finish_binding`` waits for."""
        commit = reservation.commit
        if not commit.profile.permit:
            return SUCCESS
        waiting = PodAtPermit(commit.pod, commit.node_name, self._clock)
        self._waiting.ask(waiting)
        with self._released_on_error(reservation):
            status, seconds = commit.permit(self.engine.calls(commit.profile, progress))
        if not status.ok:
            self.release_reservation(reservation)
        elif seconds:
            self._waiting.begin(waiting, seconds)
        else:
            self._waiting.leave(reservation.uid)
        return status

    def finish_binding(
        self, reservation: Reservation, progress: Progress | None, expect: Expect | None = None
    ) -> Committed:
        """Wait for Permit, then PreBind, Bind and PostBind.

        ``expect`` gets the pod and its node first if either of the first two takes its time. Raises
        MooringError if a plugin or the binding failed; the reservation is released, or, when it is unknown
        whether the pod is bound, kept until that is known.
        """
        commit = reservation.commit
        calls = self.engine.calls(commit.profile, progress)
        commit.cycle_state.write(Caller, Caller(calls.check))
        with self._released_on_error(reservation):
            plugins = commit.pre_flight(calls) if reservation.busy is None else reservation.busy
            if expect is not None and (plugins or self._waiting.waits(reservation.uid)):
                expect(commit.pod, commit.node_name)
            status = self._waiting.wait(reservation.uid, (progress or NoDeadline()).check)
            if status.ok:
                status = commit.pre_bind(plugins, calls)
            if status.ok:
                self._check_again(reservation)
                calls.check()
        if not status.ok:
            self.release_reservation(reservation)
            return Committed(status)
        return self.send_binding(reservation, progress)

    def send_binding(self, reservation: Reservation, progress: Progress | None) -> Committed:
        """Bind and PostBind alone; raises MooringError as ``finish_binding``. Repeating a binding is safe."""
        commit = reservation.commit
        # An earlier binding's outcome stays unknown although a later one was rejected.
        sent_before = reservation.stage is Stage.UNKNOWN
        reservation.stage = Stage.BINDING
        try:
            committed = commit.bind(self.engine.calls(commit.profile, progress))
        except Exception as error:
            self._end_unbound(reservation, unknown=sent_before or self._leaves_it_open(error))
            raise
        if committed.status.ok:
            self._confirm(reservation)
        else:
            self._end_unbound(reservation, unknown=sent_before)
        return committed

    def begin_binding(self, reservation: Reservation, progress: Progress, ended: BindingEnded) -> bool:
        """Do what ``finish_binding`` does, up to the binding, without waiting for anything. The pod doesn't
        wait at Permit.

        False, and nothing is sent, where something has to be waited for: ``finish_binding`` goes on.
        ``ended`` gets the answer, for ``end_binding``, from the thread that reads the API server's answers.
        If it raises MooringError, nothing was sent, and the reservation is released.
        """
        commit = reservation.commit
        if not commit.profile.binds_at_once:
            return False
        calls = self.engine.calls(commit.profile, progress)
        try:
            if reservation.busy is None:
                reservation.busy = commit.pre_flight(calls)
            if reservation.busy:
                return False
            # The sender checks that this process leads, at the last moment.
            self._check_place(reservation)
            return commit.begin_bind(calls, ended)
        except BaseException:
            self.release_reservation(reservation)
            raise

    def end_binding(self, reservation: Reservation, answer: BindingAnswer) -> Committed:
        """End a reservation whose binding was begun and has this answer; may block. Raises MooringError as
        ``finish_binding`` does.
        """
        commit = reservation.commit
        try:
            committed = commit.end_bind(answer)
        except Exception as error:
            self._end_unbound(reservation, unknown=self._leaves_it_open(error))
            raise
        self._confirm(reservation)
        return committed

    def hold_reservation(self, reservation: Reservation) -> None:
        """Keep the place until it is bound or released, or the pod is gone."""
        reservation.stage = Stage.RESERVED
        record = self.engine.state.snapshot.pods.get(reservation.uid)
        if record is None or not record.assumed:
            # The end of the pod, or its binding by another client, came before anything listened.
            self._resolver.resolve_later(reservation, 0.0)
        elif self._api is not None:
            self._resolver.resolve_later(reservation, RESERVED_PAUSE)

    def hold_batch(self, batch: ReservedBatch) -> None:
        """Do as ``hold_reservation`` does, for pods for which no plugin reserves anything."""
        self.reservations.add_batch(batch)
        records = self.engine.state.snapshot.pods.records
        gone = [uid for uid in batch.uids if (found := records.get(uid)) is None or not found.assumed]
        self._resolve_soon(batch, gone)
        if self._api is not None:
            self._resolver.resolve_later(batch, RESERVED_PAUSE)

    def release_reservation(self, reservation: Reservation) -> None:
        """Unreserve, and take the assumption back."""
        self._waiting.leave(reservation.uid)
        commit = reservation.commit
        commit.unreserve(self.engine.calls(commit.profile))
        self.reservations.remove_reservation(reservation)
        self.engine.state.forget(reservation.uid)

    def _confirm(self, reservation: Reservation) -> None:
        """Note that the pod is bound: the place is its own until the cluster says otherwise."""
        self.reservations.remove_reservation(reservation)
        commit = reservation.commit
        commit.post_bind(commit.begun[0] if commit.begun else self.engine.calls(commit.profile))

    @contextmanager
    def _released_on_error(self, reservation: Reservation) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.release_reservation(reservation)
            raise

    def _leaves_it_open(self, error: Exception) -> bool:
        """Return whether the pod may be bound although Bind failed like this."""
        if isinstance(error, PluginFailureError):
            return self._api is not None
        unanswered = isinstance(error, UnavailableError) and error.reason == "API_SERVER_UNAVAILABLE"
        return unanswered or isinstance(error, DeadlineExceededError)

    def _end_unbound(self, reservation: Reservation, *, unknown: bool) -> None:
        """Bind did not succeed; the place is kept as long as the pod may still be bound."""
        if not unknown:
            self.release_reservation(reservation)
            return
        reservation.stage = Stage.UNKNOWN
        reservation.unknown_since = self._clock.monotonic()
        if self._api is not None:
            self._resolver.resolve_later(reservation, FIRST_PAUSE)

    def _check_again(self, reservation: Reservation) -> None:
        """Check right before the binding, since PreBind may have taken long."""
        self.require_may_commit()
        self._check_place(reservation)

    def _check_place(self, reservation: Reservation) -> None:
        """Raise what is wrong if the pod can no longer be bound in its place."""
        commit, snapshot = reservation.commit, self.engine.state.snapshot
        if commit.node_name not in snapshot.nodes.index:
            raise node_not_found(commit.node_name)
        record = snapshot.pods.get(reservation.uid)
        if record is None:
            raise pod_not_found(commit.pod)
        if not may_be_placed(record.kind.base.template):
            reject_leaving(record.pod)
        if record.node_name != commit.node_name:
            raise bound_elsewhere(commit.pod.key, record.node_name)

    def _heard(self, change: StateChange) -> None:
        """Resolve a pod with a reservation soon when it was deleted or bound."""
        if not isinstance(change, PodRecordChange) or not (change.gone or change.record.node_name):
            return
        reservation = self.reservations.find_reservation(change.record.uid)
        if reservation is None:
            return
        if change.gone and (waiting := self._waiting.get(reservation.uid)) is not None:
            waiting.reject("", "removed")
        # A call that is binding the pod finds out: the event of a binding comes before its answer.
        if reservation.stage is not Stage.BINDING:
            self._resolver.resolve_later(reservation, 0.0)

    def _resolve_soon(self, batch: ReservedBatch, uids: Iterable[str]) -> None:
        """Resolve those of some pods of a batch that still have their place from it."""
        for uid in uids:
            reservation = self.reservations.find_reservation(uid)
            if reservation is not None and reservation.batch is batch:
                self._resolver.resolve_later(reservation, 0.0)

    def _resolve(self, found: Reservation | ReservedBatch, attempt: int) -> float | None:
        """Resolve a reservation that no call is working on, or each of a batch; None once it has ended."""
        if isinstance(found, ReservedBatch):
            self._resolve_soon(found, found.uids)
            return None
        return self._resolve_one(found, attempt)

    def _resolve_one(self, reservation: Reservation, attempt: int) -> float | None:
        pause = min(FIRST_PAUSE * 2.0 ** min(attempt, 10), LONGEST_PAUSE)
        if not self.reservations.try_lock_pod(reservation.uid):
            return pause
        try:
            if self.reservations.find_reservation(reservation.uid) is not reservation:
                return None
            if self._settle(reservation):
                return None
            return RESERVED_PAUSE if reservation.stage is Stage.RESERVED else pause
        finally:
            self.reservations.unlock_pod(reservation.uid)

    def _settle(self, reservation: Reservation) -> bool:
        """End the reservation if what became of its pod is known."""
        try:
            found = self._find(reservation)
        except MooringError as error:
            log.warning(
                "the outcome of binding pod %s is not known yet: %s", reservation.commit.pod.key, error
            )
            return False
        if found is not None and found.metadata.uid == reservation.uid:
            if found.spec.node_name == reservation.commit.node_name:
                self._confirm(reservation)
                return True
            if not found.spec.node_name and not self._is_settled(reservation):
                return False
        self.release_reservation(reservation)
        return True

    def _find(self, reservation: Reservation) -> Pod | None:
        """Return the pod as the state confirmed it, else as the API server has it; None = there is none."""
        pod = reservation.commit.pod
        record = self.engine.state.snapshot.pods.get(reservation.uid)
        if record is None or not record.assumed:
            return record.pod if record is not None else None
        return self._api.read_pod(pod.metadata.namespace, pod.metadata.name) if self._api else pod

    def _is_settled(self, reservation: Reservation) -> bool:
        """Return whether a pod that isn't bound now won't be by a binding that is still on its way."""
        if reservation.stage is Stage.RESERVED:
            return False
        return self._clock.monotonic() - reservation.unknown_since >= self._settling


def pod_not_found(pod: Pod) -> NotFoundError:
    """Return the error for a pod that is gone."""
    return NotFoundError(f"pod {pod.key} is gone; forget it", reason="POD_NOT_FOUND", pod=pod.key)
