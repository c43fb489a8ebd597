from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework import (
    SUCCESS,
    ActionType,
    Code,
    CycleState,
    EventResource,
    FieldError,
    NodeAmount,
    NodeView,
    ObjectChange,
    Pod,
    QueueingHint,
)
from mooring.plugins.underlay_ip.args import SCHEDULER_NAME, Consumers, UnderlayIPArgs
from mooring.plugins.underlay_ip.plugin import REASON_MASTER, REASON_NONE_FREE, UnderlayIP, uses_ip
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import cluster, final_scores, make, raw_scores, reasons, verdicts

OURS = {"schedulerName": SCHEDULER_NAME}
FREE, FULL, MASTER = (), (REASON_NONE_FREE,), (REASON_MASTER,)


def consumer(name: str, node: str = "", **spec: Any) -> Pod:
    return make_pod(name, node=node, spec={**OURS, **spec})


def plugin(ips: int = 2, **consumers: str) -> UnderlayIP:
    chosen = Consumers(**consumers) if consumers else UnderlayIPArgs().consumers
    return make(UnderlayIP, UnderlayIPArgs(ips_per_node=ips, consumers=chosen))


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        pytest.param([], FREE, id="none"),
        pytest.param([consumer("a", "n")], FREE, id="one left"),
        pytest.param([consumer("a", "n"), consumer("b", "n")], FULL, id="none left"),
        pytest.param([consumer("a", "n"), consumer("b", "n"), consumer("c", "n")], FULL, id="too many"),
        pytest.param([consumer("a", "n"), consumer("b", "n", hostNetwork=True)], FREE, id="host network"),
        pytest.param([consumer("a", "n"), make_pod("b", node="n")], FREE, id="of another scheduler"),
        pytest.param(
            [consumer("a", "n"), make_pod("b", node="n", spec=OURS, status={"phase": "Succeeded"})],
            FREE,
            id="finished",
        ),
        pytest.param(
            [consumer("a", "n"), make_pod("b", node="n", spec=OURS, metadata={"deletionTimestamp": "x"})],
            FULL,
            id="being deleted keeps its IP",
        ),
        pytest.param([consumer("a", "n"), consumer("b")], FREE, id="one still waits"),
        pytest.param([consumer("a", "n"), consumer("b", "elsewhere")], FREE, id="one is elsewhere"),
    ],
)
def test_free_ips(placed: list[Pod], expected: tuple[str, ...]) -> None:
    view = cluster(make_node("n"), *placed)
    assert reasons(plugin(), consumer("new"), view) == {"n": expected}


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        pytest.param("node-role.kubernetes.io/master", MASTER, id="master"),
        pytest.param("node-role.kubernetes.io/control-plane", MASTER, id="control plane"),
        pytest.param("node-role.kubernetes.io/worker", FREE, id="worker"),
    ],
)
def test_masters_are_out_of_scope(label: str, expected: tuple[str, ...]) -> None:
    view = cluster(make_node("n", labels={label: ""}))
    assert reasons(plugin(), consumer("new"), view) == {"n": expected}


IPS_KEY = "example.com/ips"


@pytest.mark.parametrize(
    ("said", "fields", "free"),
    [
        pytest.param({"label": IPS_KEY}, {"labels": {IPS_KEY: "3"}}, 3, id="label"),
        pytest.param({"label": IPS_KEY}, {"labels": {IPS_KEY: "0"}}, 0, id="none"),
        pytest.param({"label": IPS_KEY}, {"labels": {IPS_KEY: "many"}}, 2, id="no number"),
        pytest.param({"label": IPS_KEY}, {"labels": {IPS_KEY: "-1"}}, 2, id="below zero"),
        pytest.param({"label": IPS_KEY}, {}, 2, id="nothing said"),
        pytest.param({"annotation": IPS_KEY}, {"annotations": {IPS_KEY: "3"}}, 3, id="annotation"),
        pytest.param(
            {"annotation": IPS_KEY}, {"labels": {IPS_KEY: "3"}}, 2, id="a label in place of an annotation"
        ),
        pytest.param({"resource": IPS_KEY}, {"allocatable": {IPS_KEY: "1k"}}, 1000, id="resource"),
        pytest.param({"resource": IPS_KEY}, {"allocatable": {IPS_KEY: 3}}, 3, id="resource, a number"),
        pytest.param({"resource": IPS_KEY}, {}, 2, id="no such resource"),
        pytest.param({}, {"labels": {IPS_KEY: "3"}}, 2, id="not asked for"),
    ],
)
def test_a_node_says_how_many_ips_it_has(
    said: Mapping[str, str], fields: Mapping[str, Any], free: int
) -> None:
    annotations = fields.get("annotations")
    made = {name: value for name, value in fields.items() if name != "annotations"}
    node = make_node("n", **made, **({"metadata": {"annotations": annotations}} if annotations else {}))
    chosen = make(UnderlayIP, UnderlayIPArgs(ips_per_node=2, node_ips=NodeAmount(**said)))
    view = cluster(node)
    assert raw_scores(chosen, consumer("new"), view) == {"n": free}
    assert reasons(chosen, consumer("new"), view) == {"n": FREE if free else FULL}


