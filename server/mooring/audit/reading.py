"""Reads audit logs: their files in order, and the events that a filter lets through."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from mooring.audit.event import AuditedPod, AuditEvent, AuditKind
from mooring.audit.files import with_rotated

STANDARD_INPUT = Path("-")


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The events that are wanted; "" and None let every one through.

    Attributes:
        who: The caller or the intermediary, with or without its type.
        pod: A pod's name, or NAMESPACE/NAME.
        namespace: A pod's namespace.
        node: A pod's node.
        outcome: How it ended.
        call: The RPC, with or without its commit mode.
        since: The first moment.
        until: The last one.
        denied: Only what callers were denied.
    """

    who: str = ""
    pod: str = ""
    namespace: str = ""
    node: str = ""
    outcome: str = ""
    call: str = ""
    since: datetime | None = None
    until: datetime | None = None
    denied: bool = False

    def narrowed(self, event: AuditEvent) -> AuditEvent | None:
        """Return the event with the pods that are wanted; None if it isn't wanted."""
        if not self._wants(event):
            return None
        if not (self.pod or self.namespace or self.node):
            return event
        pods = tuple(filter(self._wants_pod, event.pods))
        return replace(event, pods=pods) if pods else None

    def _wants(self, event: AuditEvent) -> bool:
        return (
            (not self.who or self._is_who(event.who) or self._is_who(event.behind))
            and self.outcome in ("", event.outcome)
            and self.call in ("", event.call, event.call.partition("+")[0])
            and (self.since is None or event.time >= self.since)
            and (self.until is None or event.time <= self.until)
            and (not self.denied or event.kind is AuditKind.DENIAL)
        )

    def _is_who(self, name: str) -> bool:
        return self.who in (name, name.partition(":")[2])

    def _wants_pod(self, pod: AuditedPod) -> bool:
        return (
            self.pod in ("", pod.name, pod.key)
            and self.namespace in ("", pod.namespace)
            and self.node in ("", pod.node)
        )


def read_logs(
    files: Sequence[Path], where: AuditFilter, skipped: Callable[[], object]
) -> Iterator[AuditEvent]:
    """Yield the events of some logs by time, with those of their full files.

    Args:
        files: The logs; ``STANDARD_INPUT`` is the standard input.
        where: The events that are wanted.
        skipped: Called for each other line, such as one that a killed process left unfinished.

    Raises:
        OSError: A file can't be read.
    """
    logs = [_of_log(file, skipped) for file in files]
    wanted = map(where.narrowed, heapq.merge(*logs, key=attrgetter("time")))
    return (event for event in wanted if event is not None)


def _of_log(file: Path, skipped: Callable[[], object]) -> Iterator[AuditEvent]:
    if file == STANDARD_INPUT:
        yield from _events(sys.stdin.buffer, skipped)
        return
    for one in with_rotated(file) or [file]:
        with one.open("rb") as opened:
            yield from _events(opened, skipped)


def _events(lines: BinaryIO | Iterable[bytes], skipped: Callable[[], object]) -> Iterator[AuditEvent]:
    decode = msgspec.json.Decoder(AuditEvent).decode
    for line in lines:
        try:
            yield decode(line)
        except msgspec.MsgspecError:
            if line.strip():
                skipped()
