from typing import Any

import pytest

from mooring.framework import Code
from mooring.plugins.node_volume_limits.plugin import REASON, SCALING_GATE, NodeVolumeLimits
from mooring.testing.builders import node_manifest
from tests.plugins.harness import make, pre_filter, verdicts
from tests.plugins.storage import (
    DRIVER,
    claim,
    csi_driver,
    csi_node,
    placed_pod,
    pod_using,
    storage_class,
    view,
    volume,
)

LIMIT_ONE = csi_node("n", csi_example_com=1)
TWO = [claim("c", volume="pv"), volume("pv"), claim("d", volume="pw"), volume("pw")]
GCE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "disk"}}


def attachment(held: str, attacher: str = DRIVER) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"attachment-{held}"},
        "spec": {"attacher": attacher, "nodeName": "n", "source": {"persistentVolumeName": held}},
    }


@pytest.mark.parametrize(
    ("objects", "wanted", "passes"),
    [
        pytest.param([LIMIT_ONE, *TWO], ["c"], True, id="room"),
        pytest.param([LIMIT_ONE, *TWO], ["c", "d"], False, id="two of its own"),
        pytest.param([LIMIT_ONE, *TWO, placed_pod("p", "n", "d")], ["c"], False, id="one is there"),
        pytest.param([LIMIT_ONE, *TWO, placed_pod("p", "n", "c")], ["c"], True, id="the same one is there"),
        pytest.param([LIMIT_ONE, *TWO, attachment("pw")], ["c"], False, id="one is attached"),
        pytest.param([LIMIT_ONE, *TWO, attachment("gone")], ["c"], True, id="what is attached is gone"),
        pytest.param([LIMIT_ONE, *TWO, attachment("pw", "b.c")], ["c"], True, id="attached by another"),
        pytest.param([*TWO], ["c", "d"], True, id="no CSINode"),
        pytest.param([csi_node("n", csi_example_com=None), *TWO], ["c", "d"], True, id="no limit"),
        pytest.param([csi_node("n", other=0), *TWO], ["c", "d"], True, id="a limit of another driver"),
        pytest.param([LIMIT_ONE, *TWO, placed_pod("p", "n", "gone")], ["c"], True, id="a pod without claim"),
        pytest.param(
            [csi_node("n", csi_example_com=0), claim(), storage_class()], ["c"], False, id="unbound, by class"
        ),
        pytest.param([csi_node("n", csi_example_com=0), claim()], ["c"], True, id="unbound, no such class"),
        pytest.param([csi_node("n", pd_csi_storage_gke_io=0)], [GCE], False, id="a kind of old in the pod"),
        pytest.param(
            [csi_node("n", pd_csi_storage_gke_io=0), claim(volume="pv"), volume(csi=None, **GCE)],
            ["c"],
            False,
            id="a volume of a kind of old",
        ),
        pytest.param(
            [
                csi_node("n", pd_csi_storage_gke_io=0),
                claim(),
                storage_class(provisioner="kubernetes.io/gce-pd"),
            ],
            ["c"],
            False,
            id="a provisioner of old",
        ),
    ],
)
def test_filter(objects: list[dict[str, Any]], wanted: list[Any], passes: bool) -> None:
    said = verdicts(make(NodeVolumeLimits), pod_using(*wanted), view(node_manifest("n"), *objects))["n"]
    assert said.ok is passes
    if not passes:
        assert (said.code, said.reasons) == (Code.UNSCHEDULABLE, (REASON,))


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        pytest.param(pod_using("gone"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, id="no such claim"),
        pytest.param(pod_using({"ephemeral": {}}), Code.ERROR, id="another pod's claim"),
    ],
)
def test_claims_that_cannot_be_used(pod: Any, code: Code) -> None:
    nodes = view(node_manifest("n"), claim("pod-v0"))
    said = verdicts(make(NodeVolumeLimits), pod, nodes)["n"]
    assert said.code is code
    if code is not Code.ERROR:
        assert said.reasons == ('looking up PVC default/gone: persistentvolumeclaim "gone" not found',)


def test_a_pod_without_volumes_that_count_skips() -> None:
    early = pre_filter(make(NodeVolumeLimits), pod_using({"emptyDir": {}}), view(node_manifest("n")))
    assert getattr(early, "code", None) is Code.SKIP


@pytest.mark.parametrize(
    ("driver", "there", "reasons"),
    [
        pytest.param(csi_driver(preventPodSchedulingIfMissing=True), False, 1, id="demanded and missing"),
        pytest.param(csi_driver(preventPodSchedulingIfMissing=True), True, 0, id="demanded and there"),
        pytest.param(csi_driver(), False, 0, id="not demanded"),
    ],
)
def test_with_the_gate_a_driver_may_demand_to_be_there(driver: Any, there: bool, reasons: int) -> None:
    drivers = csi_node("n", csi_example_com=None) if there else csi_node("n")
    nodes = view(node_manifest("n"), *TWO, driver, drivers)
    said = verdicts(make(NodeVolumeLimits, gates={SCALING_GATE: True}), pod_using("c"), nodes)["n"]
    assert said.reasons == (f"{DRIVER} CSI driver is not installed on the node",) * reasons
    assert verdicts(make(NodeVolumeLimits), pod_using("c"), nodes)["n"].ok
