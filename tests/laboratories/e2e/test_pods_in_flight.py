"""Rules that count pods hold behind an unmodified kube-scheduler, however fast pods come.

kube-scheduler asks about the next pod while the binding of the last one is on its way. MOORING_ROLLOUTS says
how many rollouts each test makes; with MOORING_PODS_IN_FLIGHT=off the rules break.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from .api import Manifest
from .applying import written
from .configurations import extender
from .guarded import GuardedControlPlane
from .objects import RACK, container, node
from .processes import Adapter, MooringServer
from .reviewed_bindings import Review, reviewed_bindings

pytestmark = pytest.mark.e2e

ROLLOUTS = int(os.environ.get("MOORING_ROLLOUTS", "1"))
PODS, NODES, RACKS = 12, 12, 4
SLOW_SECONDS = 3.0
"""More than a filter call waits."""
LONGEST_SECONDS = 120.0
"""How long a rollout may take; its backoffs are up to 10 s each."""
LATE_SECONDS = 1.0
"""A pod that passed in spite of the rule is bound by then."""


@dataclass(frozen=True)
class Rule:
    """A rule, and what of a rollout it allows.

    Attributes:
        profile: mooring's profile with it.
        allowed: How many of the pods may have a node.
        place: The place in which pods are counted, given the node's number.
        most: How many pods each such place may have.
    """

    profile: dict[str, Any]
    allowed: int
    place: Callable[[int], int]
    most: int = 1


def alone(name: str) -> dict[str, Any]:
    """Return a profile that has this rule and nothing else that decides."""
    enabled = [{"name": "PrioritySort"}, {"name": name}, {"name": "DefaultBinder"}]
    points = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}}
    return {"schedulerName": "default-scheduler", "plugins": points}


def underlay_ips() -> dict[str, Any]:
    """S3's profile, where each node has one IP."""
    (document,) = written("examples/systems/s3-underlay-ip/mooring.yaml")
    profile: dict[str, Any] = document["profiles"][0]
    profile["pluginConfig"][0]["args"]["ipsPerNode"] = 1
    return profile


RULES = {
    "racks": Rule(alone("FewPerRack"), 2 * RACKS, lambda number: number % RACKS, most=2),
    "nodes": Rule(alone("OnePerNode"), PODS, lambda number: number),
    "ips": Rule(underlay_ips(), PODS, lambda number: number),
}


