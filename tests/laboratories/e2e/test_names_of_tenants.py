"""Names in one pod keep no other waiting, and no memory: mooring and kube-scheduler continue."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.process import wait_until

from . import objects
from .control_plane import ControlPlane
from .processes import MooringScheduler
from .test_scheduler import ALONE, MINE

pytestmark = pytest.mark.e2e

NODES, FOLLOWING = 1_000, 20
SECONDS = 10.0
"""A generous bound; 2 s is the aim on a machine without other work, and kube-scheduler takes some 0.1 s."""

LEFT_SHARE = 0.1
"""How much more memory mooring may have once the pod is gone and its memory returned."""

RETURN_SECONDS = 70.0
"""Freed memory is returned twice in this time."""

QUIET_BYTES, QUIET_SECONDS = 1 << 20, 10.0
"""A process that grows by less in this time has warmed up."""


def of_its_own(number: int) -> dict[str, Any]:
    """Return a preferred term with a topology key of its own."""
    absent = {"key": f"k{number}", "operator": "DoesNotExist"}
    term = {"labelSelector": {"matchExpressions": [absent]}, "topologyKey": f"t{number}"}
    return {"weight": 1, "podAffinityTerm": term}


def terms(count: int) -> dict[str, Any]:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [of_its_own(at) for at in range(count)]}
    return {"affinity": {"podAntiAffinity": preferred}, "schedulerName": "default-scheduler"}


def resources(count: int, **spec: Any) -> dict[str, Any]:
    """Made-up ones, with the amounts as limits, too, as the API server wants it."""
    asked = {f"a.b/r{at}": "1" for at in range(count)}
    return {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": asked, "limits": asked}}],
        **spec,
    }


def resident(mooring: MooringScheduler) -> int:
    """Return the bytes of memory now."""
    status = Path(f"/proc/{mooring.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) << 10


def warm_up(mooring: MooringScheduler) -> int:
    """Wait until its loops are compiled, in the background; return its memory then."""
    before = 0
    while (size := resident(mooring)) - before > QUIET_BYTES:
        before = size
        time.sleep(QUIET_SECONDS)
    return size


def bind(control_plane: ControlPlane, scheduler: str, label: str) -> float:
    """Return the seconds until pods that come at once are bound; they are removed then."""
    api, names = control_plane.api, [f"{label}-{at}" for at in range(FOLLOWING)]
    began = time.monotonic()
    api.create_all(objects.pod(name, schedulerName=scheduler) for name in names)
    wait_until(lambda: {*names} <= api.bound().keys(), f"{label} to be bound")
    seconds = time.monotonic() - began
    for name in names:
        remove(control_plane, name)
    return seconds


def remove(control_plane: ControlPlane, name: str) -> None:
    control_plane.api.call("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")


def pass_by(
    control_plane: ControlPlane, mine: MooringScheduler, spec: dict[str, Any], turn: str
) -> tuple[float, float, int]:
    """Have a pod come and go; return the seconds for others of kube-scheduler and of mooring, and its memory
    then.
    """
    control_plane.api.create(objects.pod("big", **spec))
    if spec.get("schedulerName") == "default-scheduler":
        control_plane.api.wait_bound("big")
    other, behind = (
        bind(control_plane, scheduler, f"{turn}-{scheduler}") for scheduler in ("default-scheduler", MINE)
    )
    most = resident(mine)
    remove(control_plane, "big")
    bind(control_plane, MINE, f"{turn}-after")
    return other, behind, most


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(resources(5_000, nodeName="node-001"), id="T1 a placed pod with made-up resources"),
        pytest.param(terms(4_000), id="T2 a placed pod with terms"),
        pytest.param(resources(12_000, schedulerName=MINE), id="T3 a pending pod with made-up resources"),
    ],
)
def test_others_are_bound_beside_a_pod_with_thousands_of_names(
    control_plane: ControlPlane, tmp_path: Path, spec: dict[str, Any]
) -> None:
    api = control_plane.api
    api.create_all(objects.node(f"node-{number:03}") for number in range(NODES))
    mine = MooringScheduler(tmp_path, control_plane.kubeconfig("mooring"), ALONE)
    with control_plane.scheduler({}), mine:
        calm = bind(control_plane, MINE, "before")
        warm_up(mine)
        # Bounded caches grow with the first large pod, and stay.
        _, first, _ = pass_by(control_plane, mine, spec, "first")
        before = warm_up(mine)
        other, behind, most = pass_by(control_plane, mine, spec, "second")
        left, end = resident(mine), time.monotonic() + RETURN_SECONDS
        while left > before * (1 + LEFT_SHARE) and time.monotonic() < end:
            time.sleep(1)
            left = resident(mine)
        sizes = [f"{size >> 20} MB" for size in (before, most, left)]
        print(
            f"20 pods: {calm:.2f} s before, {first:.2f} and {behind:.2f} s behind it, "
            f"kube-scheduler {other:.2f} s; {sizes}"
        )
        assert max(first, behind) < SECONDS
        assert left <= before * (1 + LEFT_SHARE)
        assert "was ended in plugin" not in mine.output()
