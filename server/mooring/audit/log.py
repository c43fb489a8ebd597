"""The audit log: writes the events of a process in a thread of its own.

Events that can't be written wait and are tried again. If too many wait, further ones are lost. Losses are
counted, reported in the log of the process, and noted in the audit log once it can be written again.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from mooring.audit.event import OWN, PODS_A_LINE, AuditedPod, AuditEvent, AuditKind
from mooring.audit.files import AuditTarget
from mooring.audit.repeats import Repeats
from mooring.audit.trail import AuditTrail, Decided
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.records import BatchRecord
from mooring.telemetry.metrics import Metrics

log = logging.getLogger("mooring.audit")

MOST_WAITING: Final = 100_000
"""Pods and events that may wait to be written: some 30 MB."""

OTHERS_SHARE: Final = 2
"""Denials and reads, which every caller can cause, take at most one place in this many."""

RESERVE_SHARE: Final = 4
"""Commits that fail closed are rejected when less than one place in this many is free, so that those that are
under way still find one."""

RETRY_SECONDS: Final = 1.0
"""Between two attempts to write what could not be written."""

REPORT_SECONDS: Final = 10.0
"""Between two reports of lost events in the log of the process."""

STOP_SECONDS: Final = 5.0
"""How long the end of the process waits until everything is written."""


class AuditLog(AuditTrail):
    """Writes events as lines of JSON.

    Args:
        target: Takes the lines.
        metrics: Count written events and lost ones.
        journal: Numbers the decisions; None = there is none.
        fail_closed: Nothing may be committed while nothing can be written.
        most: Pods and events that may wait.
    """

    def __init__(
        self,
        target: AuditTarget,
        metrics: Metrics,
        journal: DecisionJournal | None = None,
        *,
        fail_closed: bool = False,
        most: int = MOST_WAITING,
    ) -> None:
        self._target = target
        self._journal = journal
        self._fail_closed = fail_closed
        self._most = most
        self._written = metrics.audit_written
        self._lost_events = metrics.audit_lost
        metrics.audit_waiting.set_function(lambda: self._waiting)
        self._events: queue.SimpleQueue[tuple[AuditEvent, Decided | None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._lost = 0
        self._next_report = 0.0
        self._write_fault = ""
        self._stopping = threading.Event()
        self._repeats = Repeats()
        self._encode = msgspec.json.Encoder().encode
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    def record(self, event: AuditEvent, decided: Decided | None = None) -> None:
        places = len(event.pods) or 1
        changes = event.kind not in (AuditKind.DENIAL, AuditKind.READ)
        with self._lock:
            if self._waiting < (self._most if changes else self._most // OTHERS_SHARE):
                self._waiting += places
                self._events.put((event, decided))
                return
        self._lose(places)

    def fault(self) -> str:
        if not self._fail_closed:
            return ""
        full = self._waiting > self._most - self._most // RESERVE_SHARE
        return self._write_fault or ("too many events wait" if full else "")

    def stop(self) -> None:
        self._stopping.set()
        self._events.put(None)
        self._thread.join(STOP_SECONDS)
        if self._waiting:
            self._lose(self._waiting)
            log.error("%d events of the audit log were lost at the end: %s", self._waiting, self._write_fault)

    def _lose(self, count: int) -> None:
        """Count lost events."""
        self._lost_events.inc(count)
        now = time.monotonic()
        with self._lock:
            self._lost += count
            if now < self._next_report:
                return
            self._next_report = now + REPORT_SECONDS
        log.error("events of the audit log are lost, %d so far since it was last written", self._lost)

    def _write_all(self) -> None:
        """Write events until the end."""
        while True:
            try:
                taken = self._events.get(timeout=RETRY_SECONDS)
            except queue.Empty:
                self._write(self._repeats.ended(), 0)
                continue
            if taken is None:
                self._write(self._repeats.ended(end=math.inf), 0)
                self._target.close()
                return
            event, decided = taken
            events = [self._numbered(event, decided)] if self._repeats.is_first(event) else []
            if not self._write([*events, *self._repeats.ended()], len(event.pods) or 1):
                return

    def _write(self, events: list[AuditEvent], places: int) -> bool:
        """Write events that took ``places`` in the queue; return False if the process ends before."""
        while not self._written_now(events):
            if self._stopping.wait(RETRY_SECONDS):
                return False
        with self._lock:
            self._waiting -= places
        return True

    def _written_now(self, events: list[AuditEvent]) -> bool:
        with self._lock:
            lost = self._lost
        if lost:
            events = [_loss(lost), *events]
        lines = b"".join([self._encode(part) + b"\n" for event in events for part in _parts(event)])
        try:
            if lines:
                self._target.append(lines)
        except (OSError, ValueError) as error:
            if not self._write_fault:
                log.error("the audit log can't be written, and its events wait: %s", error)  # noqa: TRY400 - no defect
            self._write_fault = str(error) or type(error).__name__
            return False
        if self._write_fault:
            log.warning("the audit log is written again")
        self._write_fault = ""
        with self._lock:
            self._lost -= lost
        self._written.inc(sum([len(event.pods) or 1 for event in events]))
        return True

    def _numbered(self, event: AuditEvent, decided: Decided | None) -> AuditEvent:
        """Return an event with the versions and the numbers of its decisions."""
        if decided is None:
            return event
        journal = self._journal
        first = None if journal is None else journal.number_of(decided)
        versions = decided.versions if isinstance(decided, BatchRecord) else [decided.state_version]
        pods = tuple(
            AuditedPod(
                pod.namespace, pod.name, pod.uid, pod.node, version, 0 if first is None else first + at
            )
            for at, (pod, version) in enumerate(zip(event.pods, versions, strict=True))
        )
        return replace(event, pods=pods, journal="" if first is None or journal is None else journal.id)


def _loss(count: int) -> AuditEvent:
    """Return the event that says in the log how many others are missing."""
    text = f"{count} events were lost before this one"
    return AuditEvent(kind=AuditKind.LOG, call="Audit", who=OWN, outcome="LOST", message=text, count=count)


def _parts(event: AuditEvent) -> Iterator[AuditEvent]:
    """Yield the event, in parts of PODS_A_LINE pods each."""
    if len(event.pods) <= PODS_A_LINE:
        yield event
        return
    for start in range(0, len(event.pods), PODS_A_LINE):
        yield replace(event, pods=event.pods[start : start + PODS_A_LINE])
