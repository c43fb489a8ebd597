"""The verdict of a plugin: a code, the reasons, and the plugin's name.

Mirrors ``k8s.io/kube-scheduler/framework`` (interface.go).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum


class Code(IntEnum):
    """The code of a status, in the scheduling framework's order.

    Attributes:
        label: The framework's own spelling, for example ``UnschedulableAndUnresolvable``.
    """

    label: str

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6


for _code in Code:
    _code.label = _code.name.title().replace("_", "")

_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """A plugin's answer. "No" is such a value, never an exception.

    Attributes:
        code: The verdict.
        reasons: Texts for people, in order; empty for Success.
        plugin: The plugin that returned it; filled in by the runtime, "" for Success.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Reject the node as it is now; removing pods from it may help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Reject the node; removing pods from it can't help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Status:
        """Fail the decision: something unexpected happened."""
        return cls(Code.ERROR, reasons)

    @classmethod
    def skip(cls, *reasons: str) -> Status:
        """Skip this plugin for this pod; an answer of PreFilter and PreScore."""
        return cls(Code.SKIP, reasons)

    @property
    def ok(self) -> bool:
        """True for Success."""
        return self.code is Code.SUCCESS

    @property
    def rejected(self) -> bool:
        """True for Unschedulable, UnschedulableAndUnresolvable and Pending."""
        return self.code in _REJECTIONS

    @property
    def message(self) -> str:
        """The reasons as one line."""
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """Return this status with ``plugin`` as its author; unchanged when it names one already or is
        Success.
        """
        return self if self.plugin or self.ok else replace(self, plugin=plugin)


SUCCESS = Status()
