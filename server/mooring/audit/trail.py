"""The audit trail: takes the events of a process."""

from __future__ import annotations

import logging
import threading

from mooring.audit.event import AuditEvent, AuditKind, texts
from mooring.audit.repeats import Repeats
from mooring.decisions.records import BatchRecord, Record
from mooring.framework.errors import UnavailableError

log = logging.getLogger("mooring.audit")

Decided = Record | BatchRecord
"""A decision, or those about the pods of an event, in their order."""


class AuditTrail:
    """Takes events; this one drops them, for a process without an audit. Safe from any thread."""

    def record(self, event: AuditEvent, decided: Decided | None = None) -> None:
        """Take an event about the pods of these decisions. Never waits and never fails."""

    def fault(self) -> str:
        """Why nothing may be committed: it may not be audited; "" = it may."""
        return ""

    def require_writable(self) -> None:
        """Require that there is no fault. Raises UnavailableError if there is one (AUDIT_UNWRITABLE)."""
        if fault := self.fault():
            raise UnavailableError(
                f"the audit log can't be written ({fault}), and nothing is committed without it; "
                "retry at another replica, or once it can be written",
                reason="AUDIT_UNWRITABLE",
            )

    def stop(self) -> None:
        """Write what waits, and end."""


class LoggedTrail(AuditTrail):
    """Logs changes by the logger ``mooring.audit``, at INFO; not denials, which callers can repeat."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._repeats = Repeats()

    def record(self, event: AuditEvent, decided: Decided | None = None) -> None:
        if event.kind not in (AuditKind.COMMIT, AuditKind.PUSH) or not log.isEnabledFor(logging.INFO):
            return
        events = [event]
        if event.kind is AuditKind.PUSH:
            with self._lock:
                events = [*self._repeats.ended(), *([event] if self._repeats.is_first(event) else [])]
        for each in events:
            for text in texts(each):
                log.info("%s", text)
