"""Pods in flight: a pod that kube-scheduler may be binding counts until its end is known."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast
from unittest.mock import patch

import grpc
import pytest

from mooring.app.extender import LocalContext
from mooring.cluster.kinds import Put, Remove
from mooring.framework import (
    SUCCESS,
    BindOutcome,
    CacheablePlugin,
    CycleState,
    Dependencies,
    FilterPlugin,
    NodeInfo,
    NodeView,
    Part,
    Pod,
    PreFilterPlugin,
    ReservePlugin,
    Status,
)
from mooring.service import in_flight
from mooring.service.in_flight import PodsInFlight
from mooring.service.services import Servicers
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.nodes_pb2 import InlineNodes, NodeSelection
from mooring_client.v1.objects_pb2 import PodReference
from tests.process import until
from tests.service.backends import (
    Stubs,
    World,
    as_json,
    codes,
    configuration,
    direct,
    profile,
    rejected,
    sent,
    served,
)
from tests.service.backends import world as world_of
from tests.service.fakes import Kind, RecordingBinder, gate
from tests.service.harness import LONG

NODES = ("a", "b", "c")
EVERYWHERE, NOWHERE = set(NODES), set[str]()
BRIEFLY = 0.005
"""The share of its time that a call waits which waits in vain."""


class OnePerNode(FilterPlugin[None]):
    """A node takes one pod. The rule declares nothing, so it may read anything."""

    name = "OnePerNode"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) had a pod") if any(node.pods) else SUCCESS


def declaring(part: Part) -> Kind:
    """Return the rule, which says that it reads this."""

    class Declaring(OnePerNode, CacheablePlugin):
        def dependencies(self, pod: Pod) -> Dependencies:
            return Dependencies(parts=part)

    return Declaring


class OnePod(PreFilterPlugin[None]):
    """The cluster takes one pod, which PreFilter alone looks after."""

    name = "OnePod"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        full = any(any(node.pods) for node in nodes.infos())
        return Status.unschedulable("there was a pod") if full else SUCCESS


class Company(FilterPlugin[None]):
    """A node takes a pod only if it has one already."""

    name = "Company"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS if any(node.pods) else Status.unschedulable("node(s) were lonely")


class Reserving(ReservePlugin[None]):
    """Reserves something, by which two pods in flight may be promised the same."""

    name = "Reserving"

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing was reserved."""


@dataclass
class Flying:
    """A backend that keeps the pods in flight, and its RPCs."""

    world: World
    stubs: Stubs

    def filter(
        self,
        name: str,
        *,
        cycle: bool = True,
        timeout: float = LONG,
        share: float | None = None,
        profile: str = "",
        nodes: NodeSelection | None = None,
        **fields: Any,
    ) -> set[str]:
        """Return the nodes that the pod is let through to; the call waits for a share of its time."""
        pod = sent(make_pod(name, **fields))
        request = pb.FilterRequest(pod=pod, profile=profile, in_scheduling_cycle=cycle, nodes=nodes)
        with patch.object(in_flight, "WAIT_SHARE", in_flight.WAIT_SHARE if share is None else share):
            response = self.stubs.scheduling.Filter(request, timeout=timeout)
        said = zip(NODES, codes(response.verdicts, len(NODES)), strict=True)
        return {node for node, code in said if code == "SUCCESS"}

    def bind(self, name: str, node: str) -> None:
        """Bind through mooring."""
        reference = PodReference(namespace="default", name=name, uid=f"pod/default/{name}")
        self.stubs.scheduling.Bind(pb.BindRequest(pod=reference, node=node))

    def tell(self, *changes: Put | Remove) -> None:
        """Apply the changes of a watch."""
        self.world.state.apply("test", changes)

    def metric(self, name: str) -> float:
        found = self.world.backend.metrics.registry.get_sample_value(f"mooring_{name}")
        assert found is not None
        return found


@contextmanager
def flying(
    *plugins: Kind,
    wait: bool = False,
    patient: bool = False,
    way: Callable[..., Any] = direct,
    **backend: Any,
) -> Iterator[Flying]:
    """Yield three nodes, and the pods p, q and r without one.

    ``wait`` as the flag says. Without it, calls wait for pods that leave no node only if ``patient``.
    """
    pods = [make_pod(name) for name in "pqr"]
    nodes = [make_node(name) for name in NODES]
    share = in_flight.WAIT_SHARE if wait or patient else 0.0
    with (
        patch.object(in_flight, "WAIT_SHARE", share),
        world_of(*nodes, *pods, plugins=plugins or (OnePerNode,), **backend) as world,
    ):
        flights = PodsInFlight(world.backend.engine, world.backend.metrics, wait=wait)
        world.backend = replace(world.backend, in_flight=flights)
        with way(world.backend) as stubs:
            yield Flying(world, stubs)


