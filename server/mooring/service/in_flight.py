"""Pods in flight: kube-scheduler may bind them by now, and the state doesn't show them on a node yet.

kube-scheduler decides about one pod after the other and binds beside that (``schedule_one.go``). When it asks
an extender about the next pod, it has a node for the one before, but which one it has not said. A rule that
counts pods has to wait for that, or to count the pod on every node that it was let through to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from mooring.framework import Int32s, Part, Plugin, Pod
from mooring.framework.cluster_events import PodRecordChange, StateChange
from mooring.framework.internal import parts_of
from mooring.framework.objects import Condition
from mooring.framework.pod_table import PodRecord
from mooring.framework.state import ClusterState
from mooring.plugins.in_tree import UPSTREAM
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.plugin_calls import NoPlugins
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.service.calls.slots import SlotProgress
from mooring.telemetry.metrics import Metrics

WAIT_SHARE = 0.5
"""How much of the time that a call has it may wait for pods in flight; the rest is for its answer."""

MOST_SECONDS = 60.0
"""So long a pod counts of which nothing is heard."""

DOUBT_SECONDS = 1.0
"""So long a pod still counts after it was said to be unschedulable, which may be about the attempt before."""

_READ = Part.PODS | Part.AFFINITIES | Part.RESOURCES

_NOWHERE: Int32s = np.zeros(0, np.int32)


@dataclass(slots=True, eq=False)
class Flight:
    """One pod that may be bound to a node that it was let through to.

    Attributes:
        pod: The pod; None = whatever was asked of another process before this one began.
        until: When it stops to count, in seconds of ``time.monotonic``.
        places: The names of nodes, and which of them (int32[N]) it may be bound to.
        counts: A call has waited for it in vain, so the next ones count it and wait no more.
        beside: The pods that count while this one is decided about, with the nodes that each may be on.
    """

    pod: Pod | None
    until: float
    places: tuple[Sequence[str], Int32s] = ((), _NOWHERE)
    counts: bool = False
    beside: Sequence[tuple[Pod, Sequence[str]]] = ()

    def let_through(self, evaluation: Evaluation) -> None:
        """Take off for one of the nodes that are feasible."""
        self.places = evaluation.names, evaluation.rows[evaluation.feasible]

    def bind_to(self, name: str) -> None:
        """Leave this node alone."""
        self.places = (name,), np.zeros(1, np.int32)

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes that it may be bound to."""
        names, rows = self.places
        return [names[row] for row in rows.tolist()]


