from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework import Code, NodeView, Status
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
EPHEMERAL: dict[str, Any] = {"ephemeral": {}}


def attachment(held: str, attacher: str = DRIVER, node: str = "n") -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"attachment-{held}"},
        "spec": {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": held}},
    }


@pytest.mark.parametrize(
    ("objects", "wanted", "passes"),
    [
        pytest.param([LIMIT_ONE, *TWO], ["c"], True, id="room"),
        pytest.param([LIMIT_ONE, *TWO], ["c", "d"], False, id="two of its own"),
        pytest.param([LIMIT_ONE, *TWO, placed_pod("p", "n", "d")], ["c"], False, id="one is there"),
        pytest.param([LIMIT_ONE, *TWO, placed_pod("p", "n", "c")], ["c"], True, id="the same one is there"),
        pytest.param([LIMIT_ONE, *TWO, attachment("pw")], ["c"], False, id="one is attached"),
        pytest.param(
            [csi_node("n", csi_example_com=2), *TWO, attachment("pw"), placed_pod("p", "n", "d")],
            ["c"],
            True,
            id="one is there, and attached",
        ),
        pytest.param(
            [csi_node("n", csi_example_com=2), *TWO, *(placed_pod(name, "n", "d") for name in "pq")],
            ["c"],
            True,
            id="one is there, twice in use",
        ),
        pytest.param([LIMIT_ONE, *TWO, placed_pod("p", "n", GCE)], ["c"], True, id="one without a limit"),
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
    assert verdicts(make(NodeVolumeLimits, kube="1.36"), pod_using("c"), nodes)["n"].ok


@pytest.mark.parametrize(("kube", "passes"), [("1.35", False), ("1.36", True)])
def test_before_1_36_all_drivers_demanded_to_be_there(kube: str, passes: bool) -> None:
    plugin = make(NodeVolumeLimits, kube=kube, gates={SCALING_GATE: True})
    nodes = view(node_manifest("n"), *TWO, csi_driver(), csi_node("n"))
    assert verdicts(plugin, pod_using("c"), nodes)["n"].ok is passes


OWNED: dict[str, Any] = {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "p", "controller": True}]}
HELD: tuple[tuple[Any, ...], ...] = (("c",), ("d", GCE), (EPHEMERAL,))
CHANGES = [
    *(Remove("Node", "", name) for name in "nm"),
    *(
        Put(from_manifest(manifest))
        for manifest in (
            node_manifest("n"),
            node_manifest("m"),
            csi_node("n", csi_example_com=1),
            csi_node("n", csi_example_com=2, pd_csi_storage_gke_io=1),
            csi_node("n", csi_example_com=None),
            csi_node("m", csi_example_com=1),
            *(
                placed_pod(name, node, *held, metadata={"uid": name})
                for name, node in (("p", "n"), ("p", "m"), ("q", "n"))
                for held in HELD
            ),
            claim("c", volume="pv"),
            claim("c", volume="pw"),
            claim("c"),
            claim("d", volume="pv"),
            claim("d"),
            claim("p-v0", volume="pw", metadata=OWNED),
            claim("p-v0"),
            volume("pv"),
            volume("pv", csi=None, **GCE),
            volume("pw"),
            volume("px", csi=None, **GCE),
            storage_class(),
            storage_class(provisioner="pd.csi.storage.gke.io"),
            attachment("pv"),
            attachment("pw"),
        )
    ),
    *(Remove("CSINode", "", name) for name in "nm"),
    *(Remove("Pod", "default", name) for name in "pq"),
    *(Remove("PersistentVolumeClaim", "default", name) for name in ("c", "d", "p-v0")),
    *(Remove("PersistentVolume", "", name) for name in ("pv", "pw")),
    Remove("StorageClass", "", "wait"),
    *(Remove("VolumeAttachment", "", f"attachment-{name}") for name in ("pv", "pw")),
]
ASKING = [pod_using(*wanted, name="x") for wanted in (("c",), ("e",), ("e", "f"), ("e", "f", "g"), (GCE,))]
MOVED = placed_pod("p", "n", "d", GCE, metadata={"uid": "p"})
BEFORE = [
    node_manifest("n"),
    node_manifest("m"),
    csi_node("n", csi_example_com=3, pd_csi_storage_gke_io=1),
    csi_node("m", csi_example_com=1, pd_csi_storage_gke_io=1),
    *(claim(name, volume=held) for name, held in (("c", "pv"), ("d", "pw"), ("e", ""), ("f", ""), ("g", ""))),
    claim("p-v0", metadata=OWNED),
    *(volume(name) for name in ("pv", "pw", "px")),
    storage_class(),
    placed_pod("p", "n", EPHEMERAL, "c", metadata={"uid": "p"}),
    placed_pod("q", "m", "d", metadata={"uid": "q"}),
    attachment("px"),
]


Asked = tuple[bool, Put | Remove, str]
"""Whether the fork changes, the change, and the names of the nodes in question, each a letter."""


def said_of(plugin: NodeVolumeLimits, state: State, names: str = "nm") -> list[dict[str, Status]]:
    index = state.snapshot.nodes.index
    rows = sorted(index[name] for name in names if name in index)
    nodes = NodeView(state.snapshot, np.array(rows, np.int32))
    return [verdicts(plugin, pod, nodes) for pod in ASKING]


def rebuilt(state: State) -> State:
    """Return a state that has had no other objects than those that are there now."""
    nodes, pods, objects = state.snapshot.nodes, state.snapshot.pods, state.snapshot.objects
    others = [item for kind in objects.kinds for item in objects.all(kind)]
    fresh = State()
    fresh.replace(
        "test",
        [
            *(node for node in nodes.nodes if node is not None),
            *(record.pod for record in pods.records.values()),
            *others,  # type: ignore[list-item] # all that a state has
        ],
    )
    return fresh


def puts(*manifests: dict[str, Any]) -> list[Asked]:
    return [(False, Put(from_manifest(manifest)), "nm") for manifest in manifests]


def removals(*named: str) -> list[Asked]:
    return [
        (False, Remove(kind, "" if kind == "Node" else "default", name), "nm")
        for kind, name in map(str.split, named)
    ]


@example(
    [
        *removals("PersistentVolumeClaim d"),
        *((on_fork, Put(from_manifest(MOVED)), "nm") for on_fork in (True, False)),
    ]
)
@example(puts(claim("p-v0"), claim("p-v0", metadata=OWNED)))
@example(puts(attachment("px", node="m")))
@example([*removals("Pod p", "Pod q", "Node n", "Node m"), *puts(node_manifest("n"))])
@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from(CHANGES), st.sampled_from(("nm", "nm", "n", "m"))),
        min_size=1,
        max_size=8,
    )
)
def test_what_was_counted_before_never_shows(history: list[Asked]) -> None:
    """A plugin that saw a state and its fork change gives the answers of a new one, which sees only the
    result.
    """
    state = State()
    state.replace("test", [from_manifest(manifest) for manifest in BEFORE])
    plugin = make(NodeVolumeLimits)
    said_of(plugin, state)
    fork = state.fork()
    fork.replace("test", [from_manifest(manifest) for manifest in BEFORE])
    for on_fork, change, names in history:
        one = fork if on_fork else state
        one.apply("test", [change])
        assert said_of(plugin, one, names) == said_of(make(NodeVolumeLimits), rebuilt(one), names)
    for one in state, fork:
        assert said_of(plugin, one) == said_of(make(NodeVolumeLimits), rebuilt(one))
