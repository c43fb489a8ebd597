"""The facts of each rejection in an explanation: code, subject, sentence and holders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.framework import (
    CycleState,
    FilterPlugin,
    Finding,
    NodeInfo,
    Pod,
    Pure,
    ReasonCode,
    Status,
    SubjectKind,
)
from mooring.framework.reason_codes import TEXTS, code_of
from mooring.plugins.inter_pod_affinity import findings as affinity_findings
from mooring.testing import explain
from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client.v1 import findings_pb2
from tests.plugins.rejections import FACTS, HOST, ZONE, Fact, about, near
from tools.docs import reason_codes


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS.keys())
def test_a_rejection_is_explained(fact: Fact) -> None:
    fact.check(explain(fact.objects, fact.pod, feature_gates=fact.gates))


def room(name: str, node: str = "", cpu: str = "2", priority: int = 0, **fields: Any) -> dict[str, Any]:
    spec = {"priority": priority, **fields.pop("spec", {})}
    return pod_manifest(name, node=node, requests={"cpu": cpu}, spec=spec, **fields)


N1, N2 = (node_manifest(name, allocatable={"cpu": "4"}) for name in ("n1", "n2"))
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 0},
}
NO_ROOM = {
    "nobody in the cluster is less important": (
        [N1, room("a", "n1", "4")],
        room("p"),
        ("PreemptionWithoutVictims", "no pod of the cluster has a lower priority than 0"),
    ),
    "nobody on the node is less important": (
        [N1, room("a", "n1", "4", 9), N2, room("b", "n2", "1")],
        room("p", cpu="4", priority=9),
        (
            "PreemptionWithoutVictims",
            "no pod there has a lower priority than 9; the pods there: default/a (priority 9)",
        ),
    ),
    "the less important are too small": (
        [N1, room("a", "n1", "3", 99), room("b", "n1", "1")],
        room("p", priority=9),
        (
            "PreemptionNotEnough",
            "needs 2 cpu; 1 of 4 free; the pods there: default/a (priority 99)",
        ),
    ),
    "pods are not the cause": (
        [node_manifest("n1", taints=[{"key": "gpu", "effect": "NoSchedule"}]), room("a", "n1")],
        room("p", priority=9),
        ("PreemptionNotHelpful", "TaintToleration would still reject the pod, whichever pods leave"),
    ),
    "another node violates no budget": (
        [N1, room("a", "n1", "4", labels={"app": "web"}), BUDGET, N2, room("b", "n2", "4", 8)],
        room("p", priority=9),
        (
            "PreemptionCostsMore",
            "that violates fewer disruption budgets, 0 instead of 1; the pods there: default/a (priority 0)",
        ),
    ),
    "another node has a less important pod": (
        [N1, room("a", "n1", "4", 5), N2, room("b", "n2", "4", 4)],
        room("p", priority=9),
        (
            "PreemptionCostsMore",
            "n2 is cleared instead: its most important victim has priority 4 instead of 5",
        ),
    ),
    "another node has fewer victims": (
        [N1, room("a", "n1"), room("c", "n1"), N2, room("b", "n2", "4")],
        room("p", cpu="4", priority=9),
        ("PreemptionCostsMore", "n2 is cleared instead: it takes fewer victims, 1 instead of 2"),
    ),
    "the pod may not preempt": (
        [N1, room("a", "n1", "4")],
        room("p", priority=9, spec={"preemptionPolicy": "Never"}),
        ("PreemptionForbidden", "the pod's preemptionPolicy is Never"),
    ),
    "its victims still terminate": (
        [
            N1,
            room(
                "a",
                "n1",
                "4",
                metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
                status={
                    "conditions": [
                        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
                    ]
                },
            ),
        ],
        room("p", priority=9, status={"nominatedNodeName": "n1"}),
        ("PreemptionUnderWay", "the pods that make room for it on n1 are still terminating"),
    ),
}


@pytest.mark.parametrize(("objects", "pod", "fact"), NO_ROOM.values(), ids=NO_ROOM.keys())
def test_it_is_said_why_preemption_does_not_help(
    objects: list[dict[str, Any]], pod: dict[str, Any], fact: tuple[str, str]
) -> None:
    document = explain(objects, pod)
    found = [*document["preemptionFindings"], *document["nodes"]["n1"]["preemption"]]
    code, text = fact
    assert [each["code"] for each in found] == [code]
    assert text in found[0]["text"]


def group(count: int, **spec: Any) -> dict[str, Any]:
    policy = {"gang": {"minCount": count}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def member(name: str, cpu: str = "3", node: str = "", **spec: Any) -> dict[str, Any]:
    return room(name, node, cpu, spec={"schedulingGroup": {"podGroupName": "train"}, **spec})


ZONED = {"schedulingConstraints": {"topology": [{"key": "zone"}]}}
GROUPS = {
    "no room for all": (
        [N1, group(2), member("a")],
        ("GroupDoesNotFit", "group default/train needs nodes for 2 of its pods, and finds 1; without a node"),
    ),
    "one has a node already": (
        [N1, group(3), member("a", node="n1"), member("b")],
        ("GroupDoesNotFit", "needs nodes for 3 of its pods, and finds 1"),
    ),
    "one is gated": (
        [N1, N2, group(2), member("a", schedulingGates=[{"name": "hold"}])],
        ("GroupDoesNotFit", "default/a (waiting for scheduling gates: [hold])"),
    ),
    "too few pods": (
        [N1, group(3), member("a")],
        ("GroupTooSmall", "group default/train needs 3 pods, and has 2"),
    ),
    "no such group": (
        [N1],
        ("GroupNotFound", "the pod belongs to PodGroup default/train, which does not exist"),
    ),
    "no node has the label of its domains": (
        [N1, group(2, **ZONED), member("a")],
        ("GroupDomainMissing", "no node has the label zone, whose values are the domains of group"),
    ),
    "each domain is too small": (
        [
            node_manifest("n1", labels={"zone": "x"}, allocatable={"cpu": "4"}),
            node_manifest("n2", labels={"zone": "y"}, allocatable={"cpu": "4"}),
            group(2, **ZONED),
            member("a"),
        ],
        ("GroupDoesNotFit", "and finds 1 in x, the best of 2 domains"),
    ),
}


@pytest.mark.parametrize(("objects", "fact"), GROUPS.values(), ids=GROUPS.keys())
def test_it_is_said_why_a_group_waits(objects: list[dict[str, Any]], fact: tuple[str, str]) -> None:
    gates = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
    document = explain(objects, member("p"), feature_gates=gates)
    code, text = fact
    [finding] = [each for each in document["findings"] if each["kind"] == "PodGroup"]
    assert (finding["code"], finding["plugin"] != "", document["selected"]) == (code, True, None)
    assert text in finding["text"]


APART = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}
AGAINST_WEB = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}}}


@pytest.mark.parametrize(
    ("pod", "finds"),
    [
        pytest.param(
            near({"app": "web"}, kind="podAntiAffinity"), "pods_by_row", id="pods to stay away from"
        ),
        pytest.param(near({"app": "web"}, key=ZONE), "pods_by_row", id="pods to be near"),
        pytest.param(pod_manifest("p", labels={"app": "web"}), "_opposing", id="pods that stay away"),
    ],
)
def test_what_holds_for_all_nodes_is_found_once(
    pod: dict[str, Any], finds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, find = list[object](), getattr(affinity_findings, finds)

    def counted(*args: Any) -> object:
        found.append(args)
        return find(*args)

    monkeypatch.setattr(affinity_findings, finds, counted)
    names = [f"n{at}" for at in range(20)]
    nodes = [node_manifest(name, labels={HOST: name, ZONE: "x"}, allocatable={"cpu": "1"}) for name in names]
    away = node_manifest("away", labels={HOST: "away", ZONE: "y"}, spec={"unschedulable": True})
    there = [
        pod_manifest(f"on-{name}", node=name, labels={"app": "web"}, spec=AGAINST_WEB)
        for name in (["away"] if pod["spec"].get("affinity", {}).get("podAffinity") else names)
    ]
    document = explain([*nodes, away, *there], pod)
    assert all(list(about(document, name)) for name in names)
    assert len(found) == 1


class Quiet(FilterPlugin[None], Pure):
    """Rejects nodes under maintenance, and explains nothing."""

    name = "Quiet"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        broken = node.labels.get("maintenance") == "true"
        return Status.unresolvable("node(s) were under maintenance") if broken else Status()


class Telling(Quiet):
    name = "Telling"

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        return [Finding("UnderMaintenance", "n1", "until noon")]


class Failing(Quiet):
    name = "Failing"

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        raise ValueError("no idea")


@pytest.mark.parametrize(
    ("plugin", "codes", "text"),
    [
        pytest.param(
            Quiet, ["RuleRejects"], "with node.metadata.labels[maintenance] = true", id="by its reads"
        ),
        pytest.param(Telling, ["UnderMaintenance"], "until noon", id="in its own words"),
        pytest.param(Failing, [], "", id="a failure leaves the decision as it is"),
    ],
)
def test_a_rule_of_an_author(plugin: type[Quiet], codes: list[str], text: str) -> None:
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"filter": {"enabled": [{"name": plugin.name}]}},
    }
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    document = explain(
        [node_manifest("n1", labels={"maintenance": "true"})], pod_manifest("p"), config, plugins=[plugin]
    )
    found = list(about(document, "n1"))
    assert [each["code"] for each in found] == codes
    assert text in "".join(each["text"] for each in found)
    assert document["nodes"]["n1"]["status"]["reasons"] == ["node(s) were under maintenance"]


def test_the_codes_on_the_wire_are_those_of_the_framework() -> None:
    for prefix, ours, theirs in (
        ("REASON_CODE_", {code.name: code.number for code in ReasonCode}, findings_pb2.ReasonCode),
        ("SUBJECT_KIND_", {kind.name: kind.value for kind in SubjectKind}, findings_pb2.SubjectKind),
    ):
        wire = {name.removeprefix(prefix): number for name, number in theirs.items() if number}
        assert wire == ours


@pytest.mark.parametrize("code", TEXTS, ids=lambda code: code.label)
def test_a_text_leads_to_its_code(code: ReasonCode) -> None:
    assert code_of(code.plugin, TEXTS[code].replace("<subject>", "x")) == (
        code,
        "x" if "<subject>" in TEXTS[code] else "",
    )


def test_the_page_lists_every_code() -> None:
    assert reason_codes.PAGE.read_text() == reason_codes.page(), "run python -m tools.docs.reason_codes"
