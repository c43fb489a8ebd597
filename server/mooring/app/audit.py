"""The audit log of a process, as its options ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring import __version__
from mooring.app.options import AuditOptions
from mooring.app.reload import TOOK
from mooring.audit.event import OK, OWN, AuditEvent, AuditKind
from mooring.audit.files import RotatingFile, StandardOutput
from mooring.audit.log import AuditLog
from mooring.audit.trail import AuditTrail
from mooring.decisions.decisions import Decisions
from mooring.framework.errors import InvalidArgumentError
from mooring.service.calls.audit import behind
from mooring.serving.access.clients import Client
from mooring.telemetry.metrics import Metrics


def audit_of(
    options: AuditOptions, metrics: Metrics, decisions: Decisions | None, otherwise: AuditTrail | None = None
) -> AuditTrail:
    """Return what takes the events of a process: the log that the options name, or ``otherwise``, none.
    Raises InvalidArgumentError if the log can't be opened.
    """
    if not options.file:
        return otherwise or AuditTrail()
    try:
        path = Path(options.file)
        target = (
            StandardOutput() if options.file == "-" else RotatingFile(path, options.max_bytes, options.keep)
        )
    except OSError as error:
        raise InvalidArgumentError.at("--audit-log", f"{options.file} can't be written: {error}") from None
    journal = decisions.journal if decisions is not None else None
    return AuditLog(target, metrics, journal, fail_closed=options.fail_closed)


@contextmanager
def audited_run(trail: AuditTrail, in_force: Callable[[], str]) -> Iterator[None]:
    """Record the start and the end of the process, with the configuration's hash; then end the trail."""
    _record(trail, "Start", in_force(), OK, f"mooring {__version__}")
    try:
        yield
    finally:
        _record(trail, "Stop", in_force(), OK, f"mooring {__version__}")
        trail.stop()


def reload_recorder(trail: AuditTrail, in_force: Callable[[], str]) -> Callable[[str, str], None]:
    """Return what records that a changed configuration is in force, or was rejected; see ``followed``."""

    def tell(reason: str, note: str) -> None:
        _record(trail, "Reload", in_force(), OK if reason == TOOK else "REJECTED", note)

    return tell


def denial_recorder(trail: AuditTrail) -> Callable[[str, Client, str], None]:
    """Return what records that a client may not make a call; see ``Access``."""

    def denied(method: str, client: Client, reason: str) -> None:
        trail.record(
            AuditEvent(
                kind=AuditKind.DENIAL,
                call=method.rpartition("/")[2],
                who=client.name,
                behind=behind(client),
                peer=client.peer,
                outcome="FORBIDDEN",
                message=reason,
            )
        )

    return denied


def policy_recorder(trail: AuditTrail) -> Callable[[str, str], None]:
    """Return what records that a changed file of rights is in force, or, with a fault, was rejected."""

    def tell(file: str, fault: str) -> None:
        kind, outcome = AuditKind.POLICY, "REJECTED" if fault else OK
        message = f"{file}: {fault}" if fault else f"{file} is in force as it is now"
        trail.record(AuditEvent(kind=kind, call="Reload", who=OWN, outcome=outcome, message=message))

    return tell


def _record(trail: AuditTrail, step: str, configuration: str, outcome: str, message: str) -> None:
    trail.record(
        AuditEvent(
            kind=AuditKind.CONFIGURATION,
            call=step,
            who=OWN,
            configuration=configuration,
            outcome=outcome,
            message=message,
        )
    )
