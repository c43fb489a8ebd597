"""A live source against the real API server: what it has is what a fresh list has, whatever happened."""

import random
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mooring.cluster.api import RESOURCES, ApiServer
from mooring.cluster.sources import KubernetesSource, Timers
from mooring.cluster.state import State
from mooring.runtime.profiles.registry import installed_registry
from tests.cluster.following import Content, held
from tests.process import until

from . import objects
from .control_plane import ControlPlane

pytestmark = pytest.mark.e2e

TIMERS = Timers(page_size=20, backoff_first=0.1, probe=0.2, watch_shortest=2, watch_longest=4)
"""Small pages, short watches and frequent audits: much happens in little time."""

SEED = 1
HEALED_SECONDS = 5.0


class Live:
    """A state that follows a control plane."""

    def __init__(self, control_plane: ControlPlane, timers: Timers = TIMERS) -> None:
        self.control_plane = control_plane
        self.state = State()
        self.api = ApiServer.from_kubeconfig(control_plane.kubeconfig("mooring"))
        self.kinds = read_kinds()
        self.source = KubernetesSource(
            self.state, self.api, {kind: ["a plugin"] for kind in self.kinds}, timers
        )

    def listed(self) -> Content:
        """Return the server's objects of every followed kind, without finished pods."""
        found: Content = {}
        for kind in ("Node", "Pod", *self.kinds):
            for item in self.control_plane.api.items(RESOURCES[kind].collection()):
                meta = item["metadata"]
                if item.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                    key = meta["name"] if kind == "Node" else f"{meta.get('namespace', '')}/{meta['name']}"
                    found[kind, key] = (meta["uid"], meta["resourceVersion"])
        return found

    def wait_equal(self) -> None:
        """Both have the same within the time that is allowed after a fault."""
        until(lambda: held(self.state) == self.listed(), "the state to be a fresh list", HEALED_SECONDS)

    def lists(self) -> int:
        return sum(kind.lists for kind in self.source.describe()[0].kinds)


def read_kinds() -> list[str]:
    """Return the kinds that in-tree plugins read, as far as an API server has them by default."""
    made = (registration.factory() for registration in installed_registry())
    kinds = {kind.__name__ for plugin in made for kind in getattr(plugin, "reads", ())}
    return sorted(kinds - {"PodGroup", "Workload"})


@pytest.fixture
def live(control_plane: ControlPlane) -> Iterator[Live]:
    following = Live(control_plane)
    following.source.start()
    try:
        until(lambda: following.source.synced, "the first lists")
        yield following
    finally:
        following.source.stop()
        following.api.close()


def churn(control_plane: ControlPlane, steps: int, seed: int) -> None:
    """Makes, changes, binds and removes nodes and pods."""
    dice, api = random.Random(seed), control_plane.api
    nodes: list[str] = []
    pods: list[str] = []
    for step in range(steps):
        match dice.randrange(6):
            case 0:
                nodes.append(f"n{seed}-{step}")
                api.create(objects.node(nodes[-1]))
            case 1 | 2:
                pods.append(f"p{seed}-{step}")
                api.create(objects.pod(pods[-1]))
            case 3 if nodes and pods:
                name = pods[-1]
                if api.node_of(name) is None:
                    target = {"apiVersion": "v1", "kind": "Node", "name": dice.choice(nodes)}
                    binding = {"metadata": {"name": name}, "target": target}
                    api.call("POST", f"/api/v1/namespaces/default/pods/{name}/binding", binding)
            case 4 if pods:
                name = pods.pop(dice.randrange(len(pods)))
                api.call("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
                if dice.random() < 0.5:
                    pods.append(name)
                    api.create(objects.pod(name))
            case 5 if len(nodes) > 1:
                api.call("DELETE", f"/api/v1/nodes/{nodes.pop(dice.randrange(len(nodes)))}")


def test_the_state_is_what_a_fresh_list_is(live: Live) -> None:
    assert len(live.kinds) >= 15
    churn(live.control_plane, 150, SEED)
    live.wait_equal()
    status = live.source.describe()[0]
    assert (status.synced, status.error) == (True, "")
    assert live.lists() == len(status.kinds)


def test_a_compaction_and_a_restart_cost_one_list_per_kind(live: Live) -> None:
    churn(live.control_plane, 30, SEED + 1)
    live.wait_equal()
    before = live.lists()
    live.control_plane.compact()
    live.control_plane.restart_api_server()
    churn(live.control_plane, 30, SEED + 2)
    live.wait_equal()
    until(lambda: live.source.staleness < 1.0, "freshness")
    assert live.lists() - before <= 2 * len(live.source.describe()[0].kinds)


def test_an_api_server_that_is_stopped_in_its_tracks_is_noticed(live: Live) -> None:
    process = live.control_plane.process("kube-apiserver")
    process.signal(signal.SIGSTOP)
    try:
        until(lambda: live.source.staleness > 3.0, "staleness")
        assert live.source.synced
    finally:
        process.signal(signal.SIGCONT)
    until(lambda: live.source.staleness < 1.0, "freshness")
    churn(live.control_plane, 20, SEED + 3)
    live.wait_equal()


def test_audits_repair_nothing_where_nothing_is_lost(control_plane: ControlPlane) -> None:
    live = Live(control_plane, replace(TIMERS, compare=1.0, watch_shortest=60, watch_longest=60))
    live.source.start()
    try:
        until(lambda: live.source.synced, "the first lists")
        before = live.lists()
        churn(control_plane, 150, SEED + 4)
        live.wait_equal()
        assert live.lists() == before
    finally:
        live.source.stop()
        live.api.close()
