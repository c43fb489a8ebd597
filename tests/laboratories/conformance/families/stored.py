"""Objects as the API server stores them: with many fields that no plugin reads, and `null` for
absent ones.
"""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest

LONG_AGO = "2026-01-01T00:00:00Z"


def fill_in(draft: Draft) -> None:
    """Add what an API server, a kubelet and controllers add."""
    for i, manifest in enumerate([*draft.nodes, *draft.pods(), *draft.objects]):
        metadata = manifest["metadata"]
        metadata["creationTimestamp"] = draft.rng.choice([None, LONG_AGO])
        metadata["resourceVersion"] = str(1000 + i)
        metadata["generation"] = 1
        metadata.setdefault("annotations", {})["example.com/note"] = 'with "quotes", ü and \n a line'
        if draft.chance(0.5):
            fields: Manifest = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}
            metadata["managedFields"] = [
                {
                    "manager": "kubectl",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": LONG_AGO,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": fields,
                }
            ]
    for node in draft.nodes:
        _report(draft, node)
    for pod in draft.pods():
        _default(draft, pod)
    for pod in draft.assigned:
        _run(draft, pod)


def _report(draft: Draft, node: Manifest) -> None:
    """Draft a kubelet's report of its node, a bad state included: taints show it, conditions don't."""
    node.setdefault("spec", {}).update({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]})
    node["spec"]["providerID"] = f"example://{node['metadata']['name']}"
    node["status"] |= {
        "conditions": [
            {
                "type": kind,
                "status": draft.rng.choice(["True", "False", "Unknown"]),
                "lastHeartbeatTime": LONG_AGO,
                "lastTransitionTime": LONG_AGO,
                "reason": "Said",
                "message": "kubelet said so",
            }
            for kind in ("Ready", "MemoryPressure", "DiskPressure", "NetworkUnavailable")
        ],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "volumesInUse": ["kubernetes.io/csi/csi.example.com^handle-1"],
    }


def _default(draft: Draft, pod: Manifest) -> None:
    spec = pod["spec"]
    spec.setdefault("tolerations", []).extend(
        {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute"}
        | {"tolerationSeconds": 300}
        for state in ("not-ready", "unreachable")
    )
    spec |= {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
    }
    spec.setdefault("restartPolicy", "Always")
    projected = {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "token"}}]}
    spec.setdefault("volumes", []).extend(
        [
            {"name": "kube-api-access", "projected": projected},
            {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "host", "hostPath": {"path": "/var/log", "type": ""}},
            {"name": "config", "configMap": {"name": "settings", "optional": True}},
        ]
    )
    for container in draft.containers(pod):
        container |= {
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            "env": [
                {"name": "EMPTY"},
                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            ],
        }
        container.setdefault("resources", {})


def _run(draft: Draft, pod: Manifest) -> None:
    """The status of a pod that runs, or that its node is about to start."""
    status = pod.setdefault("status", {})
    status |= {
        "hostIP": "10.0.0.1",
        "podIP": "10.244.0.2",
        "podIPs": [{"ip": "10.244.0.2"}],
        "qosClass": "Burstable",
    }
    if status.get("phase") == "Running" and draft.chance(0.3):
        status["phase"] = draft.rng.choice(["Pending", "Unknown"])
    conditions = status.setdefault("conditions", [])
    conditions += [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": LONG_AGO}
        for kind in ("Initialized", "Ready", "PodScheduled")
    ]
    if draft.chance(0.2):
        pod["spec"]["ephemeralContainers"] = [
            {
                "name": "debugger",
                "image": "registry.example/debug:1",
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ]


OF_METADATA = ["annotations", "creationTimestamp", "deletionTimestamp", "labels", "ownerReferences"]
OF_CONTAINERS = ["ports", "resources", "restartPolicy", "env"]
ABSENT: dict[str, dict[str, list[str]]] = {
    "Node": {
        "spec": ["taints", "unschedulable", "podCIDRs"],
        "status": ["allocatable", "capacity", "images", "conditions"],
    },
    "Pod": {
        "spec": [
            *("affinity", "initContainers", "nodeName", "nodeSelector", "overhead", "preemptionPolicy"),
            *("priority", "resourceClaims", "resources", "schedulingGates", "tolerations"),
            *("topologySpreadConstraints", "volumes", "hostNetwork", "hostUsers"),
        ],
        "status": ["conditions", "nominatedNodeName", "phase", "startTime", "containerStatuses"],
    },
    "PersistentVolumeClaim": {
        "spec": ["volumeName", "storageClassName", "selector", "volumeMode", "dataSource"],
        "status": ["phase", "conditions"],
    },
    "PersistentVolume": {"spec": ["claimRef", "nodeAffinity", "mountOptions"], "status": ["phase"]},
    "StorageClass": {"allowedTopologies": [], "parameters": [], "reclaimPolicy": []},
    "Service": {"spec": ["selector", "clusterIPs"], "status": []},
    "ResourceClaim": {"spec": [], "status": ["allocation", "reservedFor", "devices"]},
    "DeviceClass": {"spec": ["selectors", "config", "extendedResourceName"]},
    "ResourceSlice": {"spec": ["nodeName", "nodeSelector", "allNodes", "sharedCounters", "devices"]},
}


def write_nulls(draft: Draft) -> None:
    """Write `null` for absent fields, which the API server reads as absent; the last change of a draft."""
    for pod in draft.pods():
        for container in draft.containers(pod):
            _say_null(draft, container, OF_CONTAINERS)
            _say_null(draft, container.get("resources") or {}, ["requests", "limits", "claims"])
    for manifest in [*draft.nodes, *draft.pods(), *draft.objects]:
        _say_null(draft, manifest["metadata"], OF_METADATA)
        for path, keys in ABSENT.get(manifest["kind"], {}).items():
            if path in manifest:
                _say_null(draft, manifest[path], keys)
            elif draft.chance(0.4):
                manifest[path] = None


def _say_null(draft: Draft, manifest: Manifest, keys: list[str]) -> None:
    for key in keys:
        if key not in manifest and draft.chance(0.4):
            manifest[key] = None
