"""The facts of each rejection in an explanation: code, subject, sentence and holders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
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
from tests.cli.commands import write_manifests
from tests.laboratories.doors.asking import ask
from tests.plugins.rejections import FACTS, HOST, ZONE, Fact, about, near
from tests.plugins.waiting import GATES, GROUPS, PREEMPTION, Waiting
from tools.docs import reason_codes


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS.keys())
def test_a_rejection_is_explained(fact: Fact) -> None:
    fact.check(explain(fact.objects, fact.pod, feature_gates=fact.gates))


WAITING = {**PREEMPTION, **GROUPS}


@pytest.mark.parametrize("case", WAITING.values(), ids=WAITING.keys())
def test_it_is_said_why_a_pod_waits(case: Waiting, tmp_path: Path) -> None:
    files = write_manifests(tmp_path / "cluster.yaml", *case.objects, case.pod)
    answer = ask("explain", "p", "--manifests", files, "--feature-gates", GATES, "-o", "json")
    assert answer.out, answer.complaints
    case.check(answer.document)
    advice = answer.document["advice"]
    assert (advice["text"] if advice else "") == case.advice
    assert answer.document["nothingHelps"] == (not case.advice and not case.cleared)


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
