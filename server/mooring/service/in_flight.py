"""Pods in flight: kube-scheduler may be binding them, and the state doesn't have them on a node yet.

kube-scheduler decides about one pod after the other and binds in the background (``schedule_one.go``). When
it calls an extender for the next pod, it has selected a node for the pod before, but hasn't informed the
extender. A rule that counts pods has to wait for the binding, or count the pod on every node that passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from typing import Any

from mooring.framework import Part, Plugin, Pod
from mooring.framework.cacheable import dependencies_of
from mooring.framework.cluster_events import PodRecordChange, StateChange
from mooring.framework.objects import Condition
from mooring.framework.pod_table import PodRecord
from mooring.framework.state import ClusterState
from mooring.plugins.in_tree import UPSTREAM
from mooring.runtime.answers import Evaluation
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.service.calls.slots import SlotProgress
from mooring.telemetry.metrics import Metrics

WAIT_SHARE = 0.5
"""The share of a call's time that it may wait for pods in flight; the rest is for its answer."""

MOST_FLIGHTS = 4_096
"""The most flights that are remembered, the newest ones: callers can name pods that don't exist."""

MOST_SECONDS = 60.0
"""Seconds for which a pod counts without any news of it."""

DOUBT_SECONDS = 1.0
"""How long a pod still counts once its condition is Unschedulable: that may belong to the attempt before."""

LAG_SECONDS = 0.25
"""How much later than kube-scheduler's watch the state may show that a pod is bound."""

_READ = Part.PODS | Part.AFFINITIES | Part.RESOURCES


@dataclass(slots=True, eq=False)
class Flight:
    """One pod, from the question about it until its outcome is known.

    Attributes:
        pod: The pod; None = any pods of filter calls to an earlier process.
        until: When it ends by itself, in seconds of ``time.monotonic``.
        patience: Until when its own call may wait for others.
        nodes: The names of those that it may be bound to; None = it is being decided about.
        slow: A call waited for it without an outcome, so later calls count it first.
        beside: The pods that count while this one is decided about, each with the nodes that it may be on.
    """

    pod: Pod | None
    until: float
    patience: float
    nodes: Sequence[str] | None = None
    slow: bool = False
    beside: Sequence[tuple[Pod, Sequence[str]]] = ()


