"""A recording played into a state, so that each decision meets the state that it was made in."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import heappop, heappush
from pathlib import Path

from mooring.cluster.journal import Entry, NodeEntry, ObjectEntry, PodEntry
from mooring.cluster.kinds import ClusterObject
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.pod_table import UNPLACED
from mooring.recordings.decoding import Advance, Began, Changed, Decided, Happening, Missing, read_recording
from mooring.recordings.segments import RecordingError

ARRIVAL_MICROS = 1_000_000
"""Bindings may be seen so much later than another one that was decided after them."""

WINDOW = 1 << 12
"""How many entries after the first one that it didn't see a decision may come."""


def play(directory: Path, state: State, advance: Advance = lambda _: None) -> Iterator[Happening]:
    """Yield what a recording says, in the order in which it happened, and write it to ``state``.

    The state has nothing else. When a decision is yielded, the state is as the decision met it; a change is
    written with the next step. The state's versions are its own. ``advance`` as in ``read_recording``. Raises
    RecordingError if the recording can't be read from some place on; all before that was yielded.
    """
    for happening in in_order(read_recording(directory, state.kind_of, advance)):
        yield happening
        follow(state, happening)


@dataclass(frozen=True, slots=True)
class Moment:
    """A recorded cluster at some time.

    Attributes:
        time: In seconds since 1970; infinity = at the end.
    """

    directory: Path
    time: float = math.inf

    @classmethod
    def at(cls, directory: Path, time: str = "") -> Moment:
        """Return the moment that a time in ISO 8601 names, in UTC where it says no zone; "" = the end. Raises
        InvalidArgumentError if the text is not a time.
        """
        if not time:
            return cls(directory)
        try:
            moment = datetime.fromisoformat(time)
        except ValueError:
            raise InvalidArgumentError.at(
                str(directory), f"{time!r} is not a time, such as 2026-11-24T12:00:00Z"
            ) from None
        return cls(directory, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())

    @classmethod
    def named(cls, text: str) -> Moment:
        """Return the moment that ``DIR`` or ``DIR@TIME`` names; errors as of ``at``."""
        directory, _, time = text.partition("@")
        return cls.at(Path(directory), time)

    def objects(self) -> list[ClusterObject]:
        """Return the objects at that time; assumed pods are on their nodes, too. Raises RecordingError if the
        recording begins later, or can't be read so far.
        """
        state, begun = State(), False
        for happening in play(self.directory, state):
            if isinstance(happening, Changed | Decided | Missing):
                if happening.time / 1e6 > self.time:
                    if not begun:
                        raise self._too_early(happening.time)
                    break
                begun = True
        return objects_of(state)

    def _too_early(self, first: int) -> InvalidArgumentError:
        text = f"begins at {_iso(first / 1e6)}; nothing is known of {_iso(self.time)}"
        return RecordingError.at(str(self.directory), text)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def objects_of(state: State) -> list[ClusterObject]:
    """Return all objects of a state, nodes first. The caller holds the state's lock if others write to it."""
    tables = state.snapshot
    nodes = [node for row in tables.nodes.rows().tolist() if (node := tables.nodes.nodes[row])]
    others = [item for found in tables.objects.kinds.values() for item in found.by_key.values()]
    pods = [record.pod for record in tables.pods.records.values()]
    return [*nodes, *others, *pods]


def follow(state: State, happening: Happening) -> None:
    """Write what happened, if it is a change. Raises RecordingError if it doesn't fit the state."""
    if isinstance(happening, Changed):
        write(state, happening)
    elif isinstance(happening, Began) and not happening.header.continues:
        state.write_entries(_everything(state))


