"""A PreBind plugin that waits holds no thread and no place for a caller who is gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mooring.framework import BindOutcome, Plugin
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.plugins.volume_binding.plugin import VolumeBinding
from tests.plugins.storage import claim as volume_claim
from tests.plugins.storage import volume
from tests.plugins.test_claim_reserving import using as using_devices
from tests.plugins.test_dynamic_resources import GPU, claim, slice_of
from tests.plugins.test_volume_reserving import MADE, bind_claim
from tests.plugins.test_volume_reserving import using as using_volumes

from .committing import Late, World, committing
from .pausing import PATIENCE

ATTACHED: dict[str, Any] = {
    "bindingConditions": ["attached"],
    "bindingFailureConditions": ["broken"],
    "bindsToNode": True,
}


def make_volume(world: World) -> None:
    """As a slow driver does in the end."""
    pending = world.fake.get("PersistentVolumeClaim", "c")
    assert pending is not None
    world.fake.add(volume("made", claimRef={"namespace": "default", "name": "c"}))
    bind_claim(world.fake, pending, "made")


def attach(world: World) -> None:
    """The same for a device."""
    found = world.fake.get("ResourceClaim", "c")
    assert found is not None
    assert not found["status"].get("reservedFor"), "the pod is out of its claim meanwhile"
    conditions = [{"type": "attached", "status": "True"}]
    said = {"driver": "gpu.example.com", "pool": "a", "device": "d0", "conditions": conditions}
    found["status"]["devices"] = [said]
    world.fake.add(found)


@pytest.mark.parametrize(
    ("plugin", "objects", "pod", "ready"),
    [
        pytest.param(
            VolumeBinding, [MADE, volume_claim()], using_volumes("p", "c"), make_volume, id="volumes"
        ),
        pytest.param(
            DynamicResources,
            [GPU, slice_of("a", ATTACHED), claim("c")],
            using_devices("p", "c"),
            attach,
            id="devices",
        ),
    ],
)
def test_a_wait_ends_with_the_caller(
    plugin: type[Plugin[Any]], objects: list[dict[str, Any]], pod: dict[str, Any], ready: Any
) -> None:
    with committing(plugin) as world:
        world.add(*objects)
        (item,) = world.add(pod)
        with ThreadPoolExecutor() as caller:
            # The plugins alone would wait for ten minutes.
            bound = caller.submit(world.bind, item, "a", progress=Late(0.5))
            assert bound.result(PATIENCE) == "DEADLINE_EXCEEDED"
        world.settle()
        world.check(room=10)
        assert world.fake.history.bindings() == []
        ready(world)
        world.sync()
        assert world.bind(world.pod("p"), "a", progress=Late(60)) is BindOutcome.BOUND
        world.settle()
        world.check(room=10)
