from typing import Any

import pytest

from mooring.framework import Code, CycleState
from mooring.framework.objects import Pod
from mooring.plugins.volume_restrictions.plugin import REASON_CLAIM, REASON_DISK, VolumeRestrictions
from tests.plugins.harness import make, pre_filter, verdicts
from tests.plugins.storage import NODES, claim, placed_pod, pod_using, view


def gce(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, read_only: bool = False, lun: int = 0) -> dict[str, Any]:
    return {"iscsi": {"iqn": iqn, "lun": lun, "targetPortal": "p", "readOnly": read_only}}


def rbd(*monitors: str, image: str = "i", read_only: bool = False, **fields: Any) -> dict[str, Any]:
    return {"rbd": {"monitors": list(monitors), "image": image, "readOnly": read_only, **fields}}


@pytest.mark.parametrize(
    ("there", "wanted", "passes"),
    [
        pytest.param(gce("d"), gce("d"), False, id="a GCE disk"),
        pytest.param(gce("d"), gce("e"), True, id="another GCE disk"),
        pytest.param(gce("d", True), gce("d", True), True, id="a GCE disk, both only read"),
        pytest.param(gce("d", True), gce("d"), False, id="a GCE disk, one writes"),
        pytest.param(ebs("v", True), ebs("v", True), False, id="an EBS volume, although both only read"),
        pytest.param(ebs("v"), ebs("w"), True, id="another EBS volume"),
        pytest.param(ebs("v"), gce("v"), True, id="disks of two kinds"),
        pytest.param(iscsi("q"), iscsi("q", lun=1), False, id="an IQN, whatever its number"),
        pytest.param(iscsi("q", True), iscsi("q", True), True, id="an IQN, both only read"),
        pytest.param(rbd("m", "n"), rbd("n", "o"), False, id="an image with a monitor in common"),
        pytest.param(rbd("m"), rbd("n"), True, id="images of two clusters"),
        pytest.param(rbd("m"), rbd("m", image="j"), True, id="another image"),
        pytest.param(rbd("m"), rbd("m", pool="fast"), True, id="another pool"),
        pytest.param(rbd("m"), rbd("m", pool="rbd"), False, id="the pool that is meant without one"),
        pytest.param(rbd("m", read_only=True), rbd("m", read_only=True), True, id="an image, both only read"),
        pytest.param({"emptyDir": {}}, gce("d"), True, id="no disk there"),
    ],
)
def test_disks(there: dict[str, Any], wanted: dict[str, Any], passes: bool) -> None:
    nodes = view(*NODES, placed_pod("p", "a", there))
    said = verdicts(make(VolumeRestrictions), pod_using({"emptyDir": {}}, wanted), nodes)
    assert said["b"].ok
    assert said["a"].ok is passes
    if not passes:
        assert (said["a"].code, said["a"].reasons) == (Code.UNSCHEDULABLE, (REASON_DISK,))


OWN = claim("own", accessModes=["ReadWriteOncePod"])


@pytest.mark.parametrize(
    ("there", "wanted", "passes"),
    [
        pytest.param(placed_pod("p", "a", "own"), "own", False, id="in use"),
        pytest.param(placed_pod("p", "a", "shared"), "shared", True, id="shared by its modes"),
        pytest.param(placed_pod("p", "a", "shared"), "own", True, id="another claim in use"),
        pytest.param(placed_pod("p", "", "own"), "own", True, id="of a pod without a node"),
        pytest.param(placed_pod("p", "gone", "own"), "own", True, id="of a pod on a node that is gone"),
        pytest.param(placed_pod("p", "a", "own", namespace="other"), "own", True, id="another namespace"),
    ],
)
def test_claims_of_one_pod_alone(there: dict[str, Any], wanted: str, passes: bool) -> None:
    said = verdicts(make(VolumeRestrictions), pod_using(wanted), view(*NODES, OWN, claim("shared"), there))
    if passes:
        assert all(status.ok for status in said.values())
    else:
        assert {(s.code, s.reasons) for s in said.values()} == {(Code.UNSCHEDULABLE, (REASON_CLAIM,))}


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        pytest.param(pod_using("own"), Code.SKIP, id="nobody uses its claim"),
        pytest.param(pod_using({"emptyDir": {}}), Code.SKIP, id="no disk"),
        pytest.param(pod_using("gone"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, id="no such claim"),
        pytest.param(pod_using(gce("d")), Code.SUCCESS, id="a disk"),
    ],
)
def test_pre_filter(pod: Pod, code: Code) -> None:
    early = pre_filter(make(VolumeRestrictions), pod, view(*NODES, OWN))
    assert getattr(early, "code", None) is code
    if code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        assert getattr(early, "reasons", None) == ('persistentvolumeclaim "gone" not found',)


def test_uses_are_counted_while_pods_come_and_go() -> None:
    plugin, state, pod = make(VolumeRestrictions), CycleState(), pod_using("own")
    other = pod_using("own", name="other")
    nodes = view(*NODES, OWN, placed_pod("p", "a", "own"))
    info = next(nodes.infos())
    assert plugin.pre_filter(state, pod, nodes) == plugin.add_pod(state, pod, other, info)
    for expected in (False, True):
        plugin.remove_pod(state, pod, other, info)
        answer = plugin.filter_nodes(state, pod, nodes)
        assert all(answer.status(at).ok is expected for at in range(len(nodes)))


def test_without_pre_filter_the_filter_is_an_error_where_no_disk_rejects() -> None:
    plugin, nodes = make(VolumeRestrictions), view(*NODES, placed_pod("p", "a", gce("d")))
    answer = plugin.filter_nodes(CycleState(), pod_using(gce("d")), nodes)
    codes = {name: answer.status(at).code for at, name in enumerate(nodes.names)}
    assert codes == {"a": Code.UNSCHEDULABLE, "b": Code.ERROR}