def write(state: State, change: Changed) -> None:
    """Write one change. Raises RecordingError if it doesn't fit the state."""
    entry, nodes = change.entry, state.snapshot.nodes
    pod = entry.new if isinstance(entry, PodEntry) else None
    if pod is not None and pod.row != UNPLACED and nodes.index.get(pod.node_name) != pod.row:
        raise _misfit(f"pod {pod.name} is in row {pod.row}, node {pod.node_name} isn't")
    try:
        state.write_entries((entry,))
    except (LookupError, ValueError) as error:
        raise _misfit(str(error)) from error


def _misfit(why: str) -> InvalidArgumentError:
    return RecordingError.at("recording", f"a change doesn't fit the objects before it: {why}")


def in_order(happenings: Iterator[Happening]) -> Iterator[Happening]:
    """Yield the same in the order of the state's versions, as far as they are at most WINDOW entries apart.
    Raises RecordingError as ``happenings`` does, after all before that was yielded.
    """
    waiting: list[tuple[int, int, int, Happening]] = []
    failure: RecordingError | None = None
    try:
        for number, happening in enumerate(happenings):
            if isinstance(happening, Began | Missing):
                while waiting:
                    yield heappop(waiting)[-1]
                yield happening
                continue
            heappush(waiting, (happening.version, int(isinstance(happening, Changed)), number, happening))
            if len(waiting) > WINDOW:
                yield heappop(waiting)[-1]
    except RecordingError as error:
        failure = error
    while waiting:
        yield heappop(waiting)[-1]
    if failure is not None:
        raise failure


def in_order_of_arrival(happenings: Iterator[Happening]) -> Iterator[Happening]:
    """Yield the same, with pods that got their nodes within a second of each other in the order of arrival.

    A scheduler binds in threads, so that bindings come out of order: it decided in the order of its queue.
    Raises RecordingError as ``happenings`` does, after all before that was yielded.
    """
    arrived: dict[str, int] = {}
    ahead: deque[Happening] = deque()
    failure: RecordingError | None = None
    while True:
        try:
            while failure is None and (not ahead or _time(ahead[-1]) <= _time(ahead[0]) + ARRIVAL_MICROS):
                ahead.append(next(happenings))
        except StopIteration:
            if not ahead:
                return
        except RecordingError as error:
            failure = error
        if not ahead:
            break
        first = ahead[0]
        uid = _waited(first, arrived)
        if uid:
            bound = [
                (arrived[other], at) for at, each in enumerate(ahead) if (other := _waited(each, arrived))
            ]
            _, at = min(bound)
            first = ahead[at]
            del ahead[at]
            arrived.pop(_waited(first, arrived))
        else:
            ahead.popleft()
            _note_arrival(first, arrived)
        yield first
    if failure is not None:
        raise failure


def _time(happening: Happening) -> int:
    return happening.time if isinstance(happening, Changed | Missing) else 0


def _waited(happening: Happening, arrived: Mapping[str, int]) -> str:
    """Return the UID of the pod that waited and has a node now; "" if there is none."""
    if isinstance(happening, Changed) and isinstance(happening.entry, PodEntry):
        record = happening.entry.new
        if record is not None and record.node_name and record.uid in arrived:
            return record.uid
    return ""


def _note_arrival(happening: Happening, arrived: dict[str, int]) -> None:
    """Note which pods wait, and since when in the order of all."""
    if isinstance(happening, Changed) and isinstance(happening.entry, PodEntry):
        entry = happening.entry
        if entry.new is None or entry.new.node_name:
            arrived.pop(entry.uid, None)
        else:
            arrived.setdefault(entry.uid, happening.version)


def _everything(state: State) -> list[Entry]:
    """Return what removes all that the state has."""
    tables = state.snapshot
    gone: list[Entry] = [PodEntry(uid, record, None) for uid, record in tables.pods.records.items()]
    for kind, found in tables.objects.kinds.items():
        gone += [ObjectEntry(kind, key, None, None) for key in found.by_key]
    gone += [NodeEntry(row, tables.nodes.nodes[row], None) for row in tables.nodes.rows().tolist()]
    return gone
