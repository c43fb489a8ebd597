"""Pods with claims: decided from the cached values of pods without claims, and then by their claims, as in
full.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.framework import Pod
from mooring.runtime.cache.outcome import Bypass
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions, evaluate
from mooring.runtime.cycle.full_cycle import select
from mooring.testing import make_pod
from mooring.testing.builders import Manifest
from tests.examples import examples
from tests.runtime.test_cached_equals_full import (
    EMPTY_DOCUMENT,
    EMPTY_NODES,
    HOST,
    NODES,
    SMALL,
    ZONE,
    History,
    Step,
    near,
    preferring,
    spread,
)

DRIVER, DEVICES, EXTENDED = "csi.example.com", "dra.example.com", "example.com/gpu"
VOLUMES = ("v0", "v1", "v2")
STORAGE = "storage.k8s.io/v1"


def claiming(*names: str) -> Manifest:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]}


def with_devices(*names: str) -> Manifest:
    return {"resourceClaims": [{"name": name, "resourceClaimName": name} for name in names]}


KINDS: dict[str, dict[str, Any]] = {
    "plain": {"requests": SMALL},
    "bound": {"requests": SMALL, "spec": claiming("v0")},
    "bound to two": {"requests": SMALL, "spec": claiming("v0", "v1")},
    "waiting": {"requests": SMALL, "spec": claiming("w0")},
    "preferring": {"requests": SMALL, "spec": {**claiming("v1"), **preferring("disk", "gpu")}},
    "tolerating": {"requests": SMALL, "spec": {**claiming("v1"), "tolerations": [{"operator": "Exists"}]}},
    "spread": {"labels": {"app": "a"}, "spec": {**claiming("v0"), **spread(ZONE, "DoNotSchedule")}},
    "spread softly": {"labels": {"app": "a"}, "spec": {**claiming("v1"), **spread(ZONE, "ScheduleAnyway")}},
    "apart": {
        "labels": {"app": "a"},
        "spec": {**claiming("v2"), **near("podAntiAffinity", HOST, required=True)},
    },
    "a disk": {"spec": {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}]}},
    "a device": {"requests": SMALL, "spec": with_devices("d0")},
    "two devices": {"requests": SMALL, "spec": with_devices("d0", "d1")},
    "a device and a volume": {"spec": {**with_devices("d1"), **claiming("v0")}},
    "devices as a resource": {"requests": {**SMALL, EXTENDED: "1"}},
    "a device, and more as a resource": {"requests": {**SMALL, EXTENDED: "1"}, "spec": with_devices("d0")},
    "devices, and spread": {
        "labels": {"app": "a"},
        "spec": {**with_devices("d0"), **spread(ZONE, "DoNotSchedule")},
    },
}

MANY: list[Step] = [("node", name, "16", f"z{at % 2}", None, set(), False) for at, name in enumerate(NODES)]


@st.composite
def histories(draw: st.DrawFn, *kinds: str) -> list[Step]:
    """Decisions about a few kinds of pods above all, of ``kinds`` if there are any."""
    some = draw(st.lists(st.sampled_from(kinds or sorted(KINDS)), min_size=1, max_size=3))
    decide = st.tuples(st.just("decide"), st.sampled_from(some))
    nodes, zones = st.sampled_from(NODES), st.sampled_from(("z1", "z2", None))
    others = st.one_of(
        st.just(("forget",)),
        st.tuples(
            st.just("node"),
            nodes,
            st.sampled_from(("2", "4")),
            zones,
            st.sampled_from((None, "soft")),
            st.sets(st.sampled_from(("disk", "gpu"))),
            st.booleans(),
        ),
        st.tuples(st.just("placed"), st.integers(0, 3), st.sampled_from(sorted(KINDS)), nodes),
        st.tuples(st.just("remove_pod"), st.integers(0, 3)),
        st.tuples(st.just("remove_node"), nodes),
        st.tuples(st.just("volume"), st.sampled_from(VOLUMES), zones),
        st.tuples(st.just("claim"), st.sampled_from((*VOLUMES, "w0")), st.booleans()),
        st.tuples(st.just("limit"), nodes, st.integers(0, 2)),
        st.tuples(st.just("zonal"), st.sampled_from(VOLUMES), zones),
        st.tuples(st.just("driver"), st.booleans()),
        st.tuples(st.just("storage_class"), st.booleans()),
        st.tuples(st.just("slice"), nodes, st.integers(0, 2)),
        st.tuples(st.just("shared_slice"), st.sampled_from(("", "z1")), st.integers(0, 2)),
        st.tuples(st.just("device_claim"), st.sampled_from(("d0", "d1")), st.sampled_from(("", *NODES))),
        st.tuples(st.just("device_class"), st.booleans()),
        st.tuples(
            st.just("remove"),
            st.sampled_from(("PersistentVolume", "ResourceSlice", "CSINode")),
            st.sampled_from((*NODES, *VOLUMES)),
        ),
    )
    return draw(st.lists(st.one_of(decide, decide, others), min_size=5, max_size=40))


class ClaimHistory(History):
    """A history in which pods have claims."""

    def __init__(self, document: Manifest | None = None) -> None:
        super().__init__(document)
        self.run([("storage_class", True), ("device_class", True)])
        self.run([("volume", name, None) for name in VOLUMES])
        self.run([("claim", name, True) for name in VOLUMES])
        self.run([("claim", "w0", False), ("device_claim", "d0", ""), ("device_claim", "d1", "")])
        self.run([("slice", name, 2) for name in NODES])

    def _offers_beside(self, labels: set[str]) -> Manifest:
        """Return a node's resources; some nodes have a device plugin."""
        return {EXTENDED: 2} if "gpu" in labels else {}

    def placed(self, number: int, template: str, node: str) -> None:
        name = f"placed-{number}"
        self.state.apply("test", [Put(make_pod(name, node=node, metadata={"uid": name}, **KINDS[template]))])

    def _in_full(self, pod: Pod, seed: int, start: int) -> Choice:
        """Decide on a private copy, which plugins do not see."""
        run = partial(evaluate, options=CycleOptions(start=start))
        profile, copy = self.engine.profile(), self.state.fork()
        return select(*self.engine.evaluate(pod, profile, ALL_NODES, run=run, state=copy), seed)

    def decide(self, template: str) -> None:
        self._decide(**KINDS[template])

    def volume(self, name: str, zone: str | None) -> None:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if zone else {}
        spec = {"accessModes": ["ReadWriteMany"], "csi": {"driver": DRIVER, "volumeHandle": name}, **affinity}
        self._put("PersistentVolume", "v1", name, spec=spec, status={"phase": "Bound"})

    def zonal(self, name: str, zone: str | None) -> None:
        metadata = {"labels": {ZONE: zone}} if zone else {}
        spec = {"accessModes": ["ReadWriteMany"], "csi": {"driver": DRIVER, "volumeHandle": name}}
        self._put("PersistentVolume", "v1", name, "", metadata, spec=spec, status={"phase": "Bound"})

    def driver(self, demands: bool) -> None:
        self._put("CSIDriver", STORAGE, DRIVER, spec={"preventPodSchedulingIfMissing": demands})

    def claim(self, name: str, bound: bool) -> None:
        metadata = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if bound else {}
        spec = {"storageClassName": "disk", "resources": {"requests": {"storage": "1Gi"}}}
        spec |= {"volumeName": name} if bound else {}
        self._put("PersistentVolumeClaim", "v1", name, "default", metadata, spec=spec)

    def limit(self, node: str, count: int) -> None:
        drivers = [{"name": DRIVER, "nodeID": node, "allocatable": {"count": count}}]
        self._put("CSINode", STORAGE, node, spec={"drivers": drivers})

    def storage_class(self, waits: bool) -> None:
        mode = "WaitForFirstConsumer" if waits else "Immediate"
        self._put("StorageClass", STORAGE, "disk", provisioner=DRIVER, volumeBindingMode=mode)

    def slice(self, node: str, devices: int) -> None:
        self._slice(node, {"nodeName": node}, devices)

    def shared_slice(self, zone: str, devices: int) -> None:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        where = {"nodeSelector": {"nodeSelectorTerms": [term]}} if zone else {"allNodes": True}
        self._slice("shared", where, devices)

    def _slice(self, name: str, where: Manifest, devices: int) -> None:
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        named = [{"name": f"{name}-{at}"} for at in range(devices)]
        spec = {"driver": DEVICES, "pool": pool, "devices": named, **where}
        self._put("ResourceSlice", "resource.k8s.io/v1", name, spec=spec)

    def device_class(self, extended: bool) -> None:
        spec = {"extendedResourceName": EXTENDED} if extended else {}
        self._put("DeviceClass", "resource.k8s.io/v1", "class", spec=spec)

    def device_claim(self, name: str, node: str) -> None:
        """A claim, which has a device of the node."""
        request = {"name": "r", "exactly": {"deviceClassName": "class", "count": 1}}
        result = {"request": "r", "driver": DEVICES, "pool": node, "device": f"{node}-0"}
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        allocation = {"devices": {"results": [result]}, "nodeSelector": selector}
        self._put(
            "ResourceClaim",
            "resource.k8s.io/v1",
            name,
            "default",
            spec={"devices": {"requests": [request]}},
            status={"allocation": allocation} if node else {},
        )

    def remove(self, kind: str, name: str) -> None:
        self.state.apply("test", [Remove(kind, "", name)])

    def _put(
        self,
        kind: str,
        version: str,
        name: str,
        namespace: str = "",
        meta: Manifest | None = None,
        **fields: Any,
    ) -> None:
        metadata = {"name": name, "uid": f"uid-{name}", **(meta or {})}
        metadata |= {"namespace": namespace} if namespace else {}
        self.state.apply(
            "test",
            [Put(from_manifest({"apiVersion": version, "kind": kind, "metadata": metadata, **fields}))],
        )


