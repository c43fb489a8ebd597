"""For tests, public: authors of plugins test as mooring does."""

from mooring.testing.builders import make_node, make_pod, node_manifest, pod_manifest
from mooring.testing.explaining import explain

__all__ = ["explain", "make_node", "make_pod", "node_manifest", "pod_manifest"]
