"""Equal events of one caller, which share a line of the audit."""

from __future__ import annotations

import time
from typing import Final

from msgspec.structs import replace

from mooring.audit.event import AuditEvent, AuditKind

REPEATED: Final = (AuditKind.DENIAL, AuditKind.PUSH)
"""The kinds of events that come again and again: a client that tries, and a watcher that pushes."""

REPEAT_SECONDS: Final = 10.0
"""Equal events of one caller within this time share a line, so that they can't push out other events."""

MOST_REPEATED: Final = 1_000
"""Events that are told apart for that."""


class Repeats:
    """The first of equal events is written, and the others are counted. For one thread at a time."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str, ...], tuple[float, AuditEvent, int]] = {}

    def is_first(self, event: AuditEvent) -> bool:
        """Return whether the event is to be written now; it is counted if not."""
        if event.kind not in REPEATED:
            return True
        key = event.behind or event.who, event.call, event.outcome, event.source
        until, _, count = self._counted.pop(key, (0.0, event, 0))
        if until:
            self._counted[key] = until, event, count + 1
        elif len(self._counted) < MOST_REPEATED:
            self._counted[key] = time.monotonic() + REPEAT_SECONDS, event, 0
        return not until

    def ended(self, end: float = 0.0) -> list[AuditEvent]:
        """Return an event for each one that was counted, if its time is over by now or by ``end``."""
        now = max(end, time.monotonic())
        over = [key for key, (until, _, _) in self._counted.items() if until <= now]
        found = [self._counted.pop(key) for key in over]
        return [replace(event, count=count) for _, event, count in found if count]
