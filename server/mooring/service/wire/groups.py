"""Groups in requests: which group is meant, and which pods of it."""

from __future__ import annotations

from mooring.framework import Pod
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import PodGroup
from mooring.framework.state import ClusterState
from mooring.runtime.commit.asked_group import known_group, pods_of_group, waiting
from mooring.service.backend import ObjectDecoder
from mooring.service.wire.objects import find_pod
from mooring_client.v1 import scheduling_service_pb2 as pb


def decode_group(
    decoder: ObjectDecoder, state: ClusterState, given: pb.GroupToSchedule, path: str
) -> tuple[PodGroup, list[Pod]]:
    """Return a group of the state with its waiting pods, those that were sent or all that are known.

    Raises:
        InvalidArgumentError: It has no name, or a pod is malformed or of another group.
        NotFoundError: There is no such group or pod.
    """
    missing = [field for field in ("namespace", "name") if not getattr(given, field)]
    if missing:
        raise InvalidArgumentError(FieldError(f"{path}.{each}", "is missing") for each in missing)
    group = known_group(state, given.namespace, given.name)
    known = (
        _given_pods(decoder, state, given, path)
        if given.pods
        else pods_of_group(state, (given.namespace, given.name))
    )
    return group, waiting(known)


def _given_pods(
    decoder: ObjectDecoder, state: ClusterState, given: pb.GroupToSchedule, path: str
) -> list[Pod]:
    key = given.namespace, given.name
    pods: dict[str, Pod] = {}
    for at, source in enumerate(given.pods):
        where = f"{path}.pods[{at}]"
        pod = find_pod(decoder, state, source, where)
        if pod.group != key:
            named = "no group" if pod.group is None else f"group {'/'.join(pod.group)}"
            raise InvalidArgumentError.at(where, f"pod {pod.key} names {named}, not {'/'.join(key)}")
        if pod.metadata.uid in pods:
            raise InvalidArgumentError.at(where, f"has the UID {pod.metadata.uid} of another pod")
        record = state.snapshot.pods.get(pod.metadata.uid)
        pods[pod.metadata.uid] = pod if record is None or not record.node_name else record.pod
    return list(pods.values())