@pytest.fixture
def nodes(guarded: GuardedControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes in racks, and the rules where mooring finds them."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "rules"))
    for number in range(NODES):
        guarded.api.create(node(f"n{number}", {RACK: f"r{number % RACKS}"}))


@dataclass(frozen=True)
class Mooring:
    """mooring behind kube-scheduler."""

    url: str
    server: MooringServer

    def restart(self) -> None:
        """End the server during its work, and start it again."""
        self.server.kill()
        self.server.start()


@pytest.fixture
def running() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(running: ExitStack, guarded: GuardedControlPlane, folder: Path, rule: Rule, way: str) -> Mooring:
    """Start mooring with the extender adapter in the server, or in a process of its own."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [rule.profile],
    }
    flags = ["--plugin", "counting:FewPerRack", "--plugin", "counting:OnePerNode"]
    source = f"kubernetes:{guarded.kubeconfig('mooring')}"
    if way == "own process":
        server = running.enter_context(MooringServer(folder, document, *flags, source=source))
        return Mooring(running.enter_context(Adapter(folder, server.address)).url, server)
    answering = MooringServer.answering_extender_calls(folder, document, *flags, source=source)
    return Mooring(answering.extender_url, running.enter_context(answering))


def scheduler_config(rule: Rule, url: str, *, bind: bool) -> dict[str, Any]:
    """kube-scheduler packs pods, so that the next one would like to go where the last one is going."""
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}
    name = rule.profile["schedulerName"]
    return {
        "profiles": [{"schedulerName": name, "pluginConfig": [fit], "plugins": {"score": score}}],
        "extenders": [extender(url, bind=bind)],
    }


def one_fails(number: int) -> HTTPStatus | None:
    """Let one binding in twenty fail, in two ways alternately."""
    if number % 20 != 2:
        return None
    return HTTPStatus.FORBIDDEN if number % 40 == 2 else HTTPStatus.INTERNAL_SERVER_ERROR


def one_is_slow(number: int) -> None:
    """Have one binding in four take long."""
    if number % 4 == 1:
        time.sleep(SLOW_SECONDS)


def each_takes_a_while(_: int) -> None:
    """Leave time for something in the midst of a rollout."""
    time.sleep(0.1)


REVIEWS: dict[str, Review] = {
    "failing bindings": one_fails,
    "slow bindings": one_is_slow,
    "restart": each_takes_a_while,
}


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(
    ("way", "trouble"),
    [
        pytest.param("in the server", "none", id="in the server-none"),
        pytest.param("in the server", "failing bindings", id="in the server-failing bindings"),
        pytest.param("in the server", "slow bindings", id="in the server-slow"),
        pytest.param("in the server", "restart", id="in the server-restart"),
        pytest.param("in the server", "counted", id="in the server-counted"),
        pytest.param("own process", "none", id="own process-none"),
        pytest.param("own process", "failing bindings", id="own process-failing bindings"),
        pytest.param("own process", "restart", id="own process-restart"),
        pytest.param("own process", "counted", id="own process-counted"),
    ],
)
@pytest.mark.parametrize(
    ("name", "bind"),
    [
        pytest.param("racks", False, id="racks"),
        pytest.param("racks", True, id="racks, bindVerb"),
        pytest.param("nodes", False, id="nodes"),
        pytest.param("nodes", True, id="nodes, bindVerb"),
        pytest.param("ips", True, id="ips, bindVerb"),
    ],
)
def test_a_rule_that_counts_pods_holds(
    guarded: GuardedControlPlane,
    running: ExitStack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    bind: bool,
    way: str,
    trouble: str,
) -> None:
    rule, review = RULES[name], REVIEWS.get(trouble)
    if trouble == "counted":
        monkeypatch.setenv("MOORING_PODS_IN_FLIGHT", "count")
    mooring = start(running, guarded, tmp_path, rule, way)
    with (
        reviewed_bindings(guarded.api, tmp_path, review) if review else nullcontext(),
        guarded.scheduler(scheduler_config(rule, mooring.url, bind=bind)),
    ):
        disturb = mooring.restart if trouble == "restart" else None
        rollouts = [roll_out(guarded, rule, f"rollout-{number}", disturb) for number in range(ROLLOUTS)]
        said = summary(rule, rollouts, mooring.server.metrics())
    print(f"\n{name}, {'bindVerb' if bind else 'no bindVerb'}, {way}, {trouble}: {said}")
    assert [rollout for rollout in rollouts if rollout.excess] == []
    assert {rollout.bound for rollout in rollouts} == {rule.allowed}


@dataclass(frozen=True)
class Rollout:
    """How a rollout went.

    Attributes:
        bound: How many pods got a node.
        excess: By place, how many pods it has beyond those that it may have.
        seconds: Until as many pods had a node as the rule allows.
    """

    bound: int
    excess: dict[int, int]
    seconds: float


def summary(rule: Rule, rollouts: Sequence[Rollout], metrics: str) -> str:
    """Return the record of a test's rollouts; waits are counted since the server's last start."""
    times = sorted(rollout.seconds for rollout in rollouts)
    waits = [line for line in metrics.splitlines() if re.match(r"mooring_flight.*_(count|sum|total) ", line)]
    return (
        f"{len(rollouts)} rollouts, {sum(bool(rollout.excess) for rollout in rollouts)} violations, "
        f"{sum(rollout.bound for rollout in rollouts)} pods bound of {rule.allowed * len(rollouts)}, "
        f"seconds: median {times[(len(times) - 1) // 2]}, most {times[-1]}; {', '.join(waits)}"
    )


def roll_out(
    guarded: GuardedControlPlane, rule: Rule, name: str, disturb: Callable[[], None] | None
) -> Rollout:
    """Make a Deployment, wait until all the pods have a node that may have one, and remove it."""
    api, began = guarded.api, time.monotonic()
    api.call("POST", "/apis/apps/v1/namespaces/default/deployments", deployment(rule, name))
    while len(api.bound()) < rule.allowed and time.monotonic() - began < LONGEST_SECONDS:
        if disturb is not None and len(api.bound()) > RACKS // 2:
            disturb()
            disturb = None
    seconds = round(time.monotonic() - began, 2)
    time.sleep(LATE_SECONDS)
    bound = api.bound()
    places = Counter(rule.place(int(node_name[1:])) for node_name in bound.values())
    guarded.clear_workloads()
    excess = {place: count - rule.most for place, count in places.items() if count > rule.most}
    return Rollout(len(bound), excess, seconds)


def deployment(rule: Rule, name: str) -> Manifest:
    """Twelve small pods."""
    labels = {"app": name}
    spec = {"schedulerName": rule.profile["schedulerName"], "containers": [container(cpu="10m")]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
