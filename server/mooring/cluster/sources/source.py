"""What every source can do, and what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KindStatus:
    """The status of one kind that a source follows.

    Attributes:
        kind: The kind.
        last_event_age: Seconds since the last event, bookmark or list of it.
        lists: Full lists so far.
        error: The last failure, "" when the last attempt succeeded.
    """

    kind: str
    last_event_age: float
    lists: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The status of a source.

    Attributes:
        name: Its kind and what it reads, such as ``files:cluster.yaml``.
        synced: Its first full load is complete.
        node_count: Nodes it has.
        pod_count: Pods it has.
        session: The session of a push source, "" for others.
        next_sequence: The next number that a push source expects, 0 for others.
        error: Its last failure, "" when the last attempt succeeded.
        staleness: As ``Source.staleness``.
        lag: Seconds for which the oldest event that came has been waiting to be written; 0 = none waits.
        rollbacks: How often the cluster went back to an older version of itself, and was loaded again.
        kinds: The kinds that it follows one by one; none for other sources.
    """

    name: str
    synced: bool
    node_count: int
    pod_count: int
    session: str = ""
    next_sequence: int = 0
    error: str = ""
    staleness: float = 0.0
    lag: float = 0.0
    rollbacks: int = 0
    kinds: tuple[KindStatus, ...] = ()


class Source(Protocol):
    """Delivers objects to the state it was made with. All methods are safe from any thread."""

    def start(self) -> None:
        """Load, and follow from then on.

        Raises:
            InvalidArgumentError: The first load failed; nothing follows.
        """
        ...

    def stop(self) -> None:
        """Stop following; what was delivered stays."""
        ...

    @property
    def synced(self) -> bool:
        """The first full load is complete."""
        ...

    @property
    def staleness(self) -> float:
        """Seconds since the state was last known to be what the cluster has.

        0 for a source from which nothing more is expected: files, and what callers push when they please.
        """
        ...

    @property
    def late(self) -> str:
        """What makes the state that old, as a phrase that goes on with for how long."""
        ...

    @property
    def doubt(self) -> str:
        """Why nothing may be decided by the state, however young it is; "" = it may."""
        ...

    def describe(self) -> list[SourceStatus]:
        """Return how it is doing; a push source has one entry for each of its callers' sources."""
        ...
