"""Makes decisions in the sample cluster of ``mooring run``, so that each view of the page shows something.

The pending pods are decided about once a minute, as a dry run, and a visitor gets a node and gives it back.
"""

from __future__ import annotations

import itertools
import json
import threading
from contextlib import suppress

import grpc

from mooring_client.v1 import cluster_service_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub

VISIT_SECONDS = 5.0
VISITS = 12
"""Visits between two rounds of the pending pods: a minute."""

_CALL_SECONDS = 10.0


def live(address: str, stop: threading.Event) -> None:
    """Go on until ``stop``, or until the server at ``address`` has ended."""
    with grpc.insecure_channel(address) as channel, suppress(grpc.RpcError):
        scheduling, cluster = SchedulingServiceStub(channel), ClusterServiceStub(channel)
        for turn in itertools.count():
            if turn % VISITS == 0:
                _decide_pending(scheduling, cluster)
            visitor = objects_pb2.PodReference(
                namespace="default", name=f"visitor-{turn}", uid=f"visitor-{turn}"
            )
            template = pb.PodTemplate(pod=_small_pod(visitor))
            request = pb.ScheduleRequest(templates=[template], commit_mode=pb.COMMIT_MODE_RESERVE)
            scheduling.Schedule(request, timeout=_CALL_SECONDS)
            if stop.wait(VISIT_SECONDS):
                return
            scheduling.Unreserve(pb.UnreserveRequest(pod=visitor), timeout=_CALL_SECONDS)


def _decide_pending(scheduling: SchedulingServiceStub, cluster: ClusterServiceStub) -> None:
    waiting = cluster.ListPendingPods(cluster_service_pb2.ListPendingPodsRequest(), timeout=_CALL_SECONDS)
    for each in waiting.pods:
        # Each by itself, the way kube-scheduler would evaluate them.
        template = pb.PodTemplate(pod=objects_pb2.PodSource(reference=each.pod))
        scheduling.Schedule(pb.ScheduleRequest(templates=[template]), timeout=_CALL_SECONDS)


def _small_pod(reference: objects_pb2.PodReference) -> objects_pb2.PodSource:
    metadata = {"namespace": reference.namespace, "name": reference.name, "uid": reference.uid}
    container = {"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}
    pod = {"metadata": metadata, "spec": {"containers": [container]}}
    return objects_pb2.PodSource(object=objects_pb2.KubernetesObject(json=json.dumps(pod).encode()))