class PodsInFlight:
    """The pods in flight, each from its answer until it is known what became of it. Safe from any thread.

    A flight ends once the state has the pod on a node, and when the pod is gone or has failed: mooring could
    not bind it, its condition says so, or it is asked about again.

    Args:
        engine: Decides, over a state that a source follows.
        metrics: Where waits are counted.
        wait: Calls wait for the pods in flight before they count them.
    """

    def __init__(self, engine: Engine, metrics: Metrics, *, wait: bool) -> None:
        self._engine = engine
        self._metrics = metrics
        self._wait = wait
        self._deciding = threading.Lock()
        self._changed = threading.Condition()
        self._flights = {"": Flight(None, inf)} if wait else {}
        metrics.pods_in_flight.set_function(lambda: sum(map(bool, tuple(self._flights))))
        engine.state.subscribe(self._hear)

    @property
    def matter(self) -> bool:
        """Whether a profile has a rule for which pods in flight may matter."""
        return any(map(rules_of, self._engine.profiles.values()))

    @contextmanager
    def turn(self, pod: Pod, profile: Profile, budget: SlotProgress | NoPlugins) -> Iterator[Flight | None]:
        """Decide about ``pod``, which is in flight from then on if it is let through to a node.

        Where other pods matter to it, nobody else decides meanwhile.

        Yields:
            Its flight; None when something has to be waited for, and ``budget`` is ``NoPlugins``.

        Raises:
            DeadlineExceededError: Other calls took all the time.
        """
        if not reads_pods(profile, pod):
            with self._flying(pod) as flight:
                yield flight
            return
        if not self._deciding.acquire(timeout=_left(budget)):
            _check_late(budget)
            yield None
            return
        try:
            with self._flying(pod) as flight:
                if self._wait and not self._settled(flight, _left(budget)):
                    _check_late(budget)
                    yield None
                else:
                    flight.beside = self._beside(flight)
                    yield flight
        finally:
            self._deciding.release()

    @contextmanager
    def binding(self, uid: str, node_name: str) -> Iterator[None]:
        """Bind a pod through mooring: no other node is left to it, and then the state says how that ended."""
        flight = self._flights.get(uid)
        if flight is not None:
            flight.bind_to(node_name)
        try:
            yield
        finally:
            if self._flights.get(uid) is flight:
                self._end(uid)

    @contextmanager
    def _flying(self, pod: Pod) -> Iterator[Flight]:
        """Begin a flight of ``pod``, which ends its last one, and with the block where it gets nowhere."""
        uid, now = pod.metadata.uid, time.monotonic()
        for known, earlier in tuple(self._flights.items()):
            if known == uid or earlier.until <= now:
                self._end(known)
        flight = self._flights[uid] = Flight(pod, now + MOST_SECONDS)
        try:
            yield flight
        finally:
            if not len(flight.places[1]) and self._flights.get(uid) is flight:
                self._end(uid)

    def _end(self, uid: str) -> None:
        if uid in self._flights:
            with self._changed:
                self._flights.pop(uid, None)
                self._changed.notify_all()

    def _settled(self, own: Flight, patience: float) -> bool:
        """Wait until all flights but ``own`` have ended, for a share of ``patience`` (seconds).

        Returns:
            Whether none is left that has to be waited for: after a wait those that are left count.
        """
        began = time.monotonic()
        until = began + WAIT_SHARE * patience
        with self._changed:
            awaited = self._awaited(own)
            if not awaited or not patience:
                return not awaited
            while awaited and (now := time.monotonic()) < until:
                self._changed.wait(min(until, *(flight.until for flight in awaited)) - now)
                awaited = self._awaited(own)
            for flight in awaited:
                flight.counts = True
        self._metrics.flight_wait_duration[()].observe(time.monotonic() - began)
        self._metrics.flights_given_up[()].inc(sum(flight.pod is not None for flight in awaited))
        return True

    def _awaited(self, own: Flight) -> list[Flight]:
        now, flights = time.monotonic(), tuple(self._flights.values())
        return [one for one in flights if one is not own and not one.counts and one.until > now]

    def _beside(self, own: Flight) -> list[tuple[Pod, Sequence[str]]]:
        now, flights = time.monotonic(), tuple(self._flights.values())
        others = [flight for flight in flights if flight is not own and flight.until > now]
        return [(flight.pod, flight.nodes) for flight in others if flight.pod]

    def _hear(self, change: StateChange) -> None:
        """Hear what a source tells, under the state's lock."""
        if not isinstance(change, PodRecordChange):
            return
        uid, old, record = change.record.uid, change.old, change.record
        flight = self._flights.get(uid)
        if flight is None:
            return
        failed, nominated = _failure(record), record.kind.base.template.status.nominated_node_name
        if change.gone or record.node_name or record.kind.base.finished:
            self._end(uid)
        elif failed is not None and (old is None or failed != _failure(old)):
            seconds = DOUBT_SECONDS if failed.reason == "Unschedulable" else 0.0
            flight.until = min(flight.until, time.monotonic() + seconds)
        elif nominated in flight.nodes:
            # So kube-scheduler says where a pod goes whose binding takes long; on failure it takes it back.
            flight.bind_to(nominated)
            flight.until, flight.counts = inf, True
        elif flight.until == inf and not nominated:
            self._end(uid)
        with self._changed:
            self._changed.notify_all()


def _left(budget: SlotProgress | NoPlugins) -> float:
    """Return the seconds that there are to wait for anything; none without a budget for plugins."""
    return 0.0 if isinstance(budget, NoPlugins) else max(budget.deadline - time.monotonic(), 0.0)


def _check_late(budget: SlotProgress | NoPlugins) -> None:
    """Go on only if there never was any time to wait.

    Raises:
        DeadlineExceededError: There was some, and it is over.
    """
    if isinstance(budget, SlotProgress):
        raise budget.exceeded()


def counting(state: ClusterState, pods: Sequence[tuple[Pod, Sequence[str]]]) -> ClusterState:
    """Return a private copy of ``state`` in which each of the pods is on each of its nodes."""
    fork = state.fork()
    index = fork.snapshot.nodes.index
    for pod, nodes in pods:
        known = [node for node in nodes if node in index]
        uids = [f"{pod.metadata.uid}@{node}" for node in known]
        names, kind = [pod.metadata.name] * len(known), fork.kind_of(pod, remember=False)
        fork.assume_alike(pod, kind, names, uids, [index[node] for node in known])
    return fork


def rules_of(profile: Profile) -> list[Plugin[Any]]:
    """Return the plugins that let a pod through to nodes and that kube-scheduler does not run itself."""
    points: Sequence[Enabled[Any]] = (*profile.pre_filter, *profile.filter, *profile.reserve)
    return [enabled.plugin for enabled in points if enabled.name not in UPSTREAM]


def reads_pods(profile: Profile, pod: Pod) -> bool:
    """Return whether such a plugin may say something else about ``pod`` when another pod gets a node.

    kube-scheduler's own plugins see what it has decided, bound or not.
    """
    return any(parts_of(rule, pod) & _READ for rule in rules_of(profile))


def _failure(record: PodRecord) -> Condition | None:
    """Return the condition by which kube-scheduler says that the pod got no node."""
    conditions = record.kind.base.template.status.conditions
    found = (one for one in conditions if one.type == "PodScheduled" and one.status == "False")
    return next(found, None)
