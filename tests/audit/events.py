"""Events for tests of the audit log, and targets that take them."""

from __future__ import annotations

import errno
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

from mooring.audit.event import OK, AuditedPod, AuditEvent, AuditKind
from mooring.audit.trail import AuditTrail, Decided


def event(name: str = "p", **fields: Any) -> AuditEvent:
    """Return a commit about a pod of that name."""
    given = {
        "kind": AuditKind.COMMIT,
        "call": "Bind",
        "who": "cn:team",
        "pods": (AuditedPod("default", name, f"u-{name}", "a"),),
        "outcome": OK,
    }
    return AuditEvent(**{**given, **fields})


def denial(who: str = "cn:x", call: str = "Bind") -> AuditEvent:
    """Return a denied call."""
    return event(who=who, call=call, kind=AuditKind.DENIAL, outcome="FORBIDDEN")


class Collected(AuditTrail):
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def record(self, event: AuditEvent, decided: Decided | None = None) -> None:
        self.events.append(event)


class Disk:
    """A file system with a capacity in bytes; a write past it ends with ENOSPC after the bytes that fit."""

    def __init__(self, room: int) -> None:
        self.room = room

    def opened(self, path: Path) -> FileIO:
        disk = self

        class File(FileIO):
            def write(self, data: Any) -> int:
                size = self.seek(0, 2)
                if size >= disk.room:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return super().write(bytes(data)[: disk.room - size])

        return File(path, "a+")


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


class Broken:
    """A target that fails while ``broken`` is set."""

    def __init__(self) -> None:
        self.broken = False
        self.lines: list[bytes] = []
        self.held: Callable[[], object] = lambda: None

    def append(self, lines: bytes) -> None:
        self.held()
        if self.broken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.lines += lines.splitlines()

    def close(self) -> None:
        """Nothing is open."""