class PodsInFlight:
    """The pods in flight. Safe from any thread.

    A flight ends when the state has the pod on a node, or when the pod is deleted or has failed: mooring
    could not bind it, its condition says so, or kube-scheduler asks about it again. With ``wait`` calls wait
    for pods in flight before they count them.
    """

    def __init__(self, engine: Engine, metrics: Metrics, *, wait: bool) -> None:
        self._engine = engine
        self._metrics = metrics
        self._wait = wait
        self._changed = threading.Condition()
        self._flights = {"": Flight(None, inf, inf, ())} if wait else {}
        metrics.pods_in_flight.set_function(lambda: sum(map(bool, tuple(self._flights))))
        engine.state.subscribe(self._hear)

    @property
    def matter(self) -> bool:
        """Whether a profile has a rule that may depend on pods in flight."""
        return any(map(rules_of, self._engine.profiles.values()))

    @contextmanager
    def turn(self, pod: Pod, profile: Profile, progress: SlotProgress) -> Iterator[Flight]:
        """Decide about ``pod``; it is in flight from then on if a node passes.

        If its rules read other pods, the calls that came before have been answered. Raises
        DeadlineExceededError if the time ran out while other calls decided.
        """
        uid, now = pod.metadata.uid, time.monotonic()
        own = Flight(pod, progress.deadline, now + WAIT_SHARE * (progress.deadline - now))
        with self._changed:
            others = [one for one in self._flights.items() if one[0] != uid and one[1].until > now]
            self._flights = dict(others[1 - MOST_FLIGHTS :])
            self._flights[uid] = own
            self._changed.notify_all()
        try:
            if reads_pods(profile, pod):
                if self._await(own, lambda other: other.nodes is None, progress.deadline):
                    raise progress.exceeded()
                if self._wait:
                    self._settle(own)
                own.beside = self._beside(own)
            yield own
        finally:
            if own.nodes is None:
                self._end(uid, own)

    def let_through(self, own: Flight, evaluation: Evaluation) -> None:
        """Count ``own`` from now on if there is a feasible node."""
        if evaluation.feasible_count:
            with self._changed:
                own.until = time.monotonic() + MOST_SECONDS
                own.nodes = [evaluation.names[row] for row in evaluation.rows[evaluation.feasible].tolist()]
                self._changed.notify_all()

    def wait(self, own: Flight) -> bool:
        """Wait for the other pods in flight, which leave no node for this one.

        kube-scheduler tries a rejected pod again when it sees a binding, and not once more when the state
        shows that binding later. So calls wait a little even for slow pods.

        Returns:
            Whether other pods count by now.
        """
        counted = own.beside
        self._settle(own)
        until = min(own.patience, time.monotonic() + LAG_SECONDS)
        self._await(own, lambda other: other.pod is not None, until)
        own.beside = self._beside(own)
        return own.beside != counted

    @contextmanager
    def binding(self, uid: str, node_name: str) -> Iterator[None]:
        """Bind a pod through mooring. Only this node is possible; afterwards the state has the outcome."""
        flight = self._flights.get(uid)
        if flight is not None:
            flight.nodes = (node_name,)
        try:
            yield
        finally:
            self._end(uid, flight)

    def _end(self, uid: str, flight: Flight | None) -> None:
        """End the flight, unless the pod has another one by now."""
        with self._changed:
            if self._flights.get(uid) is flight:
                self._flights.pop(uid, None)
            self._changed.notify_all()

    def _settle(self, own: Flight) -> None:
        """Wait until no flights but slow ones are left. Those that last are slow."""
        left = self._await(own, lambda other: not other.slow, own.patience)
        for flight in left:
            flight.slow = True
        self._metrics.flights_given_up.labels().inc(sum(flight.pod is not None for flight in left))

    def _await(self, own: Flight, which: Callable[[Flight], bool], until: float) -> list[Flight]:
        """Wait until there are no such flights; return those that last longer than ``until``."""
        with self._changed:
            began = now = time.monotonic()
            while (left := [one for one in self._before(own) if which(one)]) and now < until:
                self._changed.wait(min(until, *(flight.until for flight in left)) - now)
                now = time.monotonic()
        if now > began:
            self._metrics.flight_wait_duration.labels().observe(now - began)
        return left

    def _before(self, own: Flight) -> list[Flight]:
        """Return the flights that began before ``own``."""
        now, flights = time.monotonic(), tuple(self._flights.values())
        return [one for one in takewhile(lambda one: one is not own, flights) if one.until > now]

    def _beside(self, own: Flight) -> list[tuple[Pod, Sequence[str]]]:
        return [(one.pod, one.nodes) for one in self._before(own) if one.pod and one.nodes]

    def _hear(self, change: StateChange) -> None:
        """Take in a change from a source, under the state's lock."""
        if not isinstance(change, PodRecordChange):
            return
        uid, old, record = change.record.uid, change.old, change.record
        with self._changed:
            flight = self._flights.get(uid)
            if flight is None:
                return
            failed, nominated = _failure(record), record.kind.base.template.status.nominated_node_name
            if change.gone or record.node_name or record.kind.base.finished:
                del self._flights[uid]
            elif flight.nodes is None:
                # It says something about the attempt before.
                return
            elif failed is not None and (old is None or failed != _failure(old)):
                seconds = DOUBT_SECONDS if failed.reason == "Unschedulable" else 0.0
                flight.until = min(flight.until, time.monotonic() + seconds)
            elif nominated in flight.nodes:
                # kube-scheduler sets it for a pod with a long binding, and clears it if the binding fails.
                flight.nodes, flight.until, flight.slow = (nominated,), inf, True
            elif flight.until == inf and not nominated:
                del self._flights[uid]
            self._changed.notify_all()


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
    return any(dependencies_of(rule, pod).possible_parts & _READ for rule in rules_of(profile))


def _failure(record: PodRecord) -> Condition | None:
    """Return the condition with which kube-scheduler reports that the pod got no node."""
    conditions = record.kind.base.template.status.conditions
    found = (one for one in conditions if one.type == "PodScheduled" and one.status == "False")
    return next(found, None)