@pytest.mark.parametrize("said", ["label", "annotation", "resource"])
def test_a_node_that_gets_ips_is_looked_at_again(said: str) -> None:
    chosen = make(UnderlayIP, UnderlayIPArgs(ips_per_node=2, node_ips=NodeAmount(**{said: IPS_KEY})))
    events = {hinted.event.resource: hinted.event.action for hinted in chosen.events_to_register()}
    change = {
        "label": ActionType.UPDATE_NODE_LABEL,
        "annotation": ActionType.UPDATE_NODE_ANNOTATION,
        "resource": ActionType.UPDATE_NODE_ALLOCATABLE,
    }
    assert events[EventResource.NODE] & change[said]


def test_more_ips_may_help_and_fewer_do_not() -> None:
    chosen = make(UnderlayIP, UnderlayIPArgs(node_ips=NodeAmount(label=IPS_KEY)))
    few, many = (make_node("n", labels={IPS_KEY: number}) for number in ("1", "5"))
    hint = next(h.hint for h in chosen.events_to_register() if h.event.resource is EventResource.NODE)
    assert hint is not None
    assert hint(consumer("p"), few, many) is QueueingHint.QUEUE
    assert hint(consumer("p"), many, few) is QueueingHint.SKIP


def test_only_a_full_node_can_be_helped_by_preemption() -> None:
    full = [consumer("a", "full"), consumer("b", "full")]
    master = make_node("m", labels={"node-role.kubernetes.io/master": ""})
    view = cluster(make_node("full"), master, make_node("free"), *full)
    assert {name: status.code for name, status in verdicts(plugin(), consumer("new"), view).items()} == {
        "full": Code.UNSCHEDULABLE,
        "m": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "free": Code.SUCCESS,
    }


def test_the_most_free_ips_win() -> None:
    placed = [consumer(f"p{at}", node) for at, node in enumerate(["a", "a", "a", "b"])]
    view = cluster(make_node("a"), make_node("b"), make_node("c"), *placed)
    assert raw_scores(plugin(10), consumer("new"), view) == {"a": 7, "b": 9, "c": 10}
    assert final_scores(plugin(10), consumer("new"), view) == {"a": 70, "b": 90, "c": 100}


@given(free=st.lists(st.integers(0, 5000), min_size=2, max_size=5))
def test_normalising_leaves_no_node_beside_the_one_with_the_most(free: list[int]) -> None:
    scores = plugin().normalize_score(CycleState(), consumer("new"), np.array(free, np.int64))
    best = {at for at, score in enumerate(scores) if score == scores.max()}
    assert best == {at for at, left in enumerate(free) if left == max(free)}


LABELLED = {"example.com/underlay": "yes"}
DEVICE = {"example.com/ip": 1}


@pytest.mark.parametrize(
    ("consumers", "pod", "expected"),
    [
        pytest.param({"scheduler_name": "mine"}, make_pod(spec={"schedulerName": "mine"}), True, id="name"),
        pytest.param({"scheduler_name": "mine"}, make_pod(spec=OURS), False, id="another name"),
        pytest.param({"label": "example.com/underlay"}, make_pod(labels=LABELLED), True, id="label"),
        pytest.param({"label": "example.com/underlay=yes"}, make_pod(labels=LABELLED), True, id="value"),
        pytest.param({"label": "example.com/underlay=no"}, make_pod(labels=LABELLED), False, id="no value"),
        pytest.param({"label": "example.com/underlay="}, make_pod(labels=LABELLED), False, id="empty value"),
        pytest.param({"label": "example.com/other"}, make_pod(labels=LABELLED), False, id="no label"),
        pytest.param({"resource": "example.com/ip"}, make_pod(requests=DEVICE), True, id="resource"),
        pytest.param({"resource": "example.com/other"}, make_pod(requests=DEVICE), False, id="no resource"),
        pytest.param(
            {"resource": "example.com/ip"},
            make_pod(
                spec={
                    "initContainers": [
                        {"name": "i", "image": "i", "resources": {"limits": {"example.com/ip": 1}}}
                    ]
                }
            ),
            True,
            id="limit of an init container",
        ),
        pytest.param(
            {"resource": "example.com/ip"},
            make_pod(requests=DEVICE, spec={"hostNetwork": True}),
            False,
            id="host network",
        ),
    ],
)
def test_which_pods_use_an_ip(consumers: Mapping[str, str], pod: Pod, expected: bool) -> None:
    assert uses_ip(pod, Consumers(**consumers)) is expected