@pytest.mark.parametrize(
    ("plugin", "nodes"),
    [
        pytest.param(OnePerNode, NOWHERE, id="nothing"),
        pytest.param(declaring(Part.PODS), NOWHERE, id="pods"),
        pytest.param(declaring(Part.AFFINITIES | Part.NODES), NOWHERE, id="affinities"),
        pytest.param(declaring(Part.RESOURCES), NOWHERE, id="resources"),
        pytest.param(declaring(Part.NODES | Part.OBJECTS), EVERYWHERE, id="neither pods nor resources"),
        pytest.param(OnePod, NOWHERE, id="nothing, in PreFilter"),
    ],
)
def test_pods_in_flight_matter_to_a_rule_by_what_it_declares(plugin: Kind, nodes: set[str]) -> None:
    with flying(plugin) as at:
        assert at.filter("p") == EVERYWHERE
        assert at.filter("q") == nodes


def test_a_pod_counts_on_each_node_that_it_was_let_through_to_and_on_no_other() -> None:
    with flying() as at:
        at.tell(Put(make_pod("there", node="b")))
        assert at.filter("p") == {"a", "c"}
        at.tell(Remove("Pod", "default", "there"))
        assert at.filter("q") == {"b"}
        assert at.filter("r") == NOWHERE


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(False, True, id="the first one is only a question"),
        pytest.param(True, False, id="the second one is only a question"),
    ],
)
def test_questions_are_never_in_flight_and_see_none(first: bool, second: bool) -> None:
    with flying() as at:
        assert at.filter("p", cycle=first) == EVERYWHERE
        assert at.filter("q", cycle=second) == EVERYWHERE


HOST_PORT = {"containers": [{"name": "main", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]}


@pytest.mark.parametrize(
    ("plugins", "nodes", "in_flight"),
    [
        pytest.param(["NodePorts"], EVERYWHERE, 0, id="its own filters"),
        pytest.param(
            ["NodePorts", "Reserving"], NOWHERE, 1, id="its own filters, and another Reserve plugin"
        ),
    ],
)
def test_kube_scheduler_looks_after_pods_in_flight_for_its_own_plugins(
    plugins: list[str], nodes: set[str], in_flight: int
) -> None:
    with flying(Reserving, document=configuration(profile(*plugins))) as at:
        assert at.filter("p", spec=HOST_PORT) == EVERYWHERE
        assert at.filter("q", spec=HOST_PORT) == nodes
        assert at.metric("pods_in_flight") == in_flight


def test_a_pod_of_a_profile_without_such_a_rule_is_in_flight_too() -> None:
    profiles = configuration(profile("OnePerNode"), profile("NodeName", name="other"))
    with flying(OnePerNode, document=profiles) as at:
        assert at.filter("p", profile="other") == EVERYWHERE
        assert at.filter("q", profile="default-scheduler") == NOWHERE


def condition(reason: str, message: str = "no", status: str = "False") -> dict[str, Any]:
    told = {"type": "PodScheduled", "status": status, "reason": reason, "message": message}
    return {"status": {"conditions": [told]}}


BEFORE = condition("SchedulerError", "before")
"""The message of the pod's condition before its flight."""


@pytest.mark.parametrize(
    ("change", "nodes"),
    [
        pytest.param(Put(make_pod("p", node="b")), {"a", "c"}, id="bound"),
        pytest.param(Put(make_pod("p", node="gone")), EVERYWHERE, id="bound to an unknown node"),
        pytest.param(Remove("Pod", "default", "p"), EVERYWHERE, id="gone"),
        pytest.param(Put(make_pod("p", status={"phase": "Failed"})), EVERYWHERE, id="finished"),
        pytest.param(Put(make_pod("p", **condition("SchedulerError"))), EVERYWHERE, id="its binding failed"),
        pytest.param(Put(make_pod("p", **condition("Unschedulable"))), EVERYWHERE, id="unschedulable"),
        pytest.param(Put(make_pod("p", labels={"x": "y"}, **BEFORE)), NOWHERE, id="another label"),
        pytest.param(Put(make_pod("q", node="b")), NOWHERE, id="another pod is bound"),
        pytest.param(
            Put(make_pod("p", status={**BEFORE["status"], "nominatedNodeName": "b"})),
            {"a", "c"},
            id="nominated while it is being bound",
        ),
        pytest.param(
            Put(make_pod("p", status={**BEFORE["status"], "nominatedNodeName": "other"})),
            NOWHERE,
            id="nominated where it was not let through to",
        ),
    ],
)
def test_what_a_watch_tells_of_a_pod_in_flight(
    change: Put | Remove, nodes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_flight, "DOUBT_SECONDS", 0.0)
    with flying() as at:
        at.tell(Put(make_pod("p", **BEFORE)))
        at.filter("p")
        at.tell(change)
        assert at.filter("r") == nodes


def nominated(node: str) -> Put:
    return Put(make_pod("p", status={"nominatedNodeName": node}))


def test_a_pod_that_is_being_bound_for_long_counts_on_its_node_until_that_fails() -> None:
    with flying(wait=True, way=served) as at:
        at.filter("p", share=BRIEFLY)
        at.tell(nominated("b"))
        waits = at.metric("flight_wait_duration_seconds_count")
        assert at.filter("q") == {"a", "c"}
        assert at.metric("flight_wait_duration_seconds_count") == waits
        at.tell(Put(make_pod("q", node="c")), nominated(""))
        assert at.filter("r") == {"a", "b"}


def test_unschedulable_may_be_what_was_said_of_the_attempt_before() -> None:
    with flying() as at:
        at.filter("p")
        at.tell(Put(make_pod("p", **condition("Unschedulable"))))
        assert at.filter("q") == NOWHERE


@pytest.mark.parametrize(
    ("full", "nodes"),
    [pytest.param("ab", {"a", "b"}, id="elsewhere"), pytest.param("abc", EVERYWHERE, id="nowhere")],
)
def test_what_is_asked_about_again_has_ended_its_flight(full: str, nodes: set[str]) -> None:
    with flying() as at:
        at.filter("p")
        at.tell(*(Put(make_pod(f"on-{node}", node=node)) for node in full))
        assert at.filter("p") == EVERYWHERE - set(full)
        at.tell(*(Remove("Pod", "default", f"on-{node}") for node in full))
        assert at.filter("q") == nodes


def test_the_newest_pods_are_remembered_whatever_names_are_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "MOST_FLIGHTS", 3)
    with flying() as at:
        for number in range(20):
            at.filter(f"made-up-{number}")
        assert at.metric("pods_in_flight") <= 3


