"""`mooring scheduler` writes the same about allocated devices as the kube-scheduler of the release."""

from pathlib import Path
from typing import Any

import pytest

from . import objects
from .control_plane import ControlPlane, OlderControlPlane
from .processes import MooringScheduler
from .test_claims import CLAIMS, CLASSES, DRIVER, SLICES

pytestmark = pytest.mark.e2e

CONFIG = {"profiles": [{"schedulerName": "mooring"}], "leaderElection": {"leaderElect": False}}


def opaque(of: str) -> dict[str, Any]:
    return {"opaque": {"driver": DRIVER, "parameters": {"of": of}}}


CONFIGURED_CLASS = {"metadata": {"name": "gpu"}, "spec": {"config": [opaque("class"), opaque("class too")]}}
PLAIN_CLASS = {"metadata": {"name": "plain"}, "spec": {}}
SLICE = {
    "metadata": {"name": "on-n1"},
    "spec": {
        "driver": DRIVER,
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}"} for number in range(16)],
    },
}
CLAIM_SPECS: dict[str, dict[str, Any]] = {
    "one": {
        "requests": [{"name": "a", "exactly": {"deviceClassName": "gpu"}}],
        "config": [opaque("all"), {"requests": ["a"], **opaque("a")}],
    },
    "several": {
        "requests": [
            {"name": "a", "exactly": {"deviceClassName": "gpu"}},
            {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "plain"}]},
            {"name": "c", "exactly": {"deviceClassName": "gpu"}},
        ],
        "config": [
            {"requests": ["a", "b", "c"], **opaque("each")},
            {"requests": ["a", "b/x"], **opaque("two")},
            {"requests": ["c"], **opaque("c")},
        ],
    },
}


@pytest.mark.parametrize("kind", [ControlPlane, OlderControlPlane], ids=lambda kind: kind.release)
def test_allocations_are_those_of_kube_scheduler(kind: type[ControlPlane], tmp_path: Path) -> None:
    with kind(tmp_path) as plane:
        api = plane.api
        api.create(objects.node("n1"))
        for path, item in ((CLASSES, CONFIGURED_CLASS), (CLASSES, PLAIN_CLASS), (SLICES, SLICE)):
            api.call("POST", path, item)
        flags = (f"--kube-version={plane.release}",)
        with (
            plane.scheduler({}),
            MooringScheduler(tmp_path, plane.kubeconfig("mooring"), CONFIG, *flags),
        ):
            for name, spec in CLAIM_SPECS.items():
                theirs, ours = (
                    allocation(plane, f"{name}-{scheduler}", scheduler, spec)
                    for scheduler in ("default-scheduler", "mooring")
                )
                assert ours == theirs


def allocation(plane: ControlPlane, name: str, scheduler: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the allocation that the scheduler wrote for a claim, without its free choices."""
    api = plane.api
    api.call("POST", CLAIMS, {"metadata": {"name": name}, "spec": {"devices": spec}})
    claims = [{"name": "claim", "resourceClaimName": name}]
    api.create(objects.pod(name, schedulerName=scheduler, resourceClaims=claims))
    api.wait_bound(name)
    written: dict[str, Any] = api.call("GET", f"{CLAIMS}/{name}")["status"]["allocation"]
    assert written.pop("allocationTimestamp")
    for result in written["devices"]["results"]:
        assert result.pop("device").startswith("gpu-")
    return written