def test_other_pods_are_left_to_other_plugins() -> None:
    view = cluster(make_node("n", labels={"node-role.kubernetes.io/master": ""}))
    chosen, other = plugin(), make_pod()
    assert chosen.pre_filter(CycleState(), other, view).code is Code.SKIP
    assert chosen.pre_score(CycleState(), other, view).code is Code.SKIP
    assert chosen.reserve(CycleState(), other, "n") == SUCCESS


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        pytest.param({}, [], id="the defaults"),
        pytest.param({"ips_per_node": -1}, ["ipsPerNode"], id="negative"),
        pytest.param({"node_ips": NodeAmount(label="example.com/ips")}, [], id="said by nodes"),
        pytest.param(
            {"node_ips": NodeAmount(label="a", annotation="b")}, ["nodeIps"], id="said by nodes in two ways"
        ),
        pytest.param({"node_ips": NodeAmount(resource="a b")}, ["nodeIps.resource"], id="no resource"),
        pytest.param({"consumers": Consumers()}, ["consumers"], id="nobody"),
        pytest.param({"consumers": Consumers("a", "b")}, ["consumers"], id="two ways"),
        pytest.param({"consumers": Consumers(label="a b=c")}, ["consumers.label"], id="no label key"),
        pytest.param({"consumers": Consumers(resource="a b")}, ["consumers.resource"], id="no resource"),
    ],
)
def test_args(args: Mapping[str, Any], paths: list[str]) -> None:
    found: list[FieldError] = list(UnderlayIPArgs(**args).validate())
    assert [error.path for error in found] == paths


MASTER_NODE = make_node("n", labels={"node-role.kubernetes.io/master": ""})


@pytest.mark.parametrize(
    ("change", "helps"),
    [
        pytest.param(ObjectChange("Pod", consumer("a", "n"), None), True, id="a consumer goes"),
        pytest.param(ObjectChange("Pod", make_pod("a", node="n"), None), False, id="another pod goes"),
        pytest.param(ObjectChange("Pod", consumer("a", "n"), consumer("a", "n")), False, id="it stays"),
        pytest.param(ObjectChange("Node", None, make_node("n")), True, id="a node comes"),
        pytest.param(ObjectChange("Node", None, MASTER_NODE), False, id="a master comes"),
        pytest.param(ObjectChange("Node", MASTER_NODE, make_node("n")), True, id="no master any more"),
        pytest.param(ObjectChange("Node", make_node("n"), make_node("n")), False, id="another label"),
    ],
)
def test_what_may_help_a_pod_that_waits(change: ObjectChange, helps: bool) -> None:
    resource = {"Pod": EventResource.ASSIGNED_POD, "Node": EventResource.NODE}[change.kind]
    (registered,) = [one for one in plugin().events_to_register() if one.event.resource is resource]
    assert registered.hint is not None
    answer = registered.hint(consumer("waiting"), change.old, change.new)
    assert answer is (QueueingHint.QUEUE if helps else QueueingHint.SKIP)


IPS = 2
NODES = ("n0", "n1", "n2")
KINDS = ("consumer", "other", "host network")


