"""Sources that are loaded in full at once, and the embedded sample cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import resources

from mooring.cluster.kinds import ClusterObject
from mooring.cluster.manifests import objects_from
from mooring.cluster.manifests.documents import read_text
from mooring.cluster.state import State
from mooring.framework.sources import SourceStatus


class LoadedSource:
    """The part of a source whose state is as fresh as its last load.

    Args:
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


class StaticSource(LoadedSource):
    """Delivers objects once; nothing is followed.

    Args:
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


NAME = "sample"


def sample_objects() -> tuple[ClusterObject, ...]:
    """Return the sample cluster's objects: six nodes in three zones, some pods placed, three pending."""
    file = resources.files(__package__) / "sample.yaml"
    documents = read_text(file.read_text(encoding="utf-8"), file.name)
    return objects_from(document.manifest for document in documents).objects


class SampleSource(StaticSource):
    """Delivers the sample cluster once."""

    def __init__(self, state: State) -> None:
        super().__init__(state, NAME, sample_objects)
