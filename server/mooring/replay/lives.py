"""The pods of a recording live again: they come and go as recorded, and go where they are put now.

Queue, backoffs and preemption are the second scheduler's own, on a clock that jumps to whatever comes next.
One thread does it all, so the same recording gives the same lives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mooring.cluster.journal import NodeEntry, ObjectEntry, PodEntry
from mooring.cluster.kinds import Change, Put, Remove
from mooring.cluster.state import State
from mooring.framework import Pod
from mooring.framework.cluster_events import PodRecordChange
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.framework.pod_table import PodRecord
from mooring.framework.releases import Gates
from mooring.recordings.decoding import Advance, Changed, read_recording
from mooring.replay.at_once import AtOnce
from mooring.replay.quality import Quality
from mooring.runtime.answers import ALL_NODES, Choice, choose, mix64, seek_room
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.clock import ManualClock
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.reservations import Reservation
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.scheduler.assembly import ask_pre_enqueue, sorted_by
from mooring.scheduler.changes import ChangeFeed
from mooring.scheduler.components import deciding
from mooring.scheduler.queue import (
    GROUPS_GATE,
    BackoffTimes,
    Gate,
    QueuedPod,
    SchedulingQueue,
    rules_of,
)
from mooring.scheduler.queue.cluster_events import POD_LEFT
from mooring.scheduler.scheduling_failure import failed, rejected_by_nodes, rejected_by_plugin
from mooring_client.recording.v1.recording_pb2 import PodEntry as PodMessage

SOURCE = "recording"

SAMPLE_SECONDS = 60.0
"""The time of the recording between two samples of its quality."""


class PlayedAttempt(msgspec.Struct, frozen=True, gc=False):
    """How one attempt ended.

    Attributes:
        time: When, in seconds since 1970.
        pod: NAMESPACE/NAME.
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

    Attributes:
        arrived: Pods that came without a node.
        bound: How many of them got one.
        preempted: How many pods had to go for others.
        elsewhere: How many of those that went had another node than in the recording.
        quality: Samples of the cluster, once every minute of its time.

    Raises:
        InvalidArgumentError: Pods of groups would be tried together.
    """

    def __init__(
        self, engine: Engine, state: State, gates: Gates, times: BackoffTimes, seed: int = 0
    ) -> None:
        if gates.enabled(GROUPS_GATE):
            raise InvalidArgumentError.at("--lives", "does not play pod groups; switch GenericWorkload off")
        self.arrived = self.bound = self.preempted = self.elsewhere = 0
        self.quality = Quality(lambda: state.snapshot.nodes, SAMPLE_SECONDS)
        self._engine, self._state, self._times, self._seed = engine, state, times, seed
        self._clock = ManualClock()
        self._nodes: dict[int, str] = {}
        self._recorded: dict[str, str] = {}
        self._evicted: set[str] = set()
        self._waiting: dict[str, tuple[QueuedPod, Reservation]] = {}
        self._anything_waits = False
        profiles = engine.profiles
        self._room = profiles.waiting
        self._profiles = deciding(profiles)
        self._at_once = AtOnce(engine, self._profiles, seed)
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

    def attempts(self, directory: Path, advance: Advance = lambda _: None) -> Iterator[PlayedAttempt]:
        """Yield each attempt; ``advance`` as of ``read_recording``. Raises RecordingError if the recording
        can't be read from some place on; all before that was played.
        """
        # Changes stand in the order in which they happened; only decisions, which are not read, come later.
        for happening in read_recording(directory, self._state.kind_of, advance, self._goes_on):
            if isinstance(happening, Changed):
                time, entry = happening.time / 1e6, happening.entry
                if self._anything_waits:
                    yield from self._until(time)
                else:
                    self._clock.advance_to(time)
                self.quality.tick(time)
                if not isinstance(entry, PodEntry):
                    yield from self._apply(self._change_of(entry))
                elif entry.new is None or not self._had_its_node(entry.uid, entry.new.node_name):
                    yield from self._pod(entry)
        # A pod that waits for a backoff gets the attempt after it.
        yield from self._until(self._clock.now() + self._times.longest + 1)
        self.quality.sample(self._clock.now())

    def _until(self, time: float) -> Iterator[PlayedAttempt]:
        """Let time pass."""
        while self._clock.now() < time:
            if not self._clock.now() or not self._anything_waits:
                self._clock.advance_to(time)
            else:
                pause = max(self._queue.move_due_pods(), 0.001)
                self._clock.advance_to(min(time, self._clock.now() + pause))
                yield from self._try_all()

    def _change_of(self, entry: NodeEntry | ObjectEntry) -> Change:
        """Return what a source would deliver."""
        if entry.new is not None:
            if isinstance(entry, NodeEntry):
                self._nodes[entry.row] = entry.new.metadata.name
            return Put(entry.new)
        if isinstance(entry, NodeEntry):
            return Remove("Node", "", self._nodes.pop(entry.row, ""))
        return Remove(entry.kind.__name__, *entry.key)

    def _apply(self, change: Change) -> Iterator[PlayedAttempt]:
        """Deliver it from a source, and try the pods that it helps."""
        self._state.apply(SOURCE, [change])
        yield from self._try_all()

    def _goes_on(self, pod: PodMessage) -> bool:
        """Return whether an entry has no effect, not even that time passes for waiting pods."""
        return not self._anything_waits and self._had_its_node(pod.uid, pod.node)

    def _had_its_node(self, uid: str, node_name: str) -> bool:
        """Return whether a pod that waited got its node when it was recorded, by now: nothing to follow."""
        placed = self._recorded.get(uid)
        if placed == "" and node_name:
            placed = self._recorded[uid] = node_name
        return bool(placed)

    def _pod(self, entry: PodEntry) -> Iterator[PlayedAttempt]:
        """Let a pod come, change or go."""
        uid, record = entry.uid, entry.new
        if record is None:
            self._compare(uid, self._recorded.pop(uid, ""))
            self._evicted.discard(uid)
            yield from self._leave(uid)
        elif uid in self._evicted:
            pass
        elif uid in self._recorded or (record.node_name and not record.assumed):
            yield from self._apply(Put(record.pod))
        else:
            self.arrived += 1
            self.quality.arrive(record.pod, self._clock.now())
            self._recorded[uid] = record.node_name
            yield from self._come(_without_node(record), record)

    def _come(self, pod: Pod, record: PodRecord) -> Iterator[PlayedAttempt]:
        """Add a pod without a node: the other waiting pods were tried before, and got none."""
        node = self._at_once.node_of(pod, record.kind)
        if not node:
            yield from self._apply(Put(pod))
            return
        self._bind(record.uid)
        yield PlayedAttempt(self._clock.now(), pod.key, record.uid, 1, node)
        if self._anything_waits:
            self._feed.note_change(PodRecordChange(None, replace(record, node_name=node)))
            yield from self._try_all()

    def _bind(self, uid: str) -> None:
        """Count a pod that got its node."""
        self.bound += 1
        self.quality.bind(uid, self._clock.now())

    def _compare(self, uid: str, recorded: str) -> None:
        """Count a pod that goes, if it had another node than in the recording."""
        record = self._state.snapshot.pods.records.get(uid)
        if recorded and record is not None and record.node_name not in ("", recorded):
            self.elsewhere += 1

    def _leave(self, uid: str) -> Iterator[PlayedAttempt]:
        """Let a pod go."""
        if uid in self._state.snapshot.pods.records:
            self._remove(uid)
            if self._anything_waits:
                yield from self._try_all()

    def _remove(self, uid: str) -> None:
        """Take a pod out of the state, and let the queue know."""
        record = self._state.snapshot.pods.records[uid]
        if not record.assumed or uid in self._waiting:
            self._state.apply(SOURCE, [Remove("Pod", record.namespace, record.name, uid)])
            return
        # It was placed at once, and no source has it.
        self._state.discard(uid)
        if self._anything_waits:
            self._feed.note_change(PodRecordChange(record, record, gone=True))

    def _try_all(self) -> Iterator[PlayedAttempt]:
        """Try all that is ready."""
        self._feed.tell_queue()
        self._queue.move_due_pods()
        while (entity := self._queue.pop()) is not None:
            self._note_who_waits()
            (item,) = entity.members
            yield self._try(item)
            self._finish_released()
            self._feed.tell_queue()
        self._finish_released()
        self._note_who_waits()

    def _note_who_waits(self) -> None:
        """Note whether any pod does: counting is much for each of some millions of changes."""
        self._anything_waits = bool(len(self._queue) or self._waiting)

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
                self._bind(item.uid)
                # Like the API server's events: this one, and its later deletion, may help others.
                self._state.apply(SOURCE, [Put(item.pod.on_node(node))])
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
        """Make room if that helps; the victims are gone at once."""

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
            self.preempted += 1
            self._evicted.add(pod.metadata.uid)
            self._remove(pod.metadata.uid)

    def _attempt(self, item: QueuedPod, node: str = "", message: str = "") -> PlayedAttempt:
        return PlayedAttempt(self._clock.now(), item.pod.key, item.uid, item.attempts, node, message)


def _without_node(record: PodRecord) -> Pod:
    return replace(record, node_name="").pod if record.node_name else record.pod