class Cluster(RuleBasedStateMachine):
    """Pods and nodes come and go, events are repeated or lost, mooring restarts: the count stays true.

    `pods` is the cluster's own truth. Reservations that no event has confirmed yet are `reserved`.
    """

    @initialize()
    def begin(self) -> None:
        self.nodes = set(NODES[:2])
        self.pods: dict[str, Pod] = {}
        self.reserved: dict[str, str] = {}
        self.count = 0
        self.restart()

    @rule()
    def restart(self) -> None:
        """All that was in memory is gone; a full list brings back what the cluster has."""
        self.state = State()
        self.plugin = make(UnderlayIP, UnderlayIPArgs(ips_per_node=IPS), state=self.state)
        for uid, node in self.reserved.items():
            self.pods[uid] = _on(self.pods[uid], node)
        self.reserved.clear()
        self.relist()

    @rule()
    def relist(self) -> None:
        """Also what events that were lost had said."""
        self.state.replace("cluster", [*map(make_node, sorted(self.nodes)), *self.pods.values()])

    @rule(kind=st.sampled_from(KINDS))
    def create(self, kind: str) -> None:
        self.count += 1
        spec = {} if kind == "other" else {**OURS, "hostNetwork": kind == "host network"}
        pod = make_pod(f"p{self.count}", spec=spec)
        self.pods[pod.metadata.uid] = pod
        self.deliver(pod)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def reserve(self, data: st.DataObject) -> None:
        pod = data.draw(st.sampled_from(self.waiting()))
        view = NodeView(self.state.snapshot, self.state.snapshot.nodes.rows())
        free = [name for name, status in verdicts(self.plugin, pod, view).items() if status.ok]
        if not free:
            assert uses_ip(pod, self.plugin.args.consumers)
            return
        node = data.draw(st.sampled_from(free))
        self.state.assume(pod, node)
        assert self.plugin.reserve(CycleState(), pod, node) == SUCCESS
        self.reserved[pod.metadata.uid] = node

    @precondition(lambda self: self.reserved)
    @rule(data=st.data(), works=st.booleans())
    def bind(self, data: st.DataObject, works: bool) -> None:
        uid = data.draw(st.sampled_from(sorted(self.reserved)))
        node = self.reserved.pop(uid)
        if works:
            self.pods[uid] = _on(self.pods[uid], node)
            self.deliver(self.pods[uid])
            self.deliver(self.pods[uid])
        else:
            self.plugin.unreserve(CycleState(), self.pods[uid], node)
            self.state.forget(uid)

    @precondition(lambda self: self.bound())
    @rule(data=st.data(), event=st.booleans())
    def delete(self, data: st.DataObject, event: bool) -> None:
        pod = self.pods.pop(data.draw(st.sampled_from(self.bound())).metadata.uid)
        if event:
            self.state.apply("cluster", [Remove("Pod", pod.metadata.namespace, pod.metadata.name)])
        else:
            self.relist()

    @precondition(lambda self: self.bound())
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        pod = data.draw(st.sampled_from(self.bound()))
        del self.pods[pod.metadata.uid]
        done = make_pod(pod.metadata.name, node=pod.spec.node_name, spec=OURS, status={"phase": "Failed"})
        self.deliver(done)

    @rule()
    def third_node(self) -> None:
        """It comes, or it goes with the pods on it."""
        third = NODES[2]
        self.nodes ^= {third}
        self.pods = {uid: pod for uid, pod in self.pods.items() if pod.spec.node_name != third}
        for uid in [uid for uid, node in self.reserved.items() if node == third]:
            del self.reserved[uid]
            self.state.forget(uid)
        self.relist()

    def deliver(self, pod: Pod) -> None:
        self.state.apply("cluster", [Put(pod)])

    def waiting(self) -> list[Pod]:
        return [p for uid, p in self.pods.items() if not p.spec.node_name and uid not in self.reserved]

    def bound(self) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.spec.node_name]

    def used(self) -> Counter[str]:
        """By node, plain: the pods that are there or reserved to be, and use an IP."""
        consumers = self.plugin.args.consumers
        where = {uid: pod.spec.node_name or self.reserved.get(uid, "") for uid, pod in self.pods.items()}
        return Counter(node for uid, node in where.items() if node and uses_ip(self.pods[uid], consumers))

    @invariant()
    def counts_are_true(self) -> None:
        used = self.used()
        assert all(count <= IPS for count in used.values())
        view = NodeView(self.state.snapshot, self.state.snapshot.nodes.rows())
        free = raw_scores(self.plugin, consumer("asking"), view)
        assert free == {node: IPS - used[node] for node in self.nodes}


def _on(pod: Pod, node: str) -> Pod:
    spec = {"schedulerName": pod.spec.scheduler_name, "hostNetwork": pod.spec.host_network}
    return make_pod(pod.metadata.name, node=node, spec=spec)


TestCluster = Cluster.TestCase
