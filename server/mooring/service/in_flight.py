"""Pods in flight: kube-scheduler may be binding them, and the state doesn't have them on a node yet.

kube-scheduler decides about one pod after the other and binds in the background (``schedule_one.go``). When
it asks an extender about the next pod, it has selected a node for the pod before, but hasn't told the
extender. A rule that counts pods has to wait for the binding, or count the pod on every node that passed.
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
"""The share of a call's time that it may wait for pods in flight; the rest is for its answer."""

MOST_SECONDS = 60.0
"""How long a pod counts that nobody hears about."""

DOUBT_SECONDS = 1.0
"""How long a pod still counts once its condition is Unschedulable: that may belong to the attempt before."""

_READ = Part.PODS | Part.AFFINITIES | Part.RESOURCES

_NOWHERE: Int32s = np.zeros(0, np.int32)


@dataclass(slots=True, eq=False)
class Flight:
    """One pod that may be bound to a node that passed the filters.

    Attributes:
        pod: The pod; None = any pods that an earlier process was asked about.
        until: When it stops counting, in seconds of ``time.monotonic``.
        places: The names of nodes, and which of them (int32[N]) it may be bound to.
        counts: A call has waited for it in vain, so later calls count it and don't wait for it.
        beside: The pods that count while this one is decided about, each with the nodes that it may be on.
    """

    pod: Pod | None
    until: float
    places: tuple[Sequence[str], Int32s] = ((), _NOWHERE)
    counts: bool = False
    beside: Sequence[tuple[Pod, Sequence[str]]] = ()

    def let_through(self, evaluation: Evaluation) -> None:
        """Begin the flight to one of the feasible nodes."""
        self.places = evaluation.names, evaluation.rows[evaluation.feasible]

    def bind_to(self, name: str) -> None:
        """Rule out all nodes but this one."""
        self.places = (name,), np.zeros(1, np.int32)

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes that it may be bound to."""
        names, rows = self.places
        return [names[row] for row in rows.tolist()]


class PodsInFlight:
    """The pods in flight, each from its answer until the outcome is known. Safe from any thread.

    A flight ends when the state has the pod on a node, or when the pod is deleted or has failed: mooring
    could not bind it, its condition says so, or kube-scheduler asks about it again.

    Args:
        engine: Decides, with a state that a source keeps current.
        metrics: Counts the waits.
        wait: Whether calls wait for pods in flight before they count them.
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
        """Whether a profile has a rule that may depend on pods in flight."""
        return any(map(rules_of, self._engine.profiles.values()))

    @contextmanager
    def turn(self, pod: Pod, profile: Profile, budget: SlotProgress | NoPlugins) -> Iterator[Flight | None]:
        """Decide about ``pod``; it is in flight from then on if a node passes.

        If its rules read other pods, no other call decides meanwhile.

        Yields:
            Its flight; None if the call would have to wait and ``budget`` is ``NoPlugins``.

        Raises:
            DeadlineExceededError: The time ran out while other calls decided.
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
        """Bind a pod through mooring. Only this node is possible; afterwards the state has the outcome."""
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
        """Begin a flight of ``pod`` and end its last one. It ends with the block if no node passes."""
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
            Whether the call can go on. After a wait it can: the flights that haven't ended count.
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
        """Take in a change from a source, under the state's lock."""
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
            # kube-scheduler sets it for a pod with a long binding, and clears it if the binding fails.
            flight.bind_to(nominated)
            flight.until, flight.counts = inf, True
        elif flight.until == inf and not nominated:
            self._end(uid)
        with self._changed:
            self._changed.notify_all()


def _left(budget: SlotProgress | NoPlugins) -> float:
    """Return how many seconds a call may wait; 0 without a budget for plugins."""
    return 0.0 if isinstance(budget, NoPlugins) else max(budget.deadline - time.monotonic(), 0.0)


def _check_late(budget: SlotProgress | NoPlugins) -> None:
    """Reject a call that has waited until its time ran out.

    Raises:
        DeadlineExceededError: It has.
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
    """Return the plugins that decide which nodes pass and that kube-scheduler does not run itself."""
    points: Sequence[Enabled[Any]] = (*profile.pre_filter, *profile.filter, *profile.reserve)
    return [enabled.plugin for enabled in points if enabled.name not in UPSTREAM]


def reads_pods(profile: Profile, pod: Pod) -> bool:
    """Return whether a rule may answer differently about ``pod`` when another pod gets a node.

    kube-scheduler's own plugins see each pod on its node before it is bound.
    """
    return any(parts_of(rule, pod) & _READ for rule in rules_of(profile))


def _failure(record: PodRecord) -> Condition | None:
    """Return the condition with which kube-scheduler reports that the pod got no node."""
    conditions = record.kind.base.template.status.conditions
    found = (one for one in conditions if one.type == "PodScheduled" and one.status == "False")
    return next(found, None)
