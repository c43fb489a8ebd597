"""Events about pods, for people: ``Scheduled``, ``FailedScheduling``, ``Preempted``.

Mirrors ``k8s.io/client-go/tools/events``: asynchronous, repetitions joined into series, dropped when there
are too many.
"""

from __future__ import annotations

import logging
import queue
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from mooring.framework import Clock, ClusterApi, ObjectReference, Pod
from mooring.framework.errors import MooringError, NotFoundError, UnavailableError
from mooring.framework.objects import PodGroup
from mooring.scheduler.messages import NOTE_LIMIT, micro_time, shortened
from mooring.telemetry.scheduler_observer import SchedulerObserver

log = logging.getLogger(__name__)

BACKLOG = 20_000
"""Events that may wait to be written: pods are bound faster than Events are written, and none should go
unsaid because thousands came at once. A waiting one takes about 1 kB."""

WRITERS = 4
"""Threads that write them at most: a second one helps from a quarter of the backlog on, and so forth.
Until then one is enough, and bindings, for which pods wait, have processor and API server to themselves."""

HOLD_SECONDS = 15.0
"""Seconds an Event waits for bindings at most: both cost the API server as much."""

LOOK_SECONDS = 0.05
"""Between two looks whether bindings are still under way."""

TRIES, PAUSE_SECONDS = 12, 10.0
"""How often an Event is sent while the API server does not answer, and the seconds in between."""

NAMESPACE_ENDS = "NamespaceTerminating"
"""The API server's reason to reject an Event in a namespace that is being deleted; it isn't logged."""

GROUP_VERSION = "scheduling.k8s.io/v1beta1"
"""The API version that Events name of groups that are preemptors."""

FAILED = "FailedScheduling"
"""The reason of an Event about a pod that no node takes."""

SERIES_SECONDS = 360.0
"""A repetition after this time is an Event of its own."""


