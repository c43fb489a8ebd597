"""The servicer of Karmada's Estimator, and its command."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

import grpc

from mooring.framework.errors import InvalidArgumentError
from mooring.serving.calls.listener import OfferedService
from mooring.serving.commands import AdapterParser
from mooring_adapter.command import Adapter
from mooring_adapter.mooring import Asking, Mooring
from mooring_client.v1.cluster_service_pb2 import ListPendingPodsRequest, PendingPod
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2 import PodTemplate
from mooring_client.v1.simulation_service_pb2 import EstimateCapacityRequest
from mooring_estimator.wire import estimator_service_pb2 as pb
from mooring_estimator.wire import replica_pb2
from mooring_estimator.wire.estimator_service_pb2_grpc import (
    EstimatorServicer,
    add_EstimatorServicer_to_server,
)

MOST: Final = 2**31 - 1
"""Karmada's value for no limit."""
TEMPLATE_HASH: Final = "pod-template-hash"
"""The label of a Deployment's pods with which the name of their ReplicaSet ends."""
MOST_PODS: Final = 100_000
"""The pods of a page of those without a node: all of a namespace, as a rule."""

FIRST_BATCH: Final = 64
LARGEST_BATCH: Final = 8_192
"""Pods in a batch. They double, so that little is placed in vain if little fits."""


