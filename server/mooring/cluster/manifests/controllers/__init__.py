"""What the controllers of a cluster would make of the workloads among some manifests.

Each kind has a function that mirrors its controller (pkg/controller/...). It makes what is missing: what the
manifests hold already, as a dump of a cluster does, is neither made again nor removed. A pod counts as ready
as soon as it is made, so a StatefulSet gets all its pods; rollouts are not played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mooring.cluster.manifests.controllers.daemon_set import daemon_set_pods
from mooring.cluster.manifests.controllers.job import job_pods
from mooring.cluster.manifests.controllers.known import KnownManifests
from mooring.cluster.manifests.controllers.replicas import deployment_objects, replica_pods
from mooring.cluster.manifests.controllers.stateful_set import stateful_set_objects
from mooring.cluster.manifests.controllers.workload import WorkloadManifest, as_stored
from mooring.cluster.manifests.documents import Document

__all__ = ["MAKERS", "KnownManifests", "as_stored", "made_by"]

MAKERS: Mapping[str, Callable[[WorkloadManifest, KnownManifests], Iterator[Document]]] = {
    "DaemonSet": daemon_set_pods,
    "Deployment": deployment_objects,
    "Job": job_pods,
    "ReplicaSet": replica_pods,
    "ReplicationController": replica_pods,
    "StatefulSet": stateful_set_objects,
}
"""By kind, what makes the objects that a workload of it lacks.

The template has stood at the same place in all API versions.
"""


def made_by(document: Document, known: KnownManifests) -> Iterator[Document]:
    """Yield the objects that the controller of this workload makes, in the order in which it makes them.

    Raises:
        InvalidArgumentError: The template is missing, or a number is unusable.
    """
    yield from MAKERS[str(document.manifest["kind"])](WorkloadManifest(document), known)
