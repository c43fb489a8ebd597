"""Why a call could not be answered.

    MooringError
    ├── InvalidArgumentError      a field is missing, malformed or absurd
    ├── NotFoundError             something that was named does not exist
    ├── FailedPreconditionError   the world is not as the caller thinks
    ├── AbortedError              it changed meanwhile; begin again
    ├── OutOfRangeError           a sequence has a gap
    ├── PermissionDeniedError     the caller, or the server itself, may not
    ├── UnavailableError          not now; try again
    ├── ResourceExhaustedError    too much at once; try again later
    ├── DeadlineError             out of time
    ├── PluginFailureError        a plugin raised or broke its contract
    └── UnimplementedError        not offered

"This node won't do" is never an error, it is a Status. The service keeps the one table from these classes to
gRPC codes and HTTP answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from mooring.framework.args import FieldError


class MooringError(Exception):
    """Base of all errors that reach a caller.

    Attributes:
        reason: A constant for programs, one of ``ErrorReason`` in the contract without its prefix.
        metadata: Facts for programs, for example the expected sequence number.
    """

    def __init__(self, message: str, *, reason: str, metadata: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.metadata = metadata or {}


class InvalidArgumentError(MooringError):
    """A field is missing, malformed or absurd.

    Attributes:
        violations: Every fault that was found, with its field path.
    """

    def __init__(self, violations: Iterable[FieldError]) -> None:
        self.violations = tuple(violations)
        super().__init__("; ".join(map(str, self.violations)), reason="REQUEST_INVALID")

    @classmethod
    def at(cls, path: str, message: str) -> InvalidArgumentError:
        """One fault."""
        return cls([FieldError(path, message)])


class NotFoundError(MooringError):
    """Something that was named does not exist."""


class FailedPreconditionError(MooringError):
    """The world is not as the caller thinks."""


class AbortedError(MooringError):
    """The world changed meanwhile; begin again."""


class OutOfRangeError(MooringError):
    """A sequence has a gap."""


class PermissionDeniedError(MooringError):
    """The caller, or the server itself, may not."""


class UnavailableError(MooringError):
    """Not now; try again."""


class ResourceExhaustedError(MooringError):
    """Too much at once; try again later."""


class DeadlineError(MooringError):
    """Out of time."""


class PluginFailureError(MooringError):
    """A plugin raised, or gave an answer that its extension point does not allow.

    Attributes:
        plugin: Its name.
        extension_point: Where, for example ``Filter``.
    """

    def __init__(self, plugin: str, extension_point: str, message: str) -> None:
        self.plugin = plugin
        self.extension_point = extension_point
        super().__init__(
            f"plugin {plugin!r} failed at {extension_point}: {message}",
            reason="PLUGIN_FAILED",
            metadata={"plugin": plugin, "extension_point": extension_point},
        )


class UnimplementedError(MooringError):
    """Not offered by this server."""
