"""A recording played into a state, so that each decision meets the state that it was made in."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path

from mooring.cluster.journal import Entry, NodeEntry, ObjectEntry, PodEntry
from mooring.cluster.state import State
from mooring.framework.resources import ResourceError
from mooring.recordings.decoding import Began, Changed, Happening, Missing, read_recording
from mooring.recordings.segments import RecordingError

WINDOW = 1 << 12
"""So many entries may a decision stand behind what it didn't see yet: it is noted when it ends."""


def play(directory: Path, state: State) -> Iterator[Happening]:
    """Yield what a recording says, in the order in which it happened, and write it to ``state``.

    The state has nothing else. When a decision is yielded, the state is as the decision met it; a change is
    written when the next step is asked for. The state's versions are its own.

    Raises:
        RecordingError: The recording can't be read from some place on; all before that was yielded.
    """
    for happening in in_order(read_recording(directory, state.kind_of)):
        yield happening
        if isinstance(happening, Changed):
            write(state, happening)
        elif isinstance(happening, Began) and not happening.header.continues:
            state.write_entries(_everything(state))


def write(state: State, change: Changed) -> None:
    """Write one change.

    Raises:
        RecordingError: It doesn't fit what is there.
    """
    try:
        state.write_entries((change.entry,))
    except (LookupError, ResourceError) as error:
        raise RecordingError.at(
            "recording", f"a change doesn't fit what was there before: {error}"
        ) from error


def in_order(happenings: Iterator[Happening]) -> Iterator[Happening]:
    """Yield the same in the order of the state's versions, as far as they are at most WINDOW entries apart.

    Raises:
        RecordingError: As ``happenings``, after all before that was yielded.
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


def _everything(state: State) -> list[Entry]:
    """Return what removes all that the state has."""
    tables = state.snapshot
    gone: list[Entry] = [PodEntry(uid, record, None) for uid, record in tables.pods.records.items()]
    for kind, found in tables.objects.kinds.items():
        gone += [ObjectEntry(kind, key, None, None) for key in found.by_key]
    gone += [NodeEntry(row, tables.nodes.nodes[row], None) for row in tables.nodes.rows().tolist()]
    return gone
