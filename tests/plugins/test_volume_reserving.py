"""VolumeBinding after the choice: volumes are kept, written, waited for, and given back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from mooring.framework import Pod
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim
from mooring.plugins.volume_binding.plugin import VolumeBinding
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing import make_node
from tests.fake_api_server import Answer, FakeApiServer
from tests.plugins.storage import BOUND, DRIVER, claim, pod_using, storage_class, volume
from tests.runtime.committing import World, committing

SELECTED = "volume.kubernetes.io/selected-node"
LOCAL = storage_class(provisioner="kubernetes.io/no-provisioner")
MADE = storage_class(provisioner=DRIVER)


def using(name: str, *claims: str) -> dict[str, Any]:
    volumes = [
        {"name": f"v{at}", "persistentVolumeClaim": {"claimName": claim}} for at, claim in enumerate(claims)
    ]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes},
    }


Controller = Callable[[FakeApiServer, dict[str, Any]], None]
"""Called with each claim that isn't bound."""


def binds_what_is_kept(fake: FakeApiServer, pending: dict[str, Any]) -> None:
    """As the controller of volumes does once a volume names its claim."""
    for kept in fake.all("PersistentVolume"):
        if (kept["spec"].get("claimRef") or {}).get("uid") == pending["metadata"]["uid"]:
            bind_claim(fake, pending, kept["metadata"]["name"])


def makes_what_is_selected(fake: FakeApiServer, pending: dict[str, Any]) -> None:
    """As a driver does once a claim names its node."""
    if SELECTED in pending["metadata"].get("annotations", {}):
        name = f"made-for-{pending['metadata']['name']}"
        fake.add(volume(name, claimRef={"namespace": "default", "name": pending["metadata"]["name"]}))
        bind_claim(fake, pending, name)


def fails_to_make(fake: FakeApiServer, pending: dict[str, Any]) -> None:
    """As a driver does when it can't: another node is to be chosen."""
    if pending["metadata"].get("annotations", {}).pop(SELECTED, None):
        fake.add(pending)


def does_nothing(fake: FakeApiServer, pending: dict[str, Any]) -> None:
    """The controller is down."""


def bind_claim(fake: FakeApiServer, pending: dict[str, Any], volume_name: str) -> None:
    pending["metadata"].setdefault("annotations", {}).update(BOUND)
    pending["spec"]["volumeName"] = volume_name
    fake.add(pending)


@contextmanager
def volumes_world(controller: Controller, *objects: dict[str, Any]) -> Iterator[World]:
    """Yield objects at the API server, and a controller that looks after claims."""
    stopped = threading.Event()

    def control(fake: FakeApiServer) -> None:
        while not stopped.wait(0.01):
            for pending in fake.all("PersistentVolumeClaim"):
                if not pending["spec"].get("volumeName"):
                    controller(fake, pending)

    with committing(VolumeBinding) as world:
        world.add(*objects)
        thread = threading.Thread(target=control, args=(world.fake,))
        thread.start()
        try:
            yield world
        finally:
            stopped.set()
            thread.join()


def place(world: World, pod: Pod) -> str:
    """Return the node, or why there is none."""
    placement = world.committer.place_pod(pod, world.engine.profile(), ALL_NODES)
    return (placement.choice.node_name or "") if placement.status.ok else placement.status.message


