"""Where the state's objects come from: the embedded sample, files, what callers push."""

from mooring.cluster.sources.files import FilesSource
from mooring.cluster.sources.push import Pushed, PushSource, SnapshotBegin, SnapshotEnd
from mooring.cluster.sources.sample import SampleSource, sample_objects
from mooring.cluster.sources.source import Source, SourceStatus

__all__ = [
    "FilesSource",
    "PushSource",
    "Pushed",
    "SampleSource",
    "SnapshotBegin",
    "SnapshotEnd",
    "Source",
    "SourceStatus",
    "sample_objects",
]
