"""A claim that pods share without an API server: they use it from Reserve on, and give it back."""

from __future__ import annotations

from mooring.cluster.decoding import from_manifest
from mooring.framework.objects.claims import ResourceClaim
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing import make_node, make_pod
from tests.plugins.test_dynamic_resources import claim, device_class, slice_of
from tests.runtime.test_group_cycle import engine_of

CLAIMED = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}


def test_the_devices_are_free_once_the_last_user_has_left() -> None:
    pods = [make_pod(name, metadata={"uid": name}, spec=CLAIMED) for name in ("first", "second")]
    objects = [from_manifest(each) for each in (device_class(), slice_of("a", {"name": "d"}), claim("c"))]
    engine = engine_of(make_node("a"), *pods, *objects, gates={}, version="1.37")
    committer = Committer(BindingCycle(engine))

    def seen() -> tuple[list[str], bool]:
        found = engine.state.snapshot.objects.get(ResourceClaim, "c", "default")
        assert found is not None
        return [user.name for user in found.status.reserved_for], found.status.allocation is not None

    states = [seen()]
    for pod in pods:
        placed = committer.place_reserved(pod, engine.profile("", pod), ALL_NODES)
        assert placed.choice.node_name == "a"
        states.append(seen())
    for pod in pods:
        assert committer.unreserve_pod("default", pod.metadata.name, pod.metadata.uid)
        states.append(seen())
    assert states == [
        ([], False),
        (["first"], True),
        (["first", "second"], True),
        (["second"], True),
        ([], False),
    ]