def test_a_pod_of_which_nothing_is_heard_counts_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "MOST_SECONDS", 0.0)
    with flying() as at:
        at.filter("p")
        assert at.filter("q") == EVERYWHERE


@pytest.mark.parametrize(
    ("error", "nodes"),
    [pytest.param(None, {"a", "c"}, id="bound"), pytest.param(ValueError("no"), EVERYWHERE, id="failed")],
)
def test_a_binding_through_mooring_ends_the_flight(error: Exception | None, nodes: set[str]) -> None:
    with flying(binder=RecordingBinder(error=error)) as at:
        at.filter("p")
        if error is None:
            at.bind("p", "b")
        else:
            rejected(lambda: at.bind("p", "b"))
        assert at.metric("pods_in_flight") == 0
        assert at.filter("q") == nodes


def test_while_a_binding_lasts_its_node_alone_counts_and_its_end_is_not_that_of_the_next_flight() -> None:
    with gate() as opened:

        class Slow(RecordingBinder):
            def bind(self, pod: Pod, node_name: str) -> BindOutcome:
                opened.wait(LONG)
                raise ValueError("no")

        with flying(binder=Slow(), way=served) as at, ThreadPoolExecutor(1) as pool:
            at.filter("p")
            binding = pool.submit(rejected, lambda: at.bind("p", "b"))
            until(lambda: at.world.state.snapshot.pods.assumed_count, "the binding")
            assert at.filter("q") == {"a", "c"}
            assert at.filter("p") == {"b"}
            opened.set()
            binding.result()
            assert at.filter("r") == NOWHERE


def test_a_pod_in_flight_lets_no_other_through() -> None:
    """Only pods that are there count for a rule that wants company."""
    with flying(Company) as at:
        at.tell(Put(make_pod("there", node="b")))
        assert at.filter("p") == {"b"}
        assert at.filter("q") == {"b"}
        at.tell(Remove("Pod", "default", "there"))
        assert at.filter("r") == NOWHERE


def test_of_calls_at_the_same_time_each_sees_those_before() -> None:
    names = [f"p{number}" for number in range(8)]
    with flying(way=served) as at, ThreadPoolExecutor(8) as pool:
        let_through = [nodes for nodes in pool.map(at.filter, names) if nodes]
    assert let_through == [EVERYWHERE]


