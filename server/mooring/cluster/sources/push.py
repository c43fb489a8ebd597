"""Pushed objects: numbered events in sessions, and full loads that take effect in one step.

A source belongs to the client that made it, and an incomplete one delays nothing: a source counts once its
first full load is whole.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mooring.cluster.kinds import Change, ClusterObject, Put, Remove
from mooring.cluster.state import State
from mooring.framework.args import FieldError
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
)
from mooring.framework.sources import SourceStatus

MAX_SOURCES: Final = 64
"""How many callers' sources there may be: each holds objects, and is described on request."""


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
    """The result of a push.

    Attributes:
        next_sequence: The next expected number.
        applied_count: How many of its events were new.
    """

    next_sequence: int
    applied_count: int


@dataclass(frozen=True, slots=True)
class PushFreshness:
    """How far a caller's objects are behind the cluster.

    Attributes:
        staleness: Seconds since they were last known to be what the cluster has, 0 or more.
        doubt: Why nothing may be decided by them; "" = it may.
    """

    staleness: float = 0.0
    doubt: str = ""


Objects = dict[tuple[str, str, str], ClusterObject]
"""By kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class _CallersSource:
    """The position of one caller's source. A push makes a new one, so that a rejected push leaves no trace.

    Attributes:
        owner: Who made it; "" = no owner, so any client may push to it.
        session: Its session.
        called_at: ``time.monotonic`` of the last call.
        next_sequence: The next expected number.
        staged: The open full load; None outside one.
        loaded: A full load was completed in this session.
        synced: A full load was completed, in this session or an earlier one.
        current_at: ``time.monotonic`` when its objects were what the cluster had; None = no caller said so.
        doubt: Why nothing may be decided by them; "" = it may.
    """

    owner: str
    session: str
    called_at: float
    next_sequence: int = 1
    staged: Objects | None = None
    loaded: bool = False
    synced: bool = False
    current_at: float | None = None
    doubt: str = ""

    @property
    def staleness(self) -> float:
        """Seconds since its objects were what the cluster has; 0 if no caller says so."""
        return 0.0 if self.current_at is None else max(time.monotonic() - self.current_at, 0.0)

    def called(self, freshness: PushFreshness | None) -> _CallersSource:
        """Return it after a call, with the caller's ``freshness`` if that is about these objects."""
        now = time.monotonic()
        if freshness is None or not self.loaded:
            return replace(self, called_at=now)
        return replace(self, called_at=now, current_at=now - freshness.staleness, doubt=freshness.doubt)


