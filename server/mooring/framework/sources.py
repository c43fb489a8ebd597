"""How what fills the state is doing."""

from __future__ import annotations

from dataclasses import dataclass


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
        staleness: Seconds since the state was last known to be what the cluster has.
        silence: Seconds since a push source was last called, 0 for others.
        lag: Seconds for which the oldest event that came has been waiting to be written; 0 = none waits.
        rollbacks: How often the cluster went back to an older version of itself, and was loaded again.
        kinds: The kinds that it follows one by one; none for other sources.
    """

    name: str
    synced: bool
    node_count: int = 0
    pod_count: int = 0
    session: str = ""
    next_sequence: int = 0
    error: str = ""
    staleness: float = 0.0
    silence: float = 0.0
    lag: float = 0.0
    rollbacks: int = 0
    kinds: tuple[KindStatus, ...] = ()
