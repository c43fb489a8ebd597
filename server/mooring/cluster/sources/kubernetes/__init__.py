"""A live cluster as a source: lists and watches of its API server."""

from mooring.cluster.sources.kubernetes.source import KubernetesSource
from mooring.cluster.sources.kubernetes.timers import Timers

__all__ = ["KubernetesSource", "Timers"]
