"""What the controllers of a cluster would make of the objects in some manifests.

Each kind of workload has a function that mirrors its controller (pkg/controller/...). It makes what is
missing: what the manifests hold already, as a dump of a cluster does, is neither made again nor removed. A
pod counts as ready as soon as it is made, so a StatefulSet gets all its pods; rollouts are not played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from mooring.cluster.manifests.controllers.claims import with_claims
from mooring.cluster.manifests.controllers.daemon_set import daemon_set_pods
from mooring.cluster.manifests.controllers.disruption import with_statuses
from mooring.cluster.manifests.controllers.job import job_pods
from mooring.cluster.manifests.controllers.known import KnownManifests
from mooring.cluster.manifests.controllers.replicas import deployment_objects, replica_pods
from mooring.cluster.manifests.controllers.stateful_set import stateful_set_objects
from mooring.cluster.manifests.controllers.volumes import bind_claims
from mooring.cluster.manifests.controllers.workload import WorkloadManifest, as_stored
from mooring.cluster.manifests.documents import Document
from mooring.framework.releases import Gates

__all__ = ["KnownManifests", "as_stored", "bind_claims", "objects_of", "with_statuses"]

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


def objects_of(document: Document, known: KnownManifests, gates: Gates | None) -> Iterator[Document]:
    """Yield an object, and those that controllers make for it, in the order in which they make them.

    Args:
        document: The object.
        known: The objects that there are; those that are made are added.
        gates: What decides whether groups have claims; None = no claims are made of templates.

    Raises:
        InvalidArgumentError: A workload's template is missing, or a number is unusable.
    """
    maker = MAKERS.get(str(document.manifest["kind"]))
    made = maker(WorkloadManifest(document), known) if maker is not None else ()
    for each in chain([document], made):
        for item in [each] if gates is None else with_claims(each, known, gates):
            known.add(item)
            yield item
