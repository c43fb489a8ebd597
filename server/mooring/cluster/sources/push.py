"""What callers push: numbered events in sessions, full loads that take effect in one step."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from mooring.cluster.kinds import Change, ClusterObject, Put, Remove
from mooring.cluster.sources.source import SourceStatus
from mooring.cluster.state import State
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError, OutOfRangeError


@dataclass(frozen=True, slots=True)
class SnapshotBegin:
    """A full load begins; within one it begins again."""


@dataclass(frozen=True, slots=True)
class SnapshotEnd:
    """The full load is complete and takes effect."""


PushEvent = SnapshotBegin | SnapshotEnd | Remove | Sequence[Put]
"""One step; a sequence of puts is one step."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of a push.

    Attributes:
        next_sequence: The number that is expected next.
        applied_count: How many of its events were new.
    """

    next_sequence: int
    applied_count: int


Objects = dict[tuple[str, str, str], ClusterObject]
"""By kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class _Session:
    """Where one caller's source stands. A push makes a new one, so that a refused push leaves no trace.

    Attributes:
        name: The session.
        next_sequence: The number that is expected next.
        staged: The open full load; None outside one.
    """

    name: str = ""
    next_sequence: int = 1
    staged: Objects | None = None


class _Draft:
    """A session while events are worked off: what is staged, and what is to be written then."""

    def __init__(self, staged: Objects | None) -> None:
        self.staged = None if staged is None else dict(staged)
        self.load: Objects | None = None
        self.changes: list[Change] = []

    def add(self, event: PushEvent, path: str) -> None:
        """Works off one event; ``path`` is where it stands in the request."""
        if isinstance(event, SnapshotBegin):
            self.staged = {}
        elif isinstance(event, SnapshotEnd):
            if self.staged is None:
                raise _refused(path, "no full load is open; snapshot_begin comes first")
            self.load, self.staged, self.changes = self.staged, None, []
        elif isinstance(event, Remove):
            self._change(event)
        else:
            for put in event:
                self._change(put)

    def _change(self, change: Change) -> None:
        objects = self.load if self.staged is None else self.staged
        if objects is None:
            self.changes.append(change)
        elif isinstance(change, Put):
            meta = change.object.metadata
            objects[type(change.object).__name__, meta.namespace, meta.name] = change.object
        else:
            key = (change.kind, change.namespace, change.name)
            known = objects.get(key)
            if known is not None and change.uid in ("", known.metadata.uid):
                del objects[key]


class PushSource:
    """Takes pushed objects. All events of a push are applied, or none.

    Args:
        state: Where the objects go.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._synced: set[str] = set()

    def start(self) -> None:
        """Nothing to load: callers come by themselves."""

    def stop(self) -> None:
        """Nothing is followed."""

    @property
    def synced(self) -> bool:
        """Someone pushed, and all of them have completed a full load."""
        with self._lock:
            return bool(self._sessions) and self._sessions.keys() <= self._synced

    @property
    def staleness(self) -> float:
        return 0.0

    def describe(self) -> list[SourceStatus]:
        with self._lock:
            sessions = dict(self._sessions)
            synced = set(self._synced)
        count = self._state.count_of
        return [
            SourceStatus(
                _owner(name),
                name in synced,
                count(_owner(name), "Node"),
                count(_owner(name), "Pod"),
                session=session.name,
                next_sequence=session.next_sequence,
            )
            for name, session in sorted(sessions.items())
        ]

    def push(self, source: str, session: str, first_sequence: int, events: Sequence[PushEvent]) -> Pushed:
        """Applies the events that are new.

        Args:
            source: The caller's source.
            session: Chosen by the caller, new for every start of it; a new one begins at sequence 1, and its
                first full load replaces what earlier sessions pushed.
            first_sequence: Number of the first event, from 1.
            events: In order; none asks for the next number.

        Raises:
            OutOfRangeError: Events are missing (RESYNC_REQUIRED, with the expected number).
            InvalidArgumentError: An event can't be used; has its path.
        """
        if first_sequence < 1:
            raise _refused("first_sequence", f"{first_sequence} is below 1")
        with self._lock:
            known = self._sessions.get(source)
            if known is None or known.name != session:
                known = _Session(session)
            repeated = known.next_sequence - first_sequence
            if repeated < 0:
                raise OutOfRangeError(
                    f"source {source!r} expects event {known.next_sequence}, not {first_sequence}; push from "
                    "there, or begin a new session with a full load",
                    reason="RESYNC_REQUIRED",
                    expected_sequence=str(known.next_sequence),
                )
            new = self._worked_off(source, known, events[repeated:], repeated)
            self._sessions[source] = new
            return Pushed(new.next_sequence, new.next_sequence - known.next_sequence)

    def _worked_off(
        self, source: str, session: _Session, events: Sequence[PushEvent], position: int
    ) -> _Session:
        """Writes ``events``, the first at ``position`` of the request; returns where that leads."""
        draft = _Draft(session.staged)
        for index, event in enumerate(events, position):
            draft.add(event, f"events[{index}]")
        if draft.load is not None:
            self._state.replace(_owner(source), draft.load.values())
            self._synced.add(source)
        elif draft.changes:
            self._state.apply(_owner(source), draft.changes)
        return _Session(session.name, session.next_sequence + len(events), draft.staged)


def _owner(source: str) -> str:
    return f"push:{source}"


def _refused(path: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError([FieldError(path, message)])
