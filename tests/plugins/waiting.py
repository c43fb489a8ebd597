"""Pods for which preemption does not help, or whose group waits, and the facts in their explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mooring.testing.builders import node_manifest, pod_manifest
from tests.plugins.rejections import TAINT, Manifest, about

GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
"""The feature gates of pod groups."""


@dataclass(frozen=True)
class Waiting:
    """A pod that gets no node, and the expected explanation.

    Attributes:
        objects: The cluster, with the other pods of the pod's group.
        pod: The pod.
        code: The code of the finding about the pod, its group or the node n1; "" = there is none.
        said: A part of its text, or of the status without a finding.
        advice: The first advice in words; "" = the answer says that no change helps.
        cleared: The node that is cleared for the pod; "" = preemption does not help.
        victims: The pods that are preempted there, as NAMESPACE/NAME,
        budgets: and the disruption budgets that this violates, likewise.
        then: Objects with which the pod is bound if no change helps.
    """

    objects: Sequence[Manifest]
    pod: Manifest
    code: str
    said: str
    advice: str = ""
    cleared: str = ""
    victims: Sequence[str] = ()
    budgets: Sequence[str] = ()
    then: Sequence[Manifest] = ()

    def check(self, document: Manifest) -> None:
        """Fail unless an explanation says it; without regard to advice."""
        there = document["nodes"].get("n1", {})
        known = [*document["findings"], *document["preemptionFindings"], *about(document, "n1")]
        known += there.get("preemption", ())
        texts = [one["text"] for one in known if one["code"] == self.code]
        status = document["status"]["message"]
        assert any(self.said in text for text in texts or [status]), (texts, status)
        found = document["preemption"] or {"node": "", "candidates": []}
        assert found["node"] == self.cleared
        best = [each for each in found["candidates"] if each["node"] == self.cleared]
        assert [one["pod"] for each in best for one in each["victims"]] == [*self.victims]
        assert [one for each in best for one in each["budgets"]] == [*self.budgets]


def room(name: str, node: str = "", cpu: str = "2", priority: int = 0, **fields: Any) -> Manifest:
    spec = {"priority": priority, **fields.pop("spec", {})}
    return pod_manifest(name, node=node, requests={"cpu": cpu}, spec=spec, **fields)


def zoned(name: str, zone: str) -> Manifest:
    return node_manifest(name, labels={"zone": zone}, allocatable={"cpu": "4"})


def group(count: int, **spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": count}}, **spec},
    }


def member(name: str, cpu: str = "3", node: str = "", **spec: Any) -> Manifest:
    return room(name, node, cpu, spec={"schedulingGroup": {"podGroupName": "train"}, **spec})


N1, N2 = (node_manifest(name, allocatable={"cpu": "4"}) for name in ("n1", "n2"))
TAINTED = node_manifest("n2", allocatable={"cpu": "4"}, taints=[TAINT])
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
}
ZONED = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}
TERMINATING = room(
    "a",
    "n1",
    "4",
    metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
    status={
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    },
)

PREEMPTION = {
    "no pod of the cluster is less important": Waiting(
        [N1, room("a", "n1", "4")],
        room("p"),
        "PreemptionWithoutVictims",
        "no pod of the cluster has a lower priority than 0",
        "add a node like n1",
    ),
    "no pod on the node is less important": Waiting(
        [N1, room("a", "n1", "4", 9), N2, room("b", "n2", "1")],
        room("p", cpu="4", priority=9),
        "PreemptionWithoutVictims",
        "no pod there has a lower priority than 9; the pods there: default/a (priority 9)",
        cleared="n2",
        victims=["default/b"],
    ),
    "the less important are too small": Waiting(
        [N1, room("a", "n1", "3", 99), room("b", "n1", "1")],
        room("p", priority=9),
        "PreemptionNotEnough",
        "needs 2 cpu; 1 of 4 free; the pods there: default/a (priority 99)",
        "add a node like n1",
    ),
    "pods are not the cause": Waiting(
        [node_manifest("n1", taints=[TAINT]), room("a", "n1")],
        room("p", priority=9),
        "PreemptionNotHelpful",
        "TaintToleration would still reject the pod, whichever pods leave",
        "tolerate maintenance:NoSchedule (n1)",
    ),
    "another node violates no budget": Waiting(
        [N1, room("a", "n1", "4", labels={"app": "web"}), BUDGET, N2, room("b", "n2", "4", 8)],
        room("p", priority=9),
        "PreemptionCostsMore",
        "that violates fewer disruption budgets, 0 instead of 1; the pods there: default/a (priority 0)",
        cleared="n2",
        victims=["default/b"],
    ),
    "a budget is violated if no other node can be cleared": Waiting(
        [N1, room("a", "n1", "4", labels={"app": "web"}), BUDGET],
        room("p", priority=9),
        "InsufficientResource",
        "needs 2 cpu; 0 of 4 free; taken by default/a (4)",
        cleared="n1",
        victims=["default/a"],
        budgets=["default/keep"],
    ),
    "another node has a less important pod": Waiting(
        [N1, room("a", "n1", "4", 5), N2, room("b", "n2", "4", 4)],
        room("p", priority=9),
        "PreemptionCostsMore",
        "n2 is cleared instead: its most important victim has priority 4 instead of 5",
        cleared="n2",
        victims=["default/b"],
    ),
    "another node has fewer victims": Waiting(
        [N1, room("a", "n1"), room("c", "n1"), N2, room("b", "n2", "4")],
        room("p", cpu="4", priority=9),
        "PreemptionCostsMore",
        "n2 is cleared instead: it takes fewer victims, 1 instead of 2",
        cleared="n2",
        victims=["default/b"],
    ),
    "the pod may not preempt": Waiting(
        [N1, room("a", "n1", "4")],
        room("p", priority=9, spec={"preemptionPolicy": "Never"}),
        "PreemptionForbidden",
        "the pod's preemptionPolicy is Never",
        "add a node like n1",
    ),
    "its victims still terminate": Waiting(
        [N1, TERMINATING],
        room("p", priority=9, status={"nominatedNodeName": "n1"}),
        "PreemptionUnderWay",
        "the pods that make room for it on n1 are still terminating",
        "add a node like n1",
    ),
}
GROUPS = {
    "no room for all": Waiting(
        [N1, group(2), member("a")],
        member("p"),
        "GroupDoesNotFit",
        "group default/train needs nodes for 2 of its pods, and finds 1; without a node",
        "add a node like n1",
    ),
    "one has a node already": Waiting(
        [N1, group(3), member("a", node="n1"), member("b")],
        member("p"),
        "GroupDoesNotFit",
        "needs nodes for 3 of its pods, and finds 1",
        "request 0.5 cpu instead of 3",
    ),
    "one is gated": Waiting(
        [N1, N2, group(2), member("a", schedulingGates=[{"name": "hold"}])],
        member("p"),
        "GroupDoesNotFit",
        "default/a (waiting for scheduling gates: [hold])",
        then=[member("a")],
    ),
    "too few pods": Waiting(
        [N1, N2, group(3), member("a")],
        member("p"),
        "GroupTooSmall",
        "group default/train needs 3 pods, and has 2",
        then=[member("c", cpu="1")],
    ),
    "no such group": Waiting(
        [N1],
        member("p"),
        "GroupNotFound",
        "the pod belongs to PodGroup default/train, which does not exist",
        then=[group(1)],
    ),
    "no node has the label of its domains": Waiting(
        [N1, group(2, **ZONED), member("a")],
        member("p"),
        "GroupDomainMissing",
        "no node has the label zone, whose values are the domains of group",
        then=[zoned("n1", "x"), zoned("n2", "x")],
    ),
    "each domain is too small": Waiting(
        [zoned("n1", "x"), zoned("n2", "y"), group(2, **ZONED), member("a")],
        member("p"),
        "GroupDoesNotFit",
        "and finds 1 in x, the best of 2 domains",
        "add a node like n1",
    ),
    "a taint that no pod of it tolerates": Waiting(
        [N1, TAINTED, group(2), member("a")],
        member("p"),
        "GroupDoesNotFit",
        "group default/train needs nodes for 2 of its pods, and finds 1; without a node",
        "tolerate maintenance:NoSchedule (2 nodes)",
    ),
}
