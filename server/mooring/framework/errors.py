"""Errors that end a call: what was wrong, where, and what the caller does next.

A plugin's "no" is a Status, never one of these. They know nothing of any transport; the service maps each
class to one gRPC code, and ``reason`` is the name of a value of ``mooring.v1.ErrorReason`` without its
prefix.

    MooringError
    ├── InvalidArgumentError      a field of the request is wrong
    ├── NotFoundError             a pod, node, profile or plugin is unknown
    ├── FailedPreconditionError   the state does not allow it, and a retry alone does not help
    ├── AbortedError              something changed under the caller's hands
    ├── OutOfRangeError           pushed events are missing
    ├── UnavailableError          not now; a retry may help
    ├── ResourceExhaustedError    too much at once
    ├── DeadlineExceededError     out of time
    ├── UnauthenticatedError      it isn't known who calls
    ├── PermissionDeniedError     the caller, or this server, may not do it
    ├── PluginFailureError        a plugin raised, or returned what it must not
    │   └── PluginUnavailableError    what the plugin asks did not answer
    └── UnimplementedError        not offered
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from mooring.framework.args import FieldError


class MooringError(Exception):
    """The root of the tree. Raise one of its subclasses.

    Args:
        message: The fault, its place, and the remedy; one sentence or two.
        reason: The machine-readable reason, in upper snake case.
        metadata: Data for programs that act on the reason; values are strings.
    """

    def __init__(self, message: str, *, reason: str, **metadata: str) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.metadata: dict[str, str] = metadata


MAX_VIOLATIONS = 100
"""The most violations that an error reports; further ones would only cost memory and time."""


class InvalidArgumentError(MooringError):
    """A request is wrong. Holds the first violations that are found, each with the path of its field."""

    def __init__(
        self, violations: Iterable[FieldError], reason: str = "REQUEST_INVALID", **metadata: str
    ) -> None:
        self.violations = tuple(islice(violations, MAX_VIOLATIONS))
        text = "; ".join(f"{v.path}: {v.message}" if v.path else v.message for v in self.violations)
        super().__init__(text, reason=reason, **metadata)

    @classmethod
    def at(cls, path: str, message: str) -> InvalidArgumentError:
        """Return the error with one violation."""
        return cls([FieldError(path, message)])

    @classmethod
    def raise_if_any(cls, violations: Iterable[FieldError]) -> None:
        """Raise the error if there are violations; iteration ends once it holds as many as it can."""
        error = cls(violations)
        if error.violations:
            raise error


class NotFoundError(MooringError):
    """A pod, node, profile or plugin is unknown."""


class FailedPreconditionError(MooringError):
    """The state does not allow it; the reason says which step comes first."""


class AbortedError(MooringError):
    """Something changed concurrently; the decision is invalid."""


class OutOfRangeError(MooringError):
    """Pushed events are missing."""


class UnavailableError(MooringError):
    """Not now; the same call may succeed later or elsewhere."""


class ResourceExhaustedError(MooringError):
    """Too much at once; the same call may succeed after ``retry_seconds``; 0 = it isn't known when."""

    def __init__(self, message: str, *, reason: str, retry_seconds: float = 0.0, **metadata: str) -> None:
        super().__init__(message, reason=reason, **metadata)
        self.retry_seconds = retry_seconds


class DeadlineExceededError(MooringError):
    """Out of time. Names what was running then; both names may be empty."""

    def __init__(self, message: str, *, plugin: str = "", extension_point: str = "") -> None:
        super().__init__(message, reason="DEADLINE_EXCEEDED", plugin=plugin, extension_point=extension_point)


class UnauthenticatedError(MooringError):
    """The caller's credentials aren't valid."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="FORBIDDEN")


class PermissionDeniedError(MooringError):
    """The caller may not do it, or the API server rejected the credentials of this server."""

    def __init__(self, message: str, **metadata: str) -> None:
        super().__init__(message, reason="FORBIDDEN", **metadata)


class PluginFailureError(MooringError):
    """A plugin raised, or returned what it must not. ``metadata`` may add pod and node."""

    _REASON = "PLUGIN_FAILED"

    def __init__(self, message: str, *, plugin: str, extension_point: str, **metadata: str) -> None:
        super().__init__(
            message, reason=self._REASON, plugin=plugin, extension_point=extension_point, **metadata
        )


class PluginUnavailableError(PluginFailureError):
    """A plugin's own service, or an extender, did not answer; the same call may succeed later."""

    _REASON = "PLUGIN_UNAVAILABLE"


class UnimplementedError(MooringError):
    """A call or an option that this server does not offer."""

    def __init__(self, message: str, **metadata: str) -> None:
        super().__init__(message, reason="NOT_IMPLEMENTED", **metadata)


def not_installed(package: str, extra: str) -> FailedPreconditionError:
    """Return the error that says with which extra a package comes."""
    return FailedPreconditionError(
        f"{package} is not installed: pip install '.[{extra}]' in mooring's repository",
        reason="REQUEST_INVALID",
    )


def node_not_found(node_name: str) -> NotFoundError:
    """Return the error for a node that does not exist, or no longer does."""
    return NotFoundError(
        f"node {node_name!r} is not known; schedule the pod again", reason="NODE_NOT_FOUND", node=node_name
    )


def recreated(pod_key: str, uid: str, other: str) -> AbortedError:
    """Return the error for a pod with this UID whose name belongs to the pod with the ``other`` one."""
    return AbortedError(
        f"pod {pod_key} has UID {other}, not {uid}; forget the old pod",
        reason="POD_RECREATED",
        pod=pod_key,
        uid=other,
    )


def bound_elsewhere(pod_key: str, node_name: str) -> FailedPreconditionError:
    """Return the error for a pod that has, or is being given, another node."""
    return FailedPreconditionError(
        f"pod {pod_key} is on node {node_name} already; forget this decision",
        reason="POD_BOUND_ELSEWHERE",
        pod=pod_key,
        node=node_name,
    )