def test_a_call_waits_until_it_is_known_what_became_of_the_pod_before() -> None:
    with flying(wait=True, way=served) as at, ThreadPoolExecutor(1) as pool:
        at.filter("p", share=BRIEFLY)
        asked = pool.submit(at.filter, "q")
        until(lambda: at.metric("pods_in_flight") == 2, "the second call")
        at.tell(Put(make_pod("p", node="b")))
        assert asked.result() == {"a", "c"}
        assert at.metric("flights_given_up_total") == 0


def test_nodes_that_come_with_a_call_have_the_pods_that_it_waited_for() -> None:
    """They are added to a copy of the state."""
    changed = [as_json(make_node(name, labels={"changed": "yes"})) for name in NODES]
    with flying(wait=True, way=served) as at, ThreadPoolExecutor(1) as pool:
        at.filter("p", share=BRIEFLY)
        asked = pool.submit(at.filter, "q", nodes=NodeSelection(inline=InlineNodes(nodes=changed)))
        until(lambda: at.metric("pods_in_flight") == 2, "the second call")
        at.tell(Put(make_pod("p", node="b")))
        assert asked.result() == {"a", "c"}


def test_after_a_wait_in_vain_the_pod_counts_and_is_not_waited_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_flight, "LAG_SECONDS", 0.0)
    with flying(wait=True, way=served) as at:
        at.filter("p", share=BRIEFLY)
        waits = at.metric("flight_wait_duration_seconds_count")
        assert at.filter("q", share=BRIEFLY) == NOWHERE
        assert at.metric("flight_wait_duration_seconds_count") == waits + 1
        assert at.filter("r") == NOWHERE
        assert at.metric("flight_wait_duration_seconds_count") == waits + 1
        assert at.metric("flights_given_up_total") == 1


@pytest.mark.parametrize(
    ("plugin", "others", "nodes"),
    [
        pytest.param(OnePerNode, [], {"a", "c"}, id="it takes the room"),
        pytest.param(Company, ["there"], {"b"}, id="it is the company"),
    ],
)
@pytest.mark.parametrize(
    "wait", [pytest.param(True, id="after a wait in vain"), pytest.param(False, id="counted at once")]
)
def test_a_call_waits_for_the_counted_pod_that_decides_whether_any_node_passes(
    plugin: Kind, others: list[str], nodes: set[str], wait: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kube-scheduler doesn't try a rejected pod again because mooring sees a binding later than it did."""
    monkeypatch.setattr(in_flight, "LAG_SECONDS", LONG)
    with flying(plugin, wait=wait, patient=True, way=served) as at, ThreadPoolExecutor(1) as pool:
        at.tell(*(Put(make_pod(name, node="b")) for name in others))
        at.filter("p", share=BRIEFLY)
        at.tell(*(Remove("Pod", "default", name) for name in others))
        if wait:
            assert at.filter("q", share=BRIEFLY) == NOWHERE
        asked = pool.submit(at.filter, "r")
        until(lambda: at.metric("pods_in_flight") == 2, "the call")
        at.tell(Put(make_pod("p", node="b")))
        assert asked.result() == nodes


def test_a_rule_that_hangs_holds_up_other_pods_until_its_caller_gives_up() -> None:
    with gate() as opened:

        class Hanging(OnePerNode):
            def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
                if pod.metadata.name == "p":
                    opened.wait()
                return super().filter(state, pod, node)

        with flying(Hanging, way=served) as at:
            assert rejected(lambda: at.filter("p", timeout=0.2)).code is grpc.StatusCode.DEADLINE_EXCEEDED
            assert at.filter("q") == EVERYWHERE


def test_the_first_call_waits_for_what_was_asked_of_the_process_before() -> None:
    with flying(wait=True, way=served) as at:
        assert at.metric("pods_in_flight") == 0
        assert at.filter("p", share=BRIEFLY) == EVERYWHERE
        at.tell(Put(make_pod("p", node="b")))
        assert at.filter("q") == {"a", "c"}
        assert at.metric("flight_wait_duration_seconds_count") == 1
        assert at.metric("flights_given_up_total") == 0


def test_a_caller_that_can_not_wait_gets_what_waits() -> None:
    """As the adapter in the server: its event loop has other calls."""
    request = pb.FilterRequest(pod=sent(make_pod("p")), in_scheduling_cycle=True)
    with flying(declaring(Part.PODS), wait=True) as at, patch.object(in_flight, "WAIT_SHARE", BRIEFLY):
        caller = cast("grpc.ServicerContext", LocalContext(LONG))
        begun = Servicers.of(at.world.backend).scheduling.begin_filter(request, caller)
        assert callable(begun)
        assert at.metric("pods_in_flight") == 0
        assert begun().feasible_count == len(NODES)
        assert at.metric("pods_in_flight") == 1