def test_a_volume_is_kept_for_the_claim_before_the_pod_is_bound() -> None:
    with volumes_world(binds_what_is_kept, LOCAL, claim(), volume()) as world:
        (pod,) = world.add(using("p", "c"))
        assert place(world, pod) in ("a", "b")
        kept = world.fake.get("PersistentVolume", "pv")
        assert kept is not None
        assert kept["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
        reference = kept["spec"]["claimRef"]
        assert (reference["kind"], reference["name"], reference["uid"]) == (
            "PersistentVolumeClaim",
            "c",
            "uid-c",
        )
        writes = [entry.call.path.rsplit("/", 1)[-1] for entry in world.fake.history.all() if entry.object]
        assert writes == ["pv", "binding"]
        world.settle()
        found = world.state.snapshot.objects.get(PersistentVolumeClaim, "c", "default")
        assert found is not None
        assert found.spec.volume_name == "pv"


def test_a_volume_is_made_for_the_node_before_the_pod_is_bound() -> None:
    with volumes_world(makes_what_is_selected, MADE, claim()) as world:
        (pod,) = world.add(using("p", "c"))
        node = place(world, pod)
        pending = world.fake.get("PersistentVolumeClaim", "c")
        assert pending is not None
        assert pending["metadata"]["annotations"][SELECTED] == node
        assert world.pod("p").spec.node_name == node


def test_a_volume_that_can_not_be_made_leaves_nothing_behind() -> None:
    with volumes_world(fails_to_make, MADE, claim()) as world:
        (pod,) = world.add(using("p", "c"))
        assert 'provisioning failed for PVC "c"' in place(world, pod)
        world.settle()
        world.check(room=10)
        found = world.state.snapshot.objects.get(PersistentVolumeClaim, "c", "default")
        assert found is not None
        assert SELECTED not in found.metadata.annotations
        assert not world.pod("p").spec.node_name


def test_a_volume_that_changed_meanwhile_is_left_alone() -> None:
    with volumes_world(does_nothing, LOCAL, claim(), volume()) as world:
        (pod,) = world.add(using("p", "c"))
        changed = world.fake.get("PersistentVolume", "pv")
        assert changed is not None
        changed["metadata"]["labels"] = {"touched": "yes"}
        world.fake.add(changed)
        assert "has been modified" in place(world, pod)
        world.settle()
        kept = world.state.snapshot.objects.get(PersistentVolume, "pv")
        assert kept is not None
        assert kept.spec.claim_ref is None
        assert world.fake.history.bindings() == []


def test_a_volume_is_waited_for_no_longer_than_the_arguments_say() -> None:
    with volumes_world(does_nothing, LOCAL, claim(), volume()) as world:
        (pod,) = world.add(using("p", "c"))
        plugin = next(e.plugin for e in world.engine.profile().pre_bind if e.name == "VolumeBinding")
        assert isinstance(plugin, VolumeBinding)
        plugin.args = type(plugin.args)(bind_timeout_seconds=0)
        assert "not done within 0 s" in place(world, pod)


def test_two_pods_never_get_one_volume() -> None:
    names = [f"{at}" for at in range(12)]
    objects = [claim(f"c{name}") for name in names] + [volume(f"pv{name}") for name in names[:8]]
    with volumes_world(binds_what_is_kept, LOCAL, *objects) as world:
        pods = world.add(*(using(f"p{name}", f"c{name}") for name in names))
        with ThreadPoolExecutor(6) as callers:
            placed = list(callers.map(lambda pod: place(world, pod), pods))
        assert sum(node in ("a", "b") for node in placed) == 8
        world.settle()
        world.check(room=10)
        owners = [item["spec"]["claimRef"]["uid"] for item in world.fake.all("PersistentVolume")]
        assert len(set(owners)) == 8


def test_what_one_decision_keeps_the_next_one_sees() -> None:
    with volumes_world(does_nothing, LOCAL, claim("c"), claim("d"), volume()) as world:
        first, second = world.add(using("p", "c"), using("q", "d"))
        profile = world.engine.profile()
        assert world.committer.reserve_pod(first, "a", profile).status.ok
        assert "didn't find available" in world.committer.reserve_pod(second, "a", profile).status.message
        assert world.committer.unreserve_pod("default", "p", "uid-p")
        assert world.committer.reserve_pod(second, "b", profile).status.ok


def test_a_failing_write_gives_everything_back() -> None:
    with volumes_world(binds_what_is_kept, LOCAL, claim(), volume()) as world:
        (pod,) = world.add(using("p", "c"))
        world.fake.faults.on("PATCH", "/persistentvolumes/pv$", Answer(403), times=1)
        assert "rejected the attempt to write PersistentVolume pv" in place(world, pod)
        assert place(world, pod) in ("a", "b")


def test_without_an_api_server_a_volume_is_kept_in_the_state() -> None:
    from mooring.cluster.binding import LocalBinder
    from mooring.cluster.manifests import objects_from
    from mooring.cluster.state import State
    from mooring.config import from_document
    from mooring.runtime.assembly import build_engine
    from mooring.runtime.commit.binding_cycle import BindingCycle
    from mooring.runtime.commit.committer import Committer
    from tests.runtime.fakes import profile, registry_of

    state = State()
    manifests = [LOCAL, claim("c"), claim("d"), volume()]
    state.replace("test", [make_node("a"), *objects_from(manifests).objects])
    registry = registry_of([])
    document = profile([VolumeBinding])
    engine = build_engine(from_document(document, registry.catalog()), registry, state, LocalBinder(state))
    committer = Committer(BindingCycle(engine))
    first = committer.place_pod(pod_using("c", name="p"), engine.profile(), ALL_NODES)
    second = committer.place_pod(pod_using("d", name="q"), engine.profile(), ALL_NODES)
    assert (first.status.ok, second.status.ok) == (True, False)
