"""The audit of calls: commits, denials, and on request reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import grpc

from mooring.audit.event import OK, AuditedPod, AuditEvent, AuditKind
from mooring.audit.trail import AuditTrail, Decided
from mooring.framework import Code, Status
from mooring.framework.errors import MooringError, PermissionDeniedError, UnauthenticatedError
from mooring.framework.state import ClusterState
from mooring.service.calls.access import right_of
from mooring.serving.access.access import Access, asking_client
from mooring.serving.access.clients import Client
from mooring.serving.calls.identity import client_of, connection_of
from mooring.serving.calls.layers import Behavior

ALL_READS: Final = "*"
"""Stands for every call that changes nothing."""


class CommitEnd:
    """How a commit ends. Its maker sets what differs from a plain success.

    Attributes:
        outcome: As in ``AuditEvent``.
        message: Likewise.
        decided: The decision; None = none is remembered.
    """

    __slots__ = ("decided", "message", "outcome")

    def __init__(self) -> None:
        self.outcome, self.message = OK, ""
        self.decided: Decided | None = None

    def by(self, status: Status) -> None:
        """Set the outcome to that of a status."""
        self.outcome, self.message = outcome_of_status(status)


def outcome_of_status(status: Status) -> tuple[str, str]:
    """Return the outcome and the message for a status: its code, and the reason of an error."""
    return OK if status.ok else status.code.name, " ".join(status.reasons[: status.code is Code.ERROR])


@dataclass(frozen=True, slots=True)
class CommitAudit:
    """Records what one call commits. ``call`` is the RPC, with its commit mode if it has one."""

    trail: AuditTrail
    call: str
    state: ClusterState

    def record(
        self,
        pods: tuple[AuditedPod, ...],
        configuration: str,
        outcome: str = OK,
        message: str = "",
        decided: Decided | None = None,
    ) -> None:
        """Record what became of some pods; the arguments are as in ``AuditEvent`` and ``CommitEnd``."""
        client = asking_client()
        event = AuditEvent(
            kind=AuditKind.COMMIT,
            call=self.call,
            who=client.name,
            behind=behind(client),
            peer=client.peer,
            pods=pods,
            version=self.state.version,
            configuration=configuration,
            outcome=outcome,
            message=message,
        )
        self.trail.record(event, decided)

    @contextmanager
    def committing(self, pod: AuditedPod, configuration: str) -> Iterator[CommitEnd]:
        """Record a commit about ``pod`` when it ends, with the error's reason when it fails."""
        end = CommitEnd()
        try:
            yield end
        except MooringError as error:
            end.outcome, end.message = error.reason, ""
            raise
        except BaseException as error:
            end.outcome, end.message = type(error).__name__, ""
            raise
        finally:
            self.record((pod,), configuration, end.outcome, end.message, end.decided)


@dataclass(frozen=True, slots=True)
class ListenerAudit:
    """Records the calls to a listener that are denied, and on request those that only read. ``reads`` names
    the latter; ``ALL_READS`` = all.
    """

    trail: AuditTrail
    reads: Collection[str] = ()

    def layer(self, behavior: Behavior, method: str, access: Access) -> Behavior:
        """Return the behavior of ``method``, recorded; ``access`` says who calls."""
        name = method.rpartition("/")[2]
        is_read = name in self.reads or ALL_READS in self.reads

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            response, error = None, None
            try:
                response = behavior(request, context)
            except MooringError as raised:
                error = raised
                raise
            finally:
                denied = isinstance(error, PermissionDeniedError | UnauthenticatedError)
                if denied or (is_read and not right_of(method, request).changes):
                    kind = AuditKind.DENIAL if denied else AuditKind.READ
                    client = _client(access, context)
                    self.trail.record(_call_event(kind, name, request, client, error, response))
            return response

        return call


def behind(client: Client) -> str:
    """Return the name of the client that passed a call of ``client`` on; "" = none did."""
    return client.behind.name if client.behind is not None else ""


def _client(access: Access, context: grpc.ServicerContext) -> Client:
    """Return who makes a call, even if it isn't who it says."""
    try:
        return client_of(access, context)
    except MooringError:
        return connection_of(context)


def _call_event(
    kind: AuditKind, name: str, request: Any, client: Client, error: MooringError | None, response: Any
) -> AuditEvent:
    provenance = getattr(response, "provenance", None)
    reason = error.reason if error is not None else OK
    return AuditEvent(
        kind=kind,
        call=name,
        who=client.name,
        behind=behind(client),
        peer=client.peer,
        pods=_subject(request),
        version=getattr(provenance, "state_version", 0),
        configuration=getattr(provenance, "configuration_hash", ""),
        outcome="UNAUTHENTICATED" if isinstance(error, UnauthenticatedError) else reason,
        message="" if error is None else error.message,
    )


def _subject(request: Any) -> tuple[AuditedPod, ...]:
    """Return the pod, the node or the namespace that a request names."""
    asked = getattr(request, "request", request)
    pod = getattr(asked, "pod", asked)
    pod = getattr(pod, "reference", pod)
    namespace, name, uid = (getattr(pod, field, "") for field in ("namespace", "name", "uid"))
    node = getattr(asked, "node", "")
    found = AuditedPod(namespace, name, uid, node if isinstance(node, str) else "")
    return (found,) if found != AuditedPod() else ()