@examples(200)
@given(histories())
def test_decisions_for_pods_with_claims_are_those_in_full(later: list[Step]) -> None:
    ClaimHistory().run([*EMPTY_NODES, *later])


@examples(50)
@given(histories())
def test_so_are_those_of_a_search_that_ends_early(later: list[Step]) -> None:
    ClaimHistory({**EMPTY_DOCUMENT, "percentageOfNodesToScore": 40}).run([*EMPTY_NODES, *later])


SCORED = {"type": "LeastAllocated", "resources": [{"name": "cpu"}, {"name": EXTENDED, "weight": 3}]}


@pytest.mark.parametrize(
    "args",
    [
        pytest.param({}, id="by-default"),
        pytest.param({"scoringStrategy": SCORED}, id="scored"),
        pytest.param({"scoringStrategy": SCORED, "ignoredResources": [EXTENDED]}, id="scored-not-checked"),
    ],
)
def test_so_are_those_for_pods_that_ask_for_devices_as_a_resource(args: Manifest) -> None:
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}

    @examples(50)
    @given(histories("devices as a resource", "a device, and more as a resource", "plain"))
    def run(later: list[Step]) -> None:
        ClaimHistory({**EMPTY_DOCUMENT, "profiles": [profile]}).run([*EMPTY_NODES, *later])

    run()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_pods_with_claims_are_decided_from_what_is_kept(kind: str) -> None:
    history = ClaimHistory().run([*MANY, *[("decide", kind)] * 3])
    assert history.kept, history.engine.cache_counts.bypasses()
    assert Bypass.UNSIGNED not in history.engine.cache_counts.bypasses()


