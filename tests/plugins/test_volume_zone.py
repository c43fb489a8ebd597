from collections.abc import Mapping
from typing import Any

import pytest

from mooring.framework import Code, CycleState
from mooring.plugins.volume_zone.plugin import REASON, VolumeZone
from mooring.testing.builders import node_manifest
from tests.plugins.harness import make, pre_filter, verdicts
from tests.plugins.storage import WAIT, ZONE, claim, pod_using, storage_class, view, volume

REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"


@pytest.mark.parametrize(
    ("node", "labels", "passes"),
    [
        pytest.param({ZONE: "x"}, {ZONE: "x"}, True, id="the zone"),
        pytest.param({ZONE: "y"}, {ZONE: "x"}, False, id="another zone"),
        pytest.param({}, {ZONE: "x"}, True, id="a node without zones"),
        pytest.param({REGION: "r"}, {ZONE: "x"}, False, id="a node with a region alone"),
        pytest.param({ZONE: "y"}, {ZONE: "x__y"}, True, id="one of several"),
        pytest.param({ZONE: "y"}, {ZONE: "x__"}, True, id="a list with an empty part is left out"),
        pytest.param({ZONE: "x", REGION: "s"}, {ZONE: "x", REGION: "r"}, False, id="another region"),
        pytest.param({ZONE: "x"}, {OLD_ZONE: "x"}, True, id="a label of old, a node of today"),
        pytest.param({ZONE: "y"}, {OLD_ZONE: "x"}, False, id="a label of old, another zone"),
        pytest.param({OLD_ZONE: "y", ZONE: "x"}, {OLD_ZONE: "x"}, False, id="the node's label of old first"),
        pytest.param({OLD_REGION: "r"}, {REGION: "r"}, False, id="a label of today, a node of old"),
        pytest.param({REGION: "r"}, {OLD_REGION: "r"}, True, id="a region of old"),
        pytest.param({ZONE: "y"}, {"zone": "x"}, True, id="a label that says nothing"),
    ],
)
def test_filter(node: Mapping[str, str], labels: Mapping[str, str], passes: bool) -> None:
    bound = volume(metadata={"labels": dict(labels)})
    nodes = view(node_manifest("n", labels=node), claim(volume="pv"), bound)
    said = verdicts(make(VolumeZone), pod_using("c"), nodes)["n"]
    assert said.ok is passes
    if not passes:
        assert (said.code, said.reasons) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON,))


@pytest.mark.parametrize(
    ("objects", "code", "reason"),
    [
        pytest.param(
            [], Code.UNSCHEDULABLE_AND_UNRESOLVABLE, 'persistentvolumeclaim "c" not found', id="no claim"
        ),
        pytest.param(
            [claim(volume="gone")],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            'persistentvolume "gone" not found',
            id="no volume",
        ),
        pytest.param(
            [claim(storage_class=None)],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(
            [claim()],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            'storageclass.storage.k8s.io "wait" not found',
            id="no class of that name",
        ),
        pytest.param(
            [claim(), storage_class(mode="Immediate")],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "PersistentVolume had no name",
            id="should have been bound",
        ),
        pytest.param(
            [claim(), storage_class(mode=None)],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "PersistentVolume had no name",
            id="a class that doesn't say is one that binds at once",
        ),
        pytest.param([claim(), storage_class(mode=WAIT)], Code.SKIP, "", id="waits for its pod"),
        pytest.param([claim(volume="pv"), volume()], Code.SKIP, "", id="a volume without labels"),
    ],
)
def test_pre_filter(objects: list[dict[str, Any]], code: Code, reason: str) -> None:
    early = pre_filter(make(VolumeZone), pod_using("c"), view(node_manifest("n"), *objects))
    assert (getattr(early, "code", None), getattr(early, "reasons", None)) == (
        code,
        (reason,) if reason else (),
    )


def test_without_pre_filter_the_filter_finds_out_itself() -> None:
    nodes = view(
        node_manifest("n", labels={ZONE: "y"}), claim(volume="pv"), volume(metadata={"labels": {ZONE: "x"}})
    )
    for name, reason in (("c", REASON), ("gone", 'persistentvolumeclaim "gone" not found')):
        answer = make(VolumeZone).filter_nodes(CycleState(), pod_using(name), nodes)
        assert answer.status(0).reasons == (reason,)