class Estimator(EstimatorServicer):
    """Answers from one mooring.

    Mirrors ``pkg/estimator/server`` of Karmada, with the profile's plugins instead of sums.

    Args:
        cluster: Karmada's name of the member cluster; questions about others are rejected. Empty takes all.
        profile: The profile that places pods; empty takes mooring's first.
        now: Seconds since 1970.
    """

    def __init__(
        self, mooring: Mooring, cluster: str = "", profile: str = "", now: Callable[[], float] = time.time
    ) -> None:
        self._mooring = mooring
        self._cluster = cluster
        self._profile = profile
        self._now = now

    def MaxAvailableReplicas(  # noqa: N802 - the name of the call
        self, request: pb.MaxAvailableReplicasRequest, context: grpc.ServicerContext
    ) -> pb.MaxAvailableReplicasResponse:
        self._check(request.cluster)
        requirements = request.replica_requirements
        shape = replica(requirements, requirements.namespace)
        asking = self._mooring.asking(context)
        assumed = _assumed(request.assumed_workloads)
        if not assumed:
            count = self._capacity(asking, EstimateCapacityRequest(shapes=[shape]))
        else:
            with asking.session() as session:
                self._assume(asking, session, assumed)
                count = self._capacity(asking, EstimateCapacityRequest(session=session, shapes=[shape]))
        return pb.MaxAvailableReplicasResponse(max_replicas=count)

    def MaxAvailableComponentSets(  # noqa: N802 - the name of the call
        self, request: pb.MaxAvailableComponentSetsRequest, context: grpc.ServicerContext
    ) -> pb.MaxAvailableComponentSetsResponse:
        self._check(request.cluster)
        wanted = PodSet(request.components, request.namespace, "components")
        assumed = _assumed(request.assumed_workloads)
        if not wanted.size:
            return pb.MaxAvailableComponentSetsResponse(max_sets=MOST)
        asking = self._mooring.asking(context)
        with asking.session() as session:
            self._assume(asking, session, assumed)
            placed = self._place(asking, session, wanted, "wanted", sets=MOST)
        return pb.MaxAvailableComponentSetsResponse(max_sets=placed // wanted.size)

    def GetUnschedulableReplicas(  # noqa: N802 - the name of the call
        self, request: pb.UnschedulableReplicasRequest, context: grpc.ServicerContext
    ) -> pb.UnschedulableReplicasResponse:
        self._check(request.cluster)
        workload = request.resource
        for field in ("kind", "namespace", "name"):
            if not getattr(workload, field):
                raise InvalidArgumentError.at(
                    f"resource.{field}", "is missing; only pods of a workload are counted"
                )
        asking = self._mooring.asking(context)
        pending = asking.call(
            asking.cluster.ListPendingPods,
            ListPendingPodsRequest(namespace=workload.namespace, page_size=MOST_PODS),
        )
        latest = self._now() - max(request.unschedulable_threshold, 0) / 1e9
        count = sum(
            pod.unschedulable
            and _is_of(pod, workload)
            and pod.creation_time.seconds + pod.creation_time.nanos / 1e9 < latest
            for pod in pending.pods
        )
        return pb.UnschedulableReplicasResponse(unschedulable_replicas=min(count, MOST))

    def _check(self, cluster: str) -> None:
        if self._cluster and cluster != self._cluster:
            raise InvalidArgumentError.at(
                "cluster",
                f"this is the estimator of {self._cluster!r}, and not of {cluster!r}; --cluster-name says so",
            )

    def _capacity(self, asking: Asking, request: EstimateCapacityRequest) -> int:
        request.profile = self._profile
        # As with Karmada, which sends what is not there yet as assumed workloads.
        request.ignore_pending = True
        return min(asking.call(asking.simulation.EstimateCapacity, request).shapes[0].count, MOST)

    def _assume(self, asking: Asking, session: str, workloads: Sequence[PodSet]) -> None:
        """Give workloads their room. One that finds too little takes what comes first, as with Karmada."""
        for at, workload in enumerate(workloads):
            self._place(asking, session, workload, f"assumed-{at}", sets=1)

    def _place(self, asking: Asking, session: str, pods: PodSet, name: str, *, sets: int) -> int:
        """Place sets of pods one by one; return how many pods come before the first that finds no node."""
        templates = [PodTemplate(pod=shape) for shape in pods.shapes]
        coming = _repeated(pods, sets)
        placed, size = 0, FIRST_BATCH
        while batch := list(islice(coming, size)):
            uids = [f"{name}-{number}" for number in range(placed, placed + len(batch))]
            fits = asking.place(session, templates, batch, uids, self._profile)
            if not all(fits):
                return placed + fits.index(False)
            placed += len(batch)
            size = min(2 * size, LARGEST_BATCH)
        return placed


def _is_of(pod: PendingPod, workload: pb.ObjectReference) -> bool:
    """Return whether a pod is of a workload: its controller, or the Deployment of its ReplicaSet."""
    if workload.kind != "Deployment":
        return (pod.controller_kind, pod.controller_name) == (workload.kind, workload.name)
    replica_set = f"{workload.name}-{pod.labels.get(TEMPLATE_HASH, '')}"
    return (pod.controller_kind, pod.controller_name) == ("ReplicaSet", replica_set)


def _assumed(workloads: Sequence[pb.AssumedWorkload]) -> list[PodSet]:
    return [
        PodSet(workload.components, workload.namespace, f"assumed_workloads[{at}].components")
        for at, workload in enumerate(workloads)
    ]


def _repeated(pods: PodSet, sets: int) -> Iterator[int]:
    for _ in range(sets):
        yield from pods.shape_indices()


def _add_flags(parser: AdapterParser) -> None:
    text = "Karmada's name of this cluster: questions about others are rejected; if not given, none is"
    parser.flag("cluster-name", "NAME", "", text)
    parser.flag("profile", "NAME", "", "profile that places pods; if not given, mooring's first")


def offered(answering: Estimator) -> OfferedService:
    """Return the service that an estimator answers."""
    descriptor = pb.DESCRIPTOR.services_by_name["Estimator"]
    return OfferedService(descriptor, partial(add_EstimatorServicer_to_server, answering))


def _service(mooring: Mooring, args: argparse.Namespace) -> OfferedService:
    return offered(Estimator(mooring, args.cluster_name, args.profile))


ADAPTER: Final = Adapter(
    name="mooring-estimator",
    about="Answers Karmada's scheduler-estimator calls with the decisions of a mooring server.",
    listen="127.0.0.1:10352",
    add_flags=_add_flags,
    service=_service,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``mooring-estimator``; the result is the exit code."""
    return ADAPTER.run(argv)


Requirements: TypeAlias = pb.ReplicaRequirements | pb.ComponentReplicaRequirements


def replica(requirements: Requirements, namespace: str) -> PodSource:
    """Return the pod of a workload that needs this."""
    pod = replica_pb2.Replica(
        metadata=replica_pb2.ReplicaMeta(name="replica", namespace=namespace or "default", uid="replica"),
        spec=replica_pb2.ReplicaSpec(
            containers=[
                replica_pb2.ReplicaContainer(
                    name="replica", resources=replica_pb2.ReplicaResources(requests=_requests(requirements))
                )
            ],
            priority_class_name=requirements.priority_class_name,
        ),
    )
    if requirements.HasField("node_claim"):
        _claim(pod.spec, requirements.node_claim)
    return PodSource(object=KubernetesObject(protobuf=pod.SerializeToString()))


def _requests(requirements: Requirements) -> Mapping[str, bytes]:
    return requirements.resource_request_bytes or requirements.resource_request


def _claim(spec: replica_pb2.ReplicaSpec, claim: pb.NodeClaim) -> None:
    spec.node_selector.update(claim.node_selector)
    spec.tolerations.extend(claim.tolerations_bytes or claim.tolerations)
    if claim.node_affinity_bytes:
        spec.affinity.node_affinity.required = claim.node_affinity_bytes
    elif claim.HasField("node_affinity"):
        spec.affinity.node_affinity.required = claim.node_affinity


class PodSet:
    """The pods of one set of components, in order.

    Attributes:
        shapes: The pod of each component that has any.

    Raises:
        InvalidArgumentError: A component has a negative number of pods.
    """

    def __init__(self, components: Sequence[pb.Component], namespace: str, path: str) -> None:
        for at, component in enumerate(components):
            if component.replicas < 0:
                raise InvalidArgumentError.at(f"{path}[{at}].replicas", f"{component.replicas} is negative")
        wanted = [component for component in components if component.replicas]
        self.shapes = [replica(component.replica_requirements, namespace) for component in wanted]
        self._counts = [component.replicas for component in wanted]
        self.size = sum(self._counts)

    def shape_indices(self) -> Iterator[int]:
        """Per pod of the set, its shape."""
        for shape, count in enumerate(self._counts):
            for _ in range(count):
                yield shape
