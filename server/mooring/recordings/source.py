"""A recorded cluster as a source: what there was at a moment, loaded once."""

from __future__ import annotations

from mooring.cluster.sources.source import SourceStatus
from mooring.cluster.state import State
from mooring.recordings.playback import Moment


class RecordingSource:
    """Delivers what there was at a moment; nothing is followed.

    Args:
        state: Where the objects go.
        moment: The moment.
    """

    def __init__(self, state: State, moment: Moment) -> None:
        self._state = state
        self._moment = moment
        self._name = f"recording:{moment.directory}"
        self._synced = False

    def start(self) -> None:
        self._state.replace(self._name, self._moment.objects())
        self._synced = True

    def stop(self) -> None:
        """Nothing is followed."""

    @property
    def synced(self) -> bool:
        return self._synced

    @property
    def staleness(self) -> float:
        return 0.0

    def describe(self) -> list[SourceStatus]:
        count = self._state.count_of
        nodes, pods = count(self._name, "Node"), count(self._name, "Pod")
        return [SourceStatus(self._name, self._synced, nodes, pods)]