def test_pods_with_different_claims_share_an_evaluation() -> None:
    history = ClaimHistory().run([*MANY, ("decide", "plain"), ("decide", "bound"), ("decide", "waiting")])
    history.run([("decide", "bound to two"), ("decide", "bound"), ("decide", "waiting")])
    counts = history.engine.cache_counts
    assert (counts.hits, counts.misses) == (10, 2)


def test_pods_that_ask_for_devices_as_a_resource_are_evaluated_anew_when_classes_change_alone() -> None:
    decide = ("decide", kind := "a device, and more as a resource")
    placed = [("placed", at, kind, f"n{at}") for at in range(4)]
    history = ClaimHistory().run([*MANY, decide, decide])
    counts = history.engine.cache_counts
    begun = counts.misses
    history.run([("slice", "n1", 3), ("slice", "n1", 4), decide])
    assert counts.misses == begun
    # It was learned what nodes are worth that devices stand in for; now none do.
    history.run([("device_class", False), decide, *placed, decide])
    history.run([("device_class", True), decide])
    assert counts.misses > begun


def test_a_pod_has_claims_as_soon_as_devices_may_stand_for_what_it_asks_for() -> None:
    decide = ("decide", "devices as a resource")
    plugged = ("node", "n1", "16", "z1", None, {"gpu"}, False)
    history = ClaimHistory().run([*MANY, plugged, ("device_class", False), decide, decide])
    assert history.kept
    history.run([("device_class", True), decide, decide, decide, ("device_class", False), decide, decide])
    assert Bypass.UNSIGNED not in history.engine.cache_counts.bypasses()
