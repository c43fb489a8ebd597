"""The status of sources that load all of their objects at once."""

from __future__ import annotations

from mooring.cluster.state import State
from mooring.framework.sources import SourceStatus


class LoadedSource:
    """The part of a source whose state is as fresh as its last load.

    Args:
        state: The state that gets the objects.
        name: The source's name in the state.
    """

    late = doubt = ""

    def __init__(self, state: State, name: str) -> None:
        self._state = state
        self._name = name
        self._error = ""
        self._synced = False

    @property
    def synced(self) -> bool:
        return self._synced

    @property
    def staleness(self) -> float:
        return 0.0

    def describe(self) -> list[SourceStatus]:
        count = self._state.count_of
        nodes, pods = count(self._name, "Node"), count(self._name, "Pod")
        return [SourceStatus(self._name, self._synced, nodes, pods, error=self._error)]
