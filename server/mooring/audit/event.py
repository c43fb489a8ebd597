"""The event of the audit trail: who did what, by which configuration, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec

from mooring.framework import Pod

PODS_A_LINE: Final = 50
"""Some 7 kB, which log collectors don't split."""

OWN: Final = "self"
"""The name of this process in events without a caller, such as those of the second scheduler."""

OK: Final = "OK"


class AuditKind(StrEnum):
    """The kind of event."""

    COMMIT = "commit"
    """A pod is reserved, bound or given back, or should have been."""
    EVICTION = "eviction"
    """A pod is deleted, or the cluster changed otherwise, to make room for another pod."""
    PUSH = "push"
    """The objects of a source are changed."""
    DENIAL = "denial"
    """A caller may not make a call, or is unknown."""
    CONFIGURATION = "configuration"
    POLICY = "policy"
    READ = "read"
    """A question, if the policy asks for it."""
    LOG = "log"
    """The log itself: events were lost."""


class AuditedPod(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A pod of an event. Unknown fields are left out.

    Attributes:
        namespace: Its namespace.
        uid: Its UID.
        version: The version of the state by which the node was selected.
        decision: The number of the decision in the event's journal.
    """

    namespace: str = ""
    name: str = ""
    uid: str = ""
    node: str = ""
    version: int = 0
    decision: int = 0

    @property
    def key(self) -> str:
        """NAMESPACE/NAME; "-" without a name."""
        return f"{self.namespace}/{self.name}" if self.name else "-"

    @classmethod
    def of(cls, pod: Pod, node: str = "") -> AuditedPod:
        """Return the reference of ``pod``, with its node."""
        meta = pod.metadata
        return cls(meta.namespace, meta.name, meta.uid, node)


class AuditEvent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One event. Its fields are those of its line of JSON; what is empty is left out there.

    Attributes:
        time: When it ended, in UTC.
        call: The RPC, with the commit mode if it has one; or the step of this process.
        who: The caller's name with its type; ``OWN`` = this process, "" = the caller has no name.
        behind: The caller that spoke for ``who``; "" = none did.
        peer: The address of a caller without a name.
        pods: The pods in question.
        source: The pushed source.
        version: The version of the state when it ended; 0 = none is known.
        configuration: The hash of the configuration in force, and the profile: HASH/PROFILE.
        journal: The journal of the decisions, as ``ListDecisions`` names it.
        outcome: ``OK``, another word of success, or the reason of the failure.
        message: More about it, for people.
        count: How many events of this kind it stands for.
    """

    time: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))
    kind: AuditKind
    call: str
    who: str = ""
    behind: str = ""
    peer: str = ""
    pods: tuple[AuditedPod, ...] = ()
    source: str = ""
    version: int = 0
    configuration: str = ""
    journal: str = ""
    outcome: str
    message: str = ""
    count: int = 1


def texts(event: AuditEvent) -> Iterator[str]:
    """Yield the event for people: PODS_A_LINE share a line, since a line takes as long as a reservation."""
    behind = f" behind={event.behind}" if event.behind else ""
    source = f" source={event.source}" if event.source else ""
    told = [f" pod={pod.key} uid={pod.uid or '-'} node={pod.node or '-'}" for pod in event.pods]
    end = event.message if event.outcome == OK and event.message else f"{event.outcome} {event.message}"
    if event.count > 1:
        end = f"{end}, the last of {event.count} calls"
    for start in range(0, len(told) or 1, PODS_A_LINE):
        some = "".join(told[start : start + PODS_A_LINE])
        yield f"{event.call} client={event.who or '-'}{behind}{source}{some}: {end.rstrip()}"
