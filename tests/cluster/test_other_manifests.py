"""Manifests of objects besides nodes and pods."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.cluster.manifests import objects_from


@pytest.mark.parametrize(
    ("kind", "fields", "completed"),
    [
        pytest.param(
            "Namespace",
            {"metadata": {"name": "x", "labels": {"a": "b"}}},
            {"metadata": {"labels": {"a": "b", "kubernetes.io/metadata.name": "x"}}},
            id="a namespace carries its name",
        ),
        pytest.param(
            "PersistentVolume",
            {"spec": {"volumeMode": "Block"}},
            {
                "spec": {"volumeMode": "Block", "persistentVolumeReclaimPolicy": "Retain"},
                "status": {"phase": "Pending"},
            },
            id="volume",
        ),
        pytest.param(
            "PersistentVolumeClaim",
            {"status": {"phase": "Bound"}},
            {"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Bound"}},
            id="claim",
        ),
        pytest.param(
            "StorageClass",
            {"reclaimPolicy": "Retain"},
            {"reclaimPolicy": "Retain", "volumeBindingMode": "Immediate"},
            id="storage class",
        ),
        pytest.param(
            "CSIDriver",
            {"spec": {"storageCapacity": True}},
            {"spec": {"storageCapacity": True, "attachRequired": True}},
            id="CSI driver",
        ),
        pytest.param("PodGroup", {}, {"spec": {"disruptionMode": "Pod"}}, id="pod group"),
        pytest.param(
            "ResourceClaim",
            {
                "spec": {
                    "devices": {
                        "requests": [
                            {"exactly": {}},
                            {"exactly": {"allocationMode": "All"}},
                            {"firstAvailable": [{"count": 3}, {}]},
                        ]
                    }
                }
            },
            {
                "spec": {
                    "devices": {
                        "requests": [
                            {"exactly": {"allocationMode": "ExactCount", "count": 1}},
                            {"exactly": {"allocationMode": "All"}},
                            {
                                "firstAvailable": [
                                    {"allocationMode": "ExactCount", "count": 3},
                                    {"allocationMode": "ExactCount", "count": 1},
                                ]
                            },
                        ]
                    }
                }
            },
            id="device claim",
        ),
        pytest.param(
            "ResourceClaimTemplate",
            {"spec": {"spec": {"devices": {"requests": [{"exactly": {"count": 2}}]}}}},
            {
                "spec": {
                    "spec": {
                        "devices": {"requests": [{"exactly": {"allocationMode": "ExactCount", "count": 2}}]}
                    }
                }
            },
            id="template of device claims",
        ),
        pytest.param(
            "ResourceSlice",
            {"spec": {"devices": [{"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "x"}}}]}},
            {
                "spec": {
                    "devices": [
                        {
                            "nodeAllocatableResourceMappings": {
                                "cpu": {"capacityKey": "x", "allocationMultiplier": "1"}
                            }
                        }
                    ]
                }
            },
            id="slice",
        ),
        pytest.param("Service", {"spec": {"selector": {"a": "b"}}}, {}, id="service: nothing"),
    ],
)
def test_other_kinds_are_completed_as_the_api_server_does(
    kind: str, fields: dict[str, Any], completed: dict[str, Any]
) -> None:
    manifest = {"kind": kind, "metadata": {"name": "x"}, **fields}
    expected = from_manifest(
        {**manifest, **completed, "metadata": {"name": "x", **completed.get("metadata", {})}}
    )
    assert objects_from([manifest]).objects == (expected,)


def test_a_namesake_of_another_group_is_not_taken_for_the_kind() -> None:
    manifest = {"apiVersion": "example.com/v1", "kind": "Service", "metadata": {"name": "x"}}
    loaded = objects_from([manifest, {**manifest, "apiVersion": "v1"}])
    assert len(loaded.objects) == 1
    assert loaded.skipped == {"example.com/v1 Service": 1}
