"""In which order pods come."""

from collections import Counter

import pytest

from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.sweeps.arrivals import PodArrivals
from mooring.testing import make_node, make_pod

NODES = [make_node(name, allocatable={"cpu": "10", "pods": "100"}) for name in "ab"]
PODS = [make_pod(f"p{at}", requests={"cpu": str(1 + at % 2)}) for at in range(6)]


def coming(arrivals: PodArrivals, seed: int = 0) -> list[str]:
    state = State()
    state.replace("test", NODES)
    return [pod.metadata.name for pod in arrivals.of(PODS, state.snapshot.nodes, seed)]


def test_as_they_are_given() -> None:
    assert coming(PodArrivals()) == ["p0", "p1", "p2", "p3", "p4", "p5"]


def test_the_seed_decides_the_order() -> None:
    shuffled = PodArrivals(shuffled=True)
    assert coming(shuffled, 1) == coming(shuffled, 1) != coming(shuffled, 2)
    assert sorted(coming(shuffled, 1)) == coming(PodArrivals())


@pytest.mark.parametrize("percent", [45, 50, 100, 200])
def test_pods_come_again_until_enough_is_requested(percent: int) -> None:
    names = coming(PodArrivals(resource="cpu", percent=percent))
    requested = sum(1 + int(name[1]) % 2 for name in names)
    assert names[:6] == coming(PodArrivals())
    assert max(9, 20 * percent / 100 - 2) < requested <= max(9, 20 * percent / 100) or len(names) == 6
    assert Counter(names).most_common(1)[0][1] == 1


@pytest.mark.parametrize(
    ("resource", "fault"),
    [
        pytest.param("example.com/gpu", "no node offers", id="not offered"),
        pytest.param("pods", "no pod requests", id="not requested"),
    ],
)
def test_what_never_fills_is_rejected(resource: str, fault: str) -> None:
    with pytest.raises(InvalidArgumentError, match=fault):
        coming(PodArrivals(resource=resource, percent=50))
