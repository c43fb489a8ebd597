"""A plugin that works through a pod's lists ends soon after its caller has left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    SUCCESS,
    CacheablePlugin,
    CycleState,
    Dependencies,
    FilterPlugin,
    NodeInfo,
    Part,
    Plugin,
    Pod,
    ScorePlugin,
    Status,
)
from mooring.framework.deadline import LOOK_EVERY, check_deadline, timely
from mooring.framework.errors import DeadlineExceededError
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import Manifest, make_node, make_pod, node_manifest
from mooring.testing.question import NoBinder
from tests.plugins.test_dynamic_resources import claim, device_class, exactly, slice_of, where
from tests.scheduler.world import configuration

MANY = 6 * LOOK_EVERY
ZONE = "topology.kubernetes.io/zone"
NODES = [f"n{at}" for at in range(4 * LOOK_EVERY)]


class Leaving:
    """A caller that leaves while ``plugin`` runs at ``point``, at the plugin's second check of
    the deadline.
    """

    def __init__(self, plugin: str, point: str) -> None:
        self.plugin = self.extension_point = self.answered_by = ""
        self.may_call_plugins = True
        self._leaves_at = plugin, point
        self._looks = 0

    def check(self) -> None:
        if (self.plugin, self.extension_point) != self._leaves_at:
            return
        self._looks += 1
        if self._looks > 2:
            raise DeadlineExceededError("gone", plugin=self.plugin, extension_point=self.extension_point)


class EachNodeFilter(FilterPlugin[None], CacheablePlugin):
    """A plugin as an author writes it, one node per call. It counts the pods that it signs."""

    name = "EachNodeFilter"
    signed = 0

    def dependencies(self, pod: Pod) -> Dependencies:
        type(self).signed += 1
        return Dependencies(signature=(), parts=Part.NONE)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS


class EachNodeScore(ScorePlugin[None]):
    """The same for Score."""

    name = "EachNodeScore"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 0


def _engine(objects: Sequence[Manifest] = (), plugins: Sequence[type[Plugin[Any]]] = ()) -> Engine:
    """Return nodes with a taint each, and a placed pod on each that leaves one CPU of four."""
    soft = [{"key": "soft", "value": "x", "effect": "PreferNoSchedule"}]
    nodes = [make_node(name, labels={ZONE: name}, taints=soft, allocatable={"pods": 9}) for name in NODES]
    placed = [make_pod(f"on-{name}", node=name, requests={"cpu": 3}) for name in NODES]
    state = State()
    state.replace("test", [*nodes, *placed, *map(from_manifest, objects)])
    registry = new_in_tree_registry()
    for plugin in plugins:
        registry.register(plugin.name, plugin)
    config = from_document(configuration(plugins, ["default-scheduler"]), registry.catalog())
    return build_engine(config, registry, state, NoBinder())


def _node_affinity(**terms: Any) -> Manifest:
    return {"affinity": {"nodeAffinity": terms}}


def _not_there(at: int) -> Manifest:
    return {"matchExpressions": [{"key": f"k{at}", "operator": "In", "values": ["v"]}]}


def _near(at: int) -> Manifest:
    return {"labelSelector": {"matchLabels": {f"k{at}": "v"}}, "topologyKey": ZONE}


def _pods_affinity(kind: str, *, required: bool) -> Manifest:
    if required:
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [*map(_near, range(MANY))]}
    else:
        weighted = [{"weight": 1, "podAffinityTerm": _near(at)} for at in range(MANY)]
        terms = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
    return {"affinity": {kind: terms}}


def _spread(action: str) -> Manifest:
    constraints = [
        {"maxSkew": 1, "whenUnsatisfiable": action, **_near(at), "topologyKey": ZONE} for at in range(MANY)
    ]
    return {"topologySpreadConstraints": constraints}


def _claimed(name: str) -> Manifest:
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}


def _volumes() -> list[Manifest]:
    """Return a claim for each of MANY volumes, all of them bound."""
    found = []
    for at in range(MANY):
        source = {"driver": "disk.example", "volumeHandle": f"v{at}"}
        reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": f"v{at}"}
        size, mode = {"storage": "1Gi"}, ["ReadWriteMany"]
        volume = {"accessModes": mode, "capacity": size, "claimRef": reference, "csi": source}
        asked = {"accessModes": mode, "resources": {"requests": size}, "volumeName": f"v{at}"}
        bound = {"pv.kubernetes.io/bind-completed": "yes"}
        own = {"name": f"v{at}", "namespace": "default", "annotations": bound}
        found += [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"v{at}", "labels": {ZONE: NODES[0]}},
                "spec": volume,
            },
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": own, "spec": asked},
        ]
    return found


CLAIMING = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
MODELS = [{"attributes": {"model": {"string": f"m{at}"}}} for at in range(8)]
DEVICES = [device_class(), *(slice_of(name, *MODELS) for name in NODES)]
NEVER = where("device.attributes['gpu.example.com'].model == 'none'")
LABELS = {f"k{at}": "v" for at in range(MANY)}
PORTS = [{"containerPort": 1, "hostPort": 1000 + at} for at in range(MANY)]


@pytest.mark.parametrize(
    ("plugin", "point", "spec", "objects"),
    [
        pytest.param(
            "NodeResourcesFit",
            "Filter",
            {
                "containers": [
                    {
                        "name": "c",
                        "image": "i",
                        "resources": {"requests": {f"example.com/r{at}": 1 for at in range(MANY)}},
                    }
                ]
            },
            [],
            id="resources",
        ),
        pytest.param(
            "NodeAffinity",
            "Filter",
            _node_affinity(
                requiredDuringSchedulingIgnoredDuringExecution={
                    "nodeSelectorTerms": [*map(_not_there, range(MANY))]
                }
            ),
            [],
            id="required terms of nodes",
        ),
        pytest.param(
            "NodeAffinity",
            "PreScore",
            _node_affinity(
                preferredDuringSchedulingIgnoredDuringExecution=[
                    {"weight": 1, "preference": _not_there(at)} for at in range(MANY)
                ]
            ),
            [],
            id="preferred terms of nodes",
        ),
        pytest.param(
            "NodeAffinity",
            "Filter",
            {"nodeSelector": LABELS},
            [node_manifest("labelled", labels=LABELS)],
            id="labels of nodes",
        ),
        pytest.param(
            "InterPodAffinity", "PreFilter", _pods_affinity("podAffinity", required=True), [], id="affinity"
        ),
        pytest.param(
            "InterPodAffinity",
            "PreFilter",
            _pods_affinity("podAntiAffinity", required=True),
            [],
            id="anti-affinity",
        ),
        pytest.param(
            "InterPodAffinity",
            "PreFilter",
            _pods_affinity("podAffinity", required=False),
            [],
            id="preferred affinity",
        ),
        pytest.param("PodTopologySpread", "PreFilter", _spread("DoNotSchedule"), [], id="hard spread"),
        pytest.param("PodTopologySpread", "PreScore", _spread("ScheduleAnyway"), [], id="soft spread"),
        pytest.param(
            "TaintToleration",
            "Score",
            {"tolerations": [{"key": f"k{at}", "operator": "Exists"} for at in range(MANY)]},
            [],
            id="tolerations",
        ),
        pytest.param(
            "NodePorts",
            "Filter",
            {"containers": [{"name": "c", "image": "i", "ports": PORTS}]},
            [],
            id="ports",
        ),
        pytest.param(
            "VolumeBinding",
            "PreFilter",
            {"volumes": [_claimed(f"v{at}") for at in range(MANY)]},
            _volumes(),
            id="volumes",
        ),
        pytest.param(
            "DynamicResources",
            "PreFilter",
            {"resourceClaims": [{"name": f"c{at}", "resourceClaimName": f"c{at}"} for at in range(MANY)]},
            [device_class(), *(claim(f"c{at}") for at in range(MANY))],
            id="claims",
        ),
        pytest.param(
            "DynamicResources",
            "Filter",
            CLAIMING,
            [*DEVICES, claim("c", exactly(selectors=NEVER))],
            id="devices",
        ),
        pytest.param("EachNodeFilter", "Filter", {}, [], id="an author's nodes at Filter"),
        pytest.param("EachNodeScore", "Score", {}, [], id="an author's nodes at Score"),
        pytest.param("DefaultPreemption", "PostFilter", {"priority": 9}, [], id="victims"),
    ],
)
def test_a_plugin_ends_with_the_call(
    plugin: str, point: str, spec: Manifest, objects: list[Manifest]
) -> None:
    engine = _engine(objects, [EachNodeFilter, EachNodeScore])
    requests = {"cpu": 2} if plugin == "DefaultPreemption" else {}
    pod = make_pod("asked", metadata={"uid": "asked"}, spec=spec, requests=requests)
    with pytest.raises(DeadlineExceededError) as ended:
        engine.decide(pod, engine.profile(), ALL_NODES, progress=Leaving(plugin, point))
    assert ended.value.metadata == {"plugin": plugin, "extension_point": point}
    check_deadline()  # Outside of a plugin no caller waits.
    assert engine.decide(pod, engine.profile(), ALL_NODES).evaluated is not None


def test_what_lists_little_is_gone_through_as_it_is() -> None:
    few = list(range(LOOK_EVERY))
    assert timely(few) is few
    assert list(timely(range(MANY))) == list(range(MANY))


def test_a_large_pod_is_not_signed() -> None:
    """Signing it has no clock, and every evaluation in full has."""
    engine = _engine(plugins=[EachNodeFilter])
    chosen = []
    for size, signs in ((1 << 10, True), (1 << 18, False)):
        pod = make_pod("asked", metadata={"uid": "asked", "annotations": {"note": "x" * size}})
        before = EachNodeFilter.signed
        chosen.append(engine.decide(pod, engine.profile(), ALL_NODES).node_name)
        assert (EachNodeFilter.signed > before) is signs
    assert chosen[0] == chosen[1]
