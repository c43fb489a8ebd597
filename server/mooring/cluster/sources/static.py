"""A source that is loaded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mooring.cluster.kinds import ClusterObject
from mooring.cluster.sources.loaded import LoadedSource
from mooring.cluster.state import State


class StaticSource(LoadedSource):
    """Delivers objects once; nothing is followed.

    Args:
        state: The state that gets the objects.
        name: The source's name in the state.
        load: Returns the objects; what it raises, ``start`` raises.
    """

    def __init__(self, state: State, name: str, load: Callable[[], Iterable[ClusterObject]]) -> None:
        super().__init__(state, name)
        self._load = load

    def start(self) -> None:
        self._state.replace(self._name, self._load())
        self._synced = True

    def stop(self) -> None:
        """Nothing is followed."""
