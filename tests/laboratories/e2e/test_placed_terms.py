"""What a placed pod asks for keeps nobody waiting: kube-scheduler binds it, and mooring goes on beside it."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.process import wait_until

from .control_plane import ControlPlane
from .processes import MooringScheduler
from .test_scheduler import ALONE, MINE, bound, make_nodes, make_pods

pytestmark = pytest.mark.e2e

NODES, TERMS, FOLLOWING = 500, 4_000, 20
SECONDS = 10.0
"""A generous bound; 2 s is the aim on a machine without other work, and kube-scheduler takes some 0.1 s."""


def of_its_own(number: int) -> dict[str, Any]:
    """A preferred term with a topology key of its own."""
    absent = {"key": f"k{number}", "operator": "DoesNotExist"}
    term = {"labelSelector": {"matchExpressions": [absent]}, "topologyKey": f"t{number}"}
    return {"weight": 1, "podAffinityTerm": term}


def test_others_are_bound_beside_a_placed_pod_with_thousands_of_terms(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    api = control_plane.api
    make_nodes(api, NODES)
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [of_its_own(at) for at in range(TERMS)]}
    mine = MooringScheduler(tmp_path, control_plane.kubeconfig("mooring"), ALONE)
    with control_plane.scheduler({}), mine:
        make_pods(api, ["big"], "default-scheduler", affinity={"podAntiAffinity": preferred})
        wait_until(lambda: bound(api)["big"], "kube-scheduler to bind the pod with the terms")
        for scheduler in ("default-scheduler", MINE):
            began, names = time.monotonic(), [f"{scheduler}-{at}" for at in range(FOLLOWING)]
            make_pods(api, names, scheduler)
            wait_until(lambda: all(bound(api)[name] for name in names), f"{scheduler} to bind the others")  # noqa: B023
            seconds = time.monotonic() - began
            print(f"{scheduler}: {FOLLOWING} pods bound in {seconds:.2f} s")
            assert seconds < SECONDS
        assert "was ended in plugin" not in mine.output()
