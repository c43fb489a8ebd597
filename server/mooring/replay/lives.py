"""The pods of a recording live again: they come and go as recorded, and go where they are put now.

Queue, backoffs and preemption are the second scheduler's own, on a clock that jumps to whatever comes next.
One thread does it all, so the same recording gives the same lives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from mooring.cluster.journal import Entry, NodeEntry, PodEntry
from mooring.cluster.kinds import Change, Put, Remove
from mooring.cluster.state import State
from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.framework.releases import Gates
from mooring.recordings.decoding import Changed, read_recording
from mooring.recordings.playback import in_order
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.clock import ManualClock
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.post_filter import seek_room
from mooring.runtime.cycle.tie_break import choose, mix64
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.scheduler.assembly import ask_pre_enqueue, sorted_by
from mooring.scheduler.changes import POD_LEFT, ChangeFeed
from mooring.scheduler.parts import deciding
from mooring.scheduler.queue import (
    BackoffTimes,
    Gate,
    QueuedPod,
    SchedulingQueue,
    groups_wait,
    rules_of,
)
from mooring.scheduler.scheduling_failure import failed, rejected_by_nodes, rejected_by_plugin

SOURCE = "recording"


@dataclass(frozen=True, slots=True)
class PlayedAttempt:
    """How one attempt ended.

    Attributes:
        time: When, in seconds since 1970.
        pod: NAMESPACE/NAME.
        uid: The pod's UID.
        number: Which attempt of the pod it was, 1 or more.
        node: Its node, "" for none.
        message: Why it has none.
    """

    time: float
    pod: str
    uid: str
    number: int
    node: str
    message: str = ""


class Lives:
    """Plays a recording. For one thread.

    Args:
        engine: Decides, over ``state``.
        state: Empty at first.
        gates: Which features of which release are on.
        times: How long pods back off.
        seed: Decides between nodes of equal totals.

    Attributes:
        arrived: Pods that came without a node.
        bound: How many of them got one.
        preempted: How many pods had to go for others.

    Raises:
        InvalidArgumentError: Pods of groups would be tried together.
    """

    def __init__(
        self, engine: Engine, state: State, gates: Gates, times: BackoffTimes, seed: int = 0
    ) -> None:
        if groups_wait(gates):
            raise InvalidArgumentError.at("--lives", "does not play pod groups; switch GenericWorkload off")
        self.arrived = self.bound = self.preempted = 0
        self._engine, self._state, self._times, self._seed = engine, state, times, seed
        self._clock = ManualClock()
        self._nodes: dict[int, str] = {}
        self._recorded: dict[str, str] = {}
        self._evicted: set[str] = set()
        self._waiting: dict[str, tuple[QueuedPod, Reservation]] = {}
        profiles = engine.profiles
        self._room = profiles.waiting
        self._profiles = deciding(profiles)
        self._committer = Committer(BindingCycle(engine, clock=self._clock))
        rules = {
            name: rules_of(
                profile,
                [
                    Gate(enabled.name, partial(ask_pre_enqueue, engine, profile, enabled))
                    for enabled in profile.pre_enqueue
                ],
            )
            for name, profile in profiles.items()
        }
        first = next(iter(profiles.values()))
        self._queue = SchedulingQueue(rules, sorted_by(first), self._clock, times=times, gates=gates)
        self._feed = ChangeFeed(self._queue, state, profiles, gates, self._room, lambda: None)
        self._feed.follow_state()

    def attempts(self, directory: Path) -> Iterator[PlayedAttempt | None]:
        """Yield each attempt, and None for each change of the cluster.

        Raises:
            RecordingError: The recording can't be read from some place on; all before that was played.
        """
        for happening in in_order(read_recording(directory, self._state.kind_of)):
            if isinstance(happening, Changed):
                yield from self._until(happening.time / 1e6)
                changes = self._changes_of(happening.entry)
                if changes:
                    self._state.apply(SOURCE, changes)
                    yield from self._try_all()
                yield None
        # Whoever waits for a backoff gets the attempt that follows it.
        yield from self._until(self._clock.now() + self._times.longest + 1)

    def _until(self, time: float) -> Iterator[PlayedAttempt]:
        """Let time pass."""
        while self._clock.now() < time:
            if not self._clock.now() or not (any(self._queue.count_pods().values()) or self._waiting):
                self._clock.advance_to(time)
            else:
                pause = max(self._queue.move_due_pods(), 0.001)
                self._clock.advance_to(min(time, self._clock.now() + pause))
                yield from self._try_all()

    def _changes_of(self, entry: Entry) -> list[Change]:
        """Return what a source would deliver; placements of pods that came without a node are left out."""
        if isinstance(entry, PodEntry):
            return self._pod_changes(entry)
        if isinstance(entry, NodeEntry):
            if entry.new is not None:
                self._nodes[entry.row] = entry.new.metadata.name
                return [Put(entry.new)]
            return [Remove("Node", "", self._nodes.pop(entry.row, ""))]
        if entry.new is not None:
            return [Put(entry.new)]
        return [Remove(entry.kind.__name__, *entry.key)]

    def _pod_changes(self, entry: PodEntry) -> list[Change]:
        record = entry.new
        if record is None:
            known = self._state.snapshot.pods.get(entry.uid)
            self._recorded.pop(entry.uid, None)
            self._evicted.discard(entry.uid)
            return [] if known is None else [Remove("Pod", known.namespace, known.name, entry.uid)]
        if entry.uid in self._evicted:
            return []
        lives = entry.uid in self._recorded
        if not lives and record.node_name and not record.assumed:
            return [Put(record.pod)]
        if not lives:
            self.arrived += 1
        if lives and (record.node_name or self._recorded[entry.uid]):
            self._recorded[entry.uid] = self._recorded[entry.uid] or record.node_name
            return []
        self._recorded[entry.uid] = record.node_name
        pod = record.pod
        return [Put(replace(pod, spec=replace(pod.spec, node_name="")) if record.node_name else pod)]

    def _try_all(self) -> Iterator[PlayedAttempt]:
        """Try all that is ready."""
        self._feed.tell_queue()
        self._queue.move_due_pods()
        while (entity := self._queue.pop()) is not None:
            (item,) = entity.members
            yield self._try(item)
            self._finish_released()
            self._feed.tell_queue()
        self._finish_released()

    def _try(self, item: QueuedPod) -> PlayedAttempt:
        pod = item.pod
        record = self._state.snapshot.pods.get(item.uid)
        if record is None or record.node_name or pod.metadata.deletion_timestamp:
            self._queue.end_attempt(item.uid)
            return self._attempt(item, message="it is gone, or has a node")
        profile = self._profiles[pod.spec.scheduler_name]
        try:
            begun = self._committer.begin_placing(pod, profile, ALL_NODES, seed=self._seed)
        except MooringError as error:
            self._queue.give_back(item, failed(error).rejection)
            return self._attempt(item, message=error.message)
        node = begun.choice.node_name or ""
        if begun.reservation is not None:
            if math.isfinite(self._room.end(item.uid)):
                self._waiting[item.uid] = item, begun.reservation
                return self._attempt(item, node, "it waits at Permit")
            return self._finish(item, begun.reservation)
        if begun.committed is not None:
            failure = rejected_by_plugin(begun.committed.status, node)
            self._queue.give_back(item, failure.rejection)
            return self._attempt(item, message=failure.message)
        return self._no_node(item, profile, begun.choice)

    def _finish(self, item: QueuedPod, reservation: Reservation) -> PlayedAttempt:
        """Bind a pod that has its place."""
        node = reservation.commit.node_name
        try:
            status = self._committer.finish_binding(reservation).status
        except MooringError as error:
            failure = failed(error)
        else:
            if status.ok:
                self._queue.end_attempt(item.uid)
                self.bound += 1
                # As the API server would tell it: this, and later that it is gone, may help others.
                bound = replace(item.pod, spec=replace(item.pod.spec, node_name=node))
                self._state.apply(SOURCE, [Put(bound)])
                return self._attempt(item, node)
            failure = rejected_by_plugin(status, node)
        self._queue.give_back(item, failure.rejection)
        self._queue.move_pods(POD_LEFT, item.pod, None)
        return self._attempt(item, message=failure.message)

    def _finish_released(self) -> None:
        """Bind those whose wait at Permit is over."""
        for uid in [uid for uid in self._waiting if self._room.end(uid) <= self._clock.now()]:
            self._finish(*self._waiting.pop(uid))

    def _no_node(self, item: QueuedPod, profile: Profile, choice: Choice) -> PlayedAttempt:
        """Make room where that helps; the victims are gone at once."""

        def pick(names: Sequence[str]) -> str:
            return names[choose(self._seed, item.uid, len(names))]

        failure = rejected_by_nodes(choice)
        with self._state.lock:
            start = mix64(item.attempts, item.uid)
            room = seek_room(choice.evaluation, self._engine.calls(profile), start, pick).room
        if room is not None:
            self._evict(room.candidate.victims)
            self._state.nominate(item.uid, room.candidate.node_name)
        self._queue.give_back(item, failure.rejection)
        if room is not None:
            self._queue.activate_pods([item.pod])
        return self._attempt(item, message=failure.message)

    def _evict(self, victims: tuple[Pod, ...]) -> None:
        for pod in victims:
            meta = pod.metadata
            self.preempted += 1
            self._evicted.add(meta.uid)
            self._state.apply(SOURCE, [Remove("Pod", meta.namespace, meta.name, meta.uid)])

    def _attempt(self, item: QueuedPod, node: str = "", message: str = "") -> PlayedAttempt:
        return PlayedAttempt(self._clock.now(), item.pod.key, item.uid, item.attempts, node, message)
