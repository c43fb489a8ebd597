"""A source that is loaded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mooring.cluster.kinds import ClusterObject
from mooring.cluster.sources.source import SourceStatus
from mooring.cluster.state import State


class StaticSource:
    """Delivers objects once; nothing is followed.

    Args:
        state: Where the objects go.
        name: The source's name in the state.
        load: Returns the objects; what it raises, ``start`` raises.
    """

    def __init__(self, state: State, name: str, load: Callable[[], Iterable[ClusterObject]]) -> None:
        self._state = state
        self._name = name
        self._load = load
        self._synced = False

    def start(self) -> None:
        self._state.replace(self._name, self._load())
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
