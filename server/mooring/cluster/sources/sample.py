"""The embedded sample cluster: six nodes in three zones, some pods placed, three pending."""

from __future__ import annotations

from importlib import resources

from mooring.cluster.kinds import ClusterObject
from mooring.cluster.manifests import objects_from
from mooring.cluster.manifests.documents import read_text
from mooring.cluster.sources.static import StaticSource
from mooring.cluster.state import State

NAME = "sample"


def sample_objects() -> tuple[ClusterObject, ...]:
    """Return the sample cluster's objects."""
    file = resources.files(__package__) / "sample.yaml"
    documents = read_text(file.read_text(encoding="utf-8"), file.name)
    return objects_from(document.manifest for document in documents).objects


class SampleSource(StaticSource):
    """Delivers the sample cluster once."""

    def __init__(self, state: State) -> None:
        super().__init__(state, NAME, sample_objects)
