"""Pods made from Karmada's replica requirements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from mooring.framework.errors import InvalidArgumentError
from mooring.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_estimator.wire import estimator_service_pb2 as pb
from mooring_estimator.wire import replica_pb2

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