class EventNote(msgspec.Struct, frozen=True):
    """The content of an Event; it repeats another one with the same pod version and fields, apart
    from ``note``.

    Attributes:
        kind: ``Normal`` or ``Warning``.
        reason: Why, in one word.
        action: The action, in one word.
        note: The sentence; cut to the API server's limit.
        related: Another pod, or a group, that has to do with it.
    """

    pod: Pod
    kind: str
    reason: str
    action: str
    note: str
    related: Pod | PodGroup | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for repetitions."""
        meta = self.pod.metadata
        related = self.related.metadata.uid if self.related else ""
        return meta.uid, meta.resource_version, self.kind, self.reason, self.action, related


@dataclass(slots=True)
class _Series:
    name: str
    last: float
    count: int = 1


@dataclass(slots=True)
class EventRecorder:
    """Writes Events in threads of its own. ``record`` never blocks; safe from any thread. ``advice`` returns
    a sentence with advice about a pod that no node takes; "" = there is none.
    """

    cluster: ClusterApi
    clock: Clock
    observer: SchedulerObserver
    advice: Callable[[Pod], str] = lambda _: ""
    _waiting: queue.SimpleQueue[tuple[EventNote, float] | None] = field(default_factory=queue.SimpleQueue)
    _series: dict[tuple[str, ...], _Series] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _writers: list[threading.Thread] = field(default_factory=list)
    _bindings_under_way: Callable[[], bool] = lambda: False
    _stopping: threading.Event = field(default_factory=threading.Event)

    def start(self, bindings_under_way: Callable[[], bool] = lambda: False) -> None:
        """Begin to write; what can wait does while ``bindings_under_way``."""
        self._bindings_under_way = bindings_under_way
        self._start_writer(self._write_all)

    def _start_writer(self, write: Callable[[], None]) -> None:
        writer = threading.Thread(target=write, name=f"events-{len(self._writers)}", daemon=True)
        self._writers.append(writer)
        writer.start()

    def stop(self, timeout: float) -> None:
        """Write what waits, for at most ``timeout`` seconds."""
        end = self.clock.monotonic() + timeout
        self._stopping.set()
        self._waiting.put(None)
        for writer in self._writers:
            writer.join(max(0.0, end - self.clock.monotonic()))

    def record_event(self, note: EventNote) -> None:
        """Have an Event written, or drop it when too many wait."""
        waiting = self._waiting.qsize()
        if waiting >= BACKLOG:
            self.observer.dropped()
            return
        self._waiting.put((note, self.clock.now()))
        if waiting >= len(self._writers) * BACKLOG // WRITERS:
            self._call_for_help()

    def _call_for_help(self) -> None:
        with self._lock:
            self._writers[1:] = [writer for writer in self._writers[1:] if writer.is_alive()]
            if 0 < len(self._writers) < WRITERS:
                self._start_writer(self._help)

    def _write_all(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            self._write_in_time(*waiting)

    def _help(self) -> None:
        """Write until nothing waits."""
        with suppress(queue.Empty):
            while (waiting := self._waiting.get_nowait()) is not None:
                self._write_in_time(*waiting)
            self._waiting.put(None)

    def _write_in_time(self, note: EventNote, at: float) -> None:
        """Write what happened ``at`` once no binding is under way, or it has waited for long enough."""
        while self._bindings_under_way() and self.clock.now() - at < HOLD_SECONDS:
            if self._stopping.wait(LOOK_SECONDS):
                break
        self._write_or_tell(note, at)

    def _write_or_tell(self, note: EventNote, at: float) -> None:
        try:
            self._write(note, at)
        except MooringError as error:
            level = logging.DEBUG if error.metadata.get("cause") == NAMESPACE_ENDS else logging.WARNING
            log.log(level, "the event %s of pod %s was not written: %s", note.reason, note.pod.key, error)
        except Exception:  # the thread must outlive whatever a server can send
            log.exception("the event %s of pod %s was not written", note.reason, note.pod.key)

    def _write(self, note: EventNote, now: float) -> None:
        series, repeated = self._series_of(note, now)
        namespace = note.pod.metadata.namespace
        if repeated:
            if series.count & (series.count - 1):
                # The first repetition is written, then ever fewer: reading them one by one is of no use.
                return
            body = {"series": {"count": series.count, "lastObservedTime": micro_time(now)}}
            with suppress(NotFoundError):
                event = ObjectReference("Event", namespace, series.name)
                self._send(partial(self.cluster.patch, event, body))
                return
        # It is new, or the one that it repeats is gone or never came to be.
        more = self.advice(note.pod) if note.reason == FAILED else ""
        if more:
            kept = shortened(note.note, NOTE_LIMIT - len(more.encode()) - 1)
            note = msgspec.structs.replace(note, note=f"{kept} {more}")
        self._send(partial(self.cluster.create, "Event", namespace, _body(note, series.name, now)))

    def _send(self, call: Callable[[], object]) -> None:
        """Make a call, and repeat it while the API server does not answer."""
        for _ in range(TRIES - 1):
            with suppress(UnavailableError):
                call()
                return
            if self._stopping.wait(PAUSE_SECONDS):
                break
        call()

    def _series_of(self, note: EventNote, now: float) -> tuple[_Series, bool]:
        with self._lock:
            known = self._series.pop(note.key, None)
            repeated = known is not None and now - known.last <= SERIES_SECONDS
            if known is None or not repeated:
                known = _Series(f"{note.pod.metadata.name}.{int(now * 1e9):x}", now)
            else:
                known.last = now
                known.count += 1
            self._series[note.key] = known
            self._forget_old(now)
            return known, repeated

    def _forget_old(self, now: float) -> None:
        while self._series:
            # In the order of their last use: the first is the oldest.
            key = next(iter(self._series))
            if now - self._series[key].last <= SERIES_SECONDS:
                return
            del self._series[key]


def _body(note: EventNote, name: str, now: float) -> dict[str, Any]:
    scheduler = note.pod.spec.scheduler_name
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": note.pod.metadata.namespace},
        "eventTime": micro_time(now),
        "reportingController": scheduler,
        "reportingInstance": f"{scheduler}-{socket.gethostname()}",
        "action": note.action,
        "reason": note.reason,
        "regarding": _reference(note.pod),
        **({"related": _reference(note.related)} if note.related else {}),
        "note": shortened(note.note, NOTE_LIMIT),
        "type": note.kind,
    }


def _reference(target: Pod | PodGroup) -> dict[str, str]:
    meta = target.metadata
    kind, version = ("Pod", "v1") if isinstance(target, Pod) else ("PodGroup", GROUP_VERSION)
    return {
        "apiVersion": version,
        "kind": kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
