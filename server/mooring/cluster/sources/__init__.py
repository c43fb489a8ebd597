"""Sources of the state's objects: the embedded sample, files, callers' pushes, a live cluster."""

from mooring.cluster.sources.files import FilesSource
from mooring.cluster.sources.kubernetes import KubernetesSource, Timers
from mooring.cluster.sources.push import Pushed, PushSource, SnapshotBegin, SnapshotEnd
from mooring.cluster.sources.source import Source
from mooring.cluster.sources.static import SampleSource, sample_objects

__all__ = [
    "FilesSource",
    "KubernetesSource",
    "PushSource",
    "Pushed",
    "SampleSource",
    "SnapshotBegin",
    "SnapshotEnd",
    "Source",
    "Timers",
    "sample_objects",
]