class _Draft:
    """A session while events are worked off: what is staged, and what is to be written then."""

    def __init__(self, staged: Objects | None) -> None:
        self.staged = None if staged is None else dict(staged)
        self.load: Objects | None = None
        self.changes: list[Change] = []

    def add_event(self, event: PushEvent, path: str) -> None:
        """Works off one event; ``path`` is where it stands in the request."""
        if isinstance(event, SnapshotBegin):
            self.staged = {}
        elif isinstance(event, SnapshotEnd):
            if self.staged is None:
                raise _rejected(path, "no full load is open; snapshot_begin comes first")
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
        state: The state that gets the objects.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._sources: dict[str, _CallersSource] = {}

    def start(self) -> None:
        """Nothing to load: callers come by themselves."""

    def stop(self) -> None:
        """Nothing is followed."""

    @property
    def synced(self) -> bool:
        """Whether a caller has completed a full load; the others begin to count when they do."""
        # Probes ask, so this waits for no push.
        return any(source.synced for source in tuple(self._sources.values()))

    @property
    def staleness(self) -> float:
        return max((source.staleness for source in tuple(self._sources.values())), default=0.0)

    @property
    def late(self) -> str:
        ages = [(source.staleness, name) for name, source in tuple(self._sources.items())]
        return f"source {max(ages)[1]} has not been current" if ages else ""

    @property
    def doubt(self) -> str:
        return next((source.doubt for source in tuple(self._sources.values()) if source.doubt), "")

    def describe(self) -> list[SourceStatus]:
        with self._lock:
            sources = dict(self._sources)
        count, now = self._state.count_of, time.monotonic()
        return [
            SourceStatus(
                _holder(name),
                source.synced,
                count(_holder(name), "Node"),
                count(_holder(name), "Pod"),
                session=source.session,
                next_sequence=source.next_sequence,
                staleness=source.staleness,
                silence=now - source.called_at,
            )
            for name, source in sorted(sources.items())
        ]

    def push_objects(
        self,
        source: str,
        session: str,
        first_sequence: int,
        events: Sequence[PushEvent],
        client: str = "",
        freshness: PushFreshness | None = None,
    ) -> Pushed:
        """Apply the events that are new. A push without new events changes no object, and makes no source.

        Args:
            source: The caller's source.
            session: Chosen by the caller, new for every start of it; a new one begins at sequence 1, and its
                first full load replaces what earlier sessions pushed.
            first_sequence: Number of the first event, from 1.
            events: In order; none asks for the next number.
            client: The name of the caller, which owns a new source; "" = it has none.
            freshness: How far the caller's own objects are behind the cluster; None = it does not say.

        Raises:
            OutOfRangeError: Events are missing (RESYNC_REQUIRED, with the expected number).
            InvalidArgumentError: An event can't be used; has its path.
            PermissionDeniedError: The source belongs to another client.
            FailedPreconditionError: There are MAX_SOURCES others (TOO_MANY_SOURCES).
        """
        if first_sequence < 1:
            raise _rejected("first_sequence", f"{first_sequence} is below 1")
        with self._lock:
            known = self._current(source, session, client)
            repeated = known.next_sequence - first_sequence
            if repeated < 0:
                raise OutOfRangeError(
                    f"source {source!r} expects event {known.next_sequence}, not {first_sequence}; push from "
                    "there, or begin a new session with a full load",
                    reason="RESYNC_REQUIRED",
                    expected_sequence=str(known.next_sequence),
                )
            fresh = events[repeated:]
            new = self._worked_off(source, known, fresh, repeated) if fresh else known
            if fresh or self._is_current(source, session):
                self._sources[source] = new.called(freshness)
            return Pushed(new.next_sequence, len(fresh))

    def _is_current(self, source: str, session: str) -> bool:
        """Return whether the source is in this session."""
        known = self._sources.get(source)
        return known is not None and known.session == session

    def remove_source(self, source: str, client: str = "") -> None:
        """Take all objects of a source out of the state, and forget its session and owner.

        Args:
            source: A caller's source.
            client: The name of the caller.

        Raises:
            NotFoundError: No such source (SOURCE_NOT_FOUND).
            PermissionDeniedError: It belongs to another client.
        """
        with self._lock:
            known = self._sources.get(source)
            if known is None:
                raise NotFoundError(
                    f"there is no source {source!r}; nothing is left to remove",
                    reason="SOURCE_NOT_FOUND",
                    source=source,
                )
            _check_owner(source, known, client)
            self._state.replace(_holder(source), ())
            del self._sources[source]

    def _current(self, source: str, session: str, client: str) -> _CallersSource:
        """Return the source as ``client`` finds it in ``session``; a new one that is not registered yet."""
        known = self._sources.get(source)
        if known is None:
            if len(self._sources) >= MAX_SOURCES:
                raise FailedPreconditionError(
                    f"there are {MAX_SOURCES} sources, which is the limit; remove one that is not needed, "
                    "with RemoveSource",
                    reason="TOO_MANY_SOURCES",
                )
            return _CallersSource(client, session, time.monotonic())
        _check_owner(source, known, client)
        if known.session == session:
            return known
        return replace(known, session=session, next_sequence=1, staged=None, loaded=False)

    def _worked_off(
        self, name: str, source: _CallersSource, events: Sequence[PushEvent], position: int
    ) -> _CallersSource:
        """Write ``events``, the first at ``position`` of the request; return the position after them."""
        draft = _Draft(source.staged)
        for index, event in enumerate(events, position):
            draft.add_event(event, f"events[{index}]")
        if draft.load is not None:
            self._state.replace(_holder(name), draft.load.values())
        elif draft.changes:
            self._state.apply(_holder(name), draft.changes)
        return replace(
            source,
            next_sequence=source.next_sequence + len(events),
            staged=draft.staged,
            loaded=source.loaded or draft.load is not None,
            synced=source.synced or draft.load is not None,
        )


def _check_owner(name: str, source: _CallersSource, client: str) -> None:
    if source.owner not in ("", client):
        raise PermissionDeniedError(
            f"source {name!r} belongs to another client; push under a name of your own", source=name
        )


def _holder(source: str) -> str:
    """Return the name under which the state keeps what a caller's source holds."""
    return f"push:{source}"


def _rejected(path: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError([FieldError(path, message)])
