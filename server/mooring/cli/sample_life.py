"""The sample cluster of ``mooring run``, which lives, so that each view of the page shows something.

Its objects are pushed to the server. The pending pods are decided about once a minute, as a dry run; three
of them are a group that waits for a GPU whose taint they don't tolerate. Every few seconds a visitor comes,
gets a node, and goes when three others have come.

A server that other machines can reach takes objects from named clients alone. So it reads the sample cluster
by itself, and only its pending pods are decided about.
"""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from collections import deque
from contextlib import suppress
from typing import Any

import grpc

from mooring.cli.remote import CallError
from mooring.cluster.sources import sample_objects
from mooring.framework import Node, Pod
from mooring.service.wire.objects import manifest_of
from mooring_client.v1 import cluster_service_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub

SOURCE = "sample"
VISIT_SECONDS = 5.0
VISITS = 12
"""Visits between two rounds of the pending pods: a minute."""

GUESTS = 3
"""How many visitors there are at a time."""

_CALL_SECONDS = 10.0


class SampleCluster:
    """The sample cluster in the server behind ``channel``. For one thread. If objects are ``pushed``, the
    server takes them from this process, and so pods come and go.
    """

    def __init__(self, channel: grpc.Channel, *, pushed: bool) -> None:
        self._pushed = pushed
        self._scheduling, self._cluster = SchedulingServiceStub(channel), ClusterServiceStub(channel)
        self._session, self._sequence = uuid.uuid4().hex, 1

    def load(self) -> None:
        """Push all objects, if they are pushed. Raises CallError if the server does not take them."""
        if not self._pushed:
            return
        objects = [manifest_of(item) for item in sample_objects() if isinstance(item, Node | Pod)]
        waiting = (_pod("research", f"render-{at}", "render", _GPU) for at in range(3))
        put = _put(*objects, *map(_encoded, waiting))
        begin = cluster_service_pb2.PushEvent(snapshot_begin=cluster_service_pb2.SnapshotBegin())
        end = cluster_service_pb2.PushEvent(snapshot_end=cluster_service_pb2.SnapshotEnd())
        try:
            self._push(begin, put, end)
        except grpc.RpcError as error:
            raise CallError(f"the server does not take the sample cluster: {error.details()}") from None

    def live(self, stop: threading.Event) -> None:
        """Go on until ``stop``, or until the server has ended."""
        guests: deque[str] = deque()
        # A ValueError: the channel is closed.
        with suppress(grpc.RpcError, ValueError):
            for turn in itertools.count():
                if turn % VISITS == 0:
                    self._decide_pending()
                if self._pushed:
                    guests.append(f"visitor-{turn}")
                    self._welcome(guests[-1])
                if len(guests) > GUESTS:
                    self._push(_removal(guests.popleft()))
                if stop.wait(VISIT_SECONDS):
                    return

    def _welcome(self, name: str) -> None:
        """Let a visitor come, and let the server find its node."""
        pod = _pod("default", name, "visitor", {"cpu": "500m", "memory": "512Mi"})
        self._push(_put(_encoded(pod)))
        source = objects_pb2.PodSource(object=objects_pb2.KubernetesObject(json=_encoded(pod)))
        request = pb.ScheduleRequest(
            templates=[pb.PodTemplate(pod=source)], commit_mode=pb.COMMIT_MODE_RESERVE
        )
        answer = self._scheduling.Schedule(request, timeout=_CALL_SECONDS)
        if node := answer.nodes.names.names[0]:
            pod["spec"]["nodeName"] = node
            self._push(_put(_encoded(pod)))

    def _decide_pending(self) -> None:
        waiting = self._cluster.ListPendingPods(
            cluster_service_pb2.ListPendingPodsRequest(), timeout=_CALL_SECONDS
        )
        for each in waiting.pods:
            # Each by itself, the way kube-scheduler would evaluate them.
            template = pb.PodTemplate(pod=objects_pb2.PodSource(reference=each.pod))
            self._scheduling.Schedule(pb.ScheduleRequest(templates=[template]), timeout=_CALL_SECONDS)

    def _push(self, *events: cluster_service_pb2.PushEvent) -> None:
        request = cluster_service_pb2.PushObjectsRequest(
            source=SOURCE, session=self._session, first_sequence=self._sequence, events=events
        )
        self._sequence = self._cluster.PushObjects(request, timeout=_CALL_SECONDS).next_sequence


_GPU = {"cpu": "1", "memory": "2Gi", "example.com/gpu": "1"}


def _put(*objects: bytes) -> cluster_service_pb2.PushEvent:
    put = [objects_pb2.KubernetesObject(json=encoded) for encoded in objects]
    return cluster_service_pb2.PushEvent(put=cluster_service_pb2.PutObjects(objects=put))


def _removal(name: str) -> cluster_service_pb2.PushEvent:
    removed = cluster_service_pb2.RemoveObject(kind="Pod", namespace="default", name=name)
    return cluster_service_pb2.PushEvent(remove=removed)


def _pod(namespace: str, name: str, owner: str, amounts: dict[str, str]) -> dict[str, Any]:
    """Return the manifest of a pod of the ReplicaSet ``owner`` that requests ``amounts``."""
    controller = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner}
    metadata = {
        "namespace": namespace,
        "name": name,
        "uid": f"{namespace}/{name}",
        "labels": {"app": owner},
        "ownerReferences": [{**controller, "controller": True}],
    }
    resources = {"requests": amounts, "limits": {key: amounts[key] for key in amounts if "/" in key}}
    containers = [{"name": "main", "resources": resources}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


def _encoded(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest).encode()
