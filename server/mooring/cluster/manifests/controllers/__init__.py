"""The objects that a cluster's controllers would make for some manifests.

Each kind of workload has a function that mirrors its controller (pkg/controller/...). It makes the missing
objects. Objects that the manifests already hold, as in a dump of a cluster, are neither made again nor
removed. A pod counts as ready as soon as it is made, so a StatefulSet gets all its pods. Rollouts are not
simulated.
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
"""By kind, the function that makes the missing objects of a workload.

All API versions have the template in the same field.
"""


def objects_of(document: Document, known: KnownManifests, gates: Gates | None) -> Iterator[Document]:
    """Yield an object, and the objects that controllers make for it, in the order in which they make them.

    New ones are added to the ``known`` objects. ``gates`` decide whether groups have claims; None = no claims
    are made from templates. Raises InvalidArgumentError if a workload's template is missing, or a number is
    unusable.
    """
    maker = MAKERS.get(str(document.manifest["kind"]))
    made = maker(WorkloadManifest(document), known) if maker is not None else ()
    for each in chain([document], made):
        for item in [each] if gates is None else with_claims(each, known, gates):
            known.add(item)
            yield item
