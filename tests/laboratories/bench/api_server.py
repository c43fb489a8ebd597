"""The fake API server with a large cluster, as a process of its own.

    python -m tests.laboratories.bench.api_server NODES PODS

Objects are as long as those of a real cluster, managed fields included: about 3.5 kB a pod, 10 kB a node.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from tests.fake_api_server import FakeApiServer

Manifest = dict[str, Any]

IMAGES = 20
OWNERS = 500
THEN = "2026-01-01T00:00:00Z"


def main() -> int:
    """Serve until SIGTERM."""
    nodes, pods = map(int, sys.argv[1:])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    fake = FakeApiServer(bookmark_seconds=30)
    for item in (*made_nodes(nodes), *made_pods(pods, nodes)):
        fake.add(item)
    fake.store.compact()
    with fake:
        print(f"ready {fake.url}", flush=True)
        stop.wait()
    return 0


def made_nodes(count: int) -> Iterator[Manifest]:
    """Yield nodes in three zones with the usual images and conditions."""
    images = [
        {"names": [f"registry/app-{i}@sha256:{'a' * 64}", f"registry/app-{i}:v1"], "sizeBytes": 10**8 + i}
        for i in range(IMAGES)
    ]
    conditions = [
        {
            "type": name,
            "status": "False",
            "lastHeartbeatTime": THEN,
            "reason": "Fine",
            "message": "all is well",
        }
        for name in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    for i in range(count):
        name = f"node-{i:05}"
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{i % 3}"}
        amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
        yield {
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "managedFields": _managed("kubelet", 90)},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": conditions,
                "images": images,
            },
        }


def made_pods(count: int, nodes: int) -> Iterator[Manifest]:
    """Running pods of many owners, spread over the nodes."""
    for i in range(count):
        app = f"app-{i % OWNERS}"
        yield {
            "kind": "Pod",
            "metadata": {
                "name": f"{app}-{i:06}",
                "namespace": f"ns-{i % 50}",
                "labels": {"app": app, "pod-template-hash": f"{i % OWNERS:x}"},
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": app,
                        "uid": app,
                        "controller": True,
                    }
                ],
                "managedFields": _managed("kube-controller-manager", 20) + _managed("kubelet", 14),
            },
            "spec": _spec(app, f"node-{i % nodes:05}"),
            "status": _status(app),
        }


def _spec(app: str, node: str) -> Manifest:
    mount = "/var/run/secrets/kubernetes.io/serviceaccount"
    container = {
        "name": "main",
        "image": f"registry/{app}:v1",
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "env": [{"name": f"SETTING_{i}", "value": "some value"} for i in range(6)],
        "volumeMounts": [{"name": "token", "mountPath": mount, "readOnly": True}],
        "imagePullPolicy": "IfNotPresent",
    }
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    tolerations = [
        {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for key in ("not-ready", "unreachable")
    ]
    return {
        "nodeName": node,
        "schedulerName": "default-scheduler",
        "containers": [container],
        "volumes": [{"name": "token", "projected": {"sources": [token]}}],
        "tolerations": tolerations,
        "priority": 0,
    }


def _status(app: str) -> Manifest:
    conditions = [
        {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": THEN}
        for name in ("PodScheduled", "Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers")
    ]
    running = {
        "name": "main",
        "state": {"running": {"startedAt": THEN}},
        "ready": True,
        "image": f"registry/{app}:v1",
        "imageID": f"registry/{app}@sha256:{'b' * 64}",
        "containerID": f"containerd://{'c' * 64}",
    }
    return {"phase": "Running", "startTime": THEN, "conditions": conditions, "containerStatuses": [running]}


def _managed(manager: str, count: int) -> list[Manifest]:
    owned: Manifest = {f"f:field{i}": {".": {}, "f:value": {}} for i in range(count)}
    return [{"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": owned}]


if __name__ == "__main__":
    raise SystemExit(main())
