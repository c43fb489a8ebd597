"""The facts behind each rejection: code, subject, sentence and holders, as an explanation has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from mooring.testing import explain
from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client.v1 import findings_pb2
from tools.docs import reason_codes

Manifest = dict[str, Any]
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
TAINT = {"key": "maintenance", "effect": "NoSchedule"}
SLA = {"key": "example.com/sla", "value": "900", "effect": "NoSchedule"}
COMPARING = {"TaintTolerationComparisonOperators": True}


def node(name: str = "n1", **fields: Any) -> Manifest:
    return node_manifest(name, **{"labels": {HOST: name}, **fields})


def tolerating(**toleration: str) -> Manifest:
    return pod_manifest("p", spec={"tolerations": [{"key": "example.com/sla", **toleration}]})


def with_port(name: str, node: str = "", port: int = 80, **fields: Any) -> Manifest:
    pod = pod_manifest(name, node=node) if node else pod_manifest(name)
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": port, **fields}]
    return pod


def required(*expressions: tuple[str, str, Sequence[str]]) -> Manifest:
    conditions = [
        {"key": key, "operator": operator, "values": [*values]} for key, operator, values in expressions
    ]
    terms = {"nodeSelectorTerms": [{"matchExpressions": conditions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod_manifest("p", spec={"affinity": affinity})


def named(*names: str) -> Manifest:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod_manifest("p", spec={"affinity": affinity})


def near(*labels: Mapping[str, str], kind: str = "podAffinity", key: str = HOST, **own: str) -> Manifest:
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": dict(each)}} for each in labels]
    affinity = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod_manifest("p", labels=own, spec={"affinity": affinity})


def spread(key: str = HOST, skew: int = 1, **fields: Any) -> Manifest:
    selector = {"matchLabels": {"app": "web"}}
    constraint = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    return pod_manifest("p", labels={"app": "web"}, spec={"topologySpreadConstraints": [constraint | fields]})


def web(name: str, node: str) -> Manifest:
    return pod_manifest(name, node=node, labels={"app": "web"})


GROWS = pod_manifest(
    "grows",
    node="n1",
    requests={"cpu": "3800m"},
    status={
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
        "containerStatuses": [
            {"name": "main", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
        ],
    },
)
INIT = {"name": "init", "image": "i", "resources": {"requests": {"cpu": "3"}}}
STARTED = pod_manifest(
    "started", node="n1", requests={"cpu": "1"}, spec={"initContainers": [INIT]}, status={"phase": "Running"}
)
DEVICES = [
    {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}},
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "n1-gpus"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}],
        },
    },
]


def claim(name: str, expression: str = "", holds: str = "") -> Manifest:
    exactly: Manifest = {"deviceClassName": "gpu"}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    made: Manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    if holds:
        result = {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": holds}
        made["status"] = {"allocation": {"devices": {"results": [result]}}}
    return made


def claiming(name: str) -> Manifest:
    return pod_manifest("p", spec={"resourceClaims": [{"name": "d", "resourceClaimName": name}]})


FOUR = {"cpu": "4", "memory": "8Gi", "pods": "110"}


FACTS = {
    "fit, too little free": (
        [node(allocatable=FOUR), pod_manifest("a", node="n1", requests={"cpu": "3500m"})],
        pod_manifest("p", requests={"cpu": "1"}),
        ("InsufficientResource", "cpu", "needs 1 cpu; 0.5 of 4 free", ["default/a"]),
    ),
    "fit, the node is too small": (
        [node(allocatable=FOUR)],
        pod_manifest("p", requests={"memory": "9Gi"}),
        ("NodeTooSmall", "memory", "needs 9Gi memory, the empty node has 8Gi", []),
    ),
    "fit, not offered": (
        [node(allocatable=FOUR)],
        pod_manifest("p", requests={"example.com/gpu": "1"}),
        ("ResourceNotOffered", "example.com/gpu", "which the node does not offer", []),
    ),
    "fit, too many pods": (
        [node(allocatable={**FOUR, "pods": "1"}), pod_manifest("a", node="n1")],
        pod_manifest("p"),
        ("TooManyPods", "pods", "the node has 1 of at most 1 pods", ["default/a"]),
    ),
    "fit, a deferred resize": (
        [node(allocatable=FOUR), GROWS],
        pod_manifest("p", requests={"cpu": "500m"}),
        (
            "InsufficientResource",
            "cpu",
            "counts 3.8 since its resize is deferred; it has 1",
            ["default/grows"],
        ),
    ),
    "fit, an init container that has ended": (
        [node(allocatable=FOUR), STARTED],
        pod_manifest("p", requests={"cpu": "2"}),
        (
            "InsufficientResource",
            "cpu",
            "counts 3 for an init container that has ended; the others request 1",
            ["default/started"],
        ),
    ),
    "taint, none tolerated": (
        [node(taints=[TAINT])],
        pod_manifest("p"),
        ("TaintNotTolerated", "maintenance:NoSchedule", "taint maintenance:NoSchedule is not tolerated", []),
    ),
    "taint, another value": (
        [node(taints=[SLA])],
        tolerating(value="800"),
        ("TaintNotTolerated", "example.com/sla=900:NoSchedule", 'the toleration is for the value "800"', []),
    ),
    "taint, another effect": (
        [node(taints=[SLA])],
        tolerating(operator="Exists", effect="NoExecute"),
        ("TaintNotTolerated", "example.com/sla=900:NoSchedule", "the toleration is for NoExecute", []),
    ),
    "taint, Gt without its gate": (
        [node(taints=[SLA])],
        tolerating(operator="Gt", value="800", effect="NoSchedule"),
        (
            "TaintNotTolerated",
            "example.com/sla=900:NoSchedule",
            "operator Gt counts for nothing unless the feature gate",
            [],
        ),
    ),
    "taint, Gt of an equal value": (
        [node(taints=[SLA])],
        tolerating(operator="Gt", value="900", effect="NoSchedule"),
        ("TaintNotTolerated", "example.com/sla=900:NoSchedule", "900 is not greater than 900", []),
    ),
    "taint, Gt of a word": (
        [node(taints=[{**SLA, "value": "high"}])],
        tolerating(operator="Gt", value="900", effect="NoSchedule"),
        (
            "TaintNotTolerated",
            "example.com/sla=high:NoSchedule",
            'the value "high" of the taint is not an integer',
            [],
        ),
    ),
    "selector, another value": (
        [node(labels={"disk": "hdd"})],
        pod_manifest("p", spec={"nodeSelector": {"disk": "ssd"}}),
        (
            "NodeSelectorMismatch",
            "disk=ssd",
            "the node selector asks for disk=ssd, the node has disk=hdd",
            [],
        ),
    ),
    "selector, no label": (
        [node()],
        pod_manifest("p", spec={"nodeSelector": {"disk": "ssd"}}),
        ("NodeSelectorMismatch", "disk=ssd", "the node lacks the label disk", []),
    ),
    "affinity, In": (
        [node(labels={"disk": "hdd"})],
        required(("disk", "In", ["ssd", "nvme"])),
        ("NodeAffinityMismatch", "disk In [ssd, nvme]", "the node has disk=hdd", []),
    ),
    "affinity, the condition that fails alone": (
        [node(labels={"disk": "hdd", "size": "9"})],
        required(("disk", "In", ["hdd"]), ("size", "Gt", ["9"])),
        ("NodeAffinityMismatch", "size Gt 9", "asks for size Gt 9, the node has size=9", []),
    ),
    "affinity, Exists": (
        [node()],
        required(("disk", "Exists", [])),
        ("NodeAffinityMismatch", "disk Exists", "the node lacks the label disk", []),
    ),
    "affinity, a name": (
        [node()],
        named("n2"),
        ("NodeAffinityMismatch", "metadata.name=n2", "the node has metadata.name=n1", []),
    ),
    "affinity, two names at once": (
        [node()],
        named("n1", "n2"),
        ("NodeAffinityConflict", "metadata.name=n1 and metadata.name=n2", "no node can meet", []),
    ),
    "cordon": (
        [node(spec={"unschedulable": True})],
        pod_manifest("p"),
        ("NodeCordoned", "n1", "the node is cordoned", []),
    ),
    "port, the same": (
        [node(), with_port("a", "n1")],
        with_port("p"),
        ("PortTaken", "80/TCP", "host port 80/TCP is taken", ["default/a"]),
    ),
    "port, an address of all": (
        [node(), with_port("a", "n1")],
        with_port("p", hostIP="10.0.0.1"),
        ("PortTaken", "10.0.0.1:80/TCP", "taken by default/a (80/TCP)", ["default/a"]),
    ),
    "spread, too many here": (
        [node(), node("n2", spec={"unschedulable": True}), web("a", "n1")],
        spread(),
        (
            "SpreadSkew",
            HOST,
            "1 matching pod in n1, the fewest are 0 in n2 (cordoned), which count since",
            ["default/a", "n2"],
        ),
    ),
    "spread, a tainted domain": (
        [node(), node("n2", taints=[TAINT]), web("a", "n1")],
        spread(),
        (
            "SpreadSkew",
            HOST,
            "0 in n2 (tainted maintenance:NoSchedule), which count since nodeTaintsPolicy is Ignore",
            ["default/a", "n2"],
        ),
    ),
    "spread, fewer domains than minDomains": (
        [node(), web("a", "n1")],
        spread(minDomains=2),
        ("SpreadSkew", HOST, "fewer domains than minDomains 2", ["default/a", "n1"]),
    ),
    "spread, no label": (
        [node()],
        spread(ZONE),
        ("SpreadLabelMissing", ZONE, f"the node lacks the label {ZONE}", []),
    ),
    "near, no pod anywhere": (
        [node()],
        near({"app": "db"}),
        ("PodAffinityNoMatch", "app=db", "no pod matches app=db on any node", []),
    ),
    "near, on another node": (
        [node(), node("n2", spec={"unschedulable": True}), web("a", "n2")],
        near({"app": "web"}),
        (
            "PodAffinityNotNear",
            "app=web",
            f"no pod matches app=web in {HOST}=n1; there are default/a on n2",
            ["default/a"],
        ),
    ),
    "near, no pod for all terms": (
        [node(), web("a", "n1"), pod_manifest("b", node="n1", labels={"env": "prod"})],
        near({"app": "web"}, {"env": "prod"}),
        (
            "PodAffinityNoCommonMatch",
            "app=web and env=prod",
            "no single pod matches all 2 terms; default/a matches term 1, default/b matches term 2",
            [],
        ),
    ),
    "near, no label": (
        [node(), web("a", "n1")],
        near({"app": "web"}, key=ZONE),
        ("PodAffinityLabelMissing", "app=web", f"the node lacks the label {ZONE}", []),
    ),
    "apart": (
        [node(), web("a", "n1")],
        near({"app": "web"}, kind="podAntiAffinity"),
        (
            "PodAntiAffinity",
            "app=web",
            f"must not be near app=web, which is in {HOST}=n1; there are default/a",
            ["default/a"],
        ),
    ),
    "apart, as others want": (
        [
            node(),
            {
                **near({"app": "web"}, kind="podAntiAffinity"),
                "metadata": {"name": "a", "namespace": "default"},
            },
        ],
        web("p", ""),
        ("PodAntiAffinityOfOthers", HOST, f"pods in {HOST}=n1 have anti-affinity to this pod", ["default/a"]),
    ),
    "devices, in use": (
        [node(), *DEVICES, claim("used", holds="gpu-0"), claim("mine")],
        claiming("mine"),
        ("DevicesTaken", "default/mine/r", "device gpu-0 is in use; taken by default/used", ["default/used"]),
    ),
    "devices, none matches": (
        [node(), *DEVICES, claim("mine", "device.driver == 'other'")],
        claiming("mine"),
        ("DevicesUnmatched", "default/mine/r", "device gpu-0 does not match the selector device.driver", []),
    ),
    "devices, none there": (
        [node(), DEVICES[0], claim("mine")],
        claiming("mine"),
        ("DevicesUnmatched", "default/mine/r", "the node has 0 devices", []),
    ),
    "a gate": (
        [node()],
        pod_manifest("p", spec={"schedulingGates": [{"name": "example.com/quota"}]}),
        ("SchedulingGated", "example.com/quota", "waiting for scheduling gates", []),
    ),
    "a claim that is not there": (
        [node()],
        pod_manifest("p", spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}),
        ("ClaimNotFound", "data", "not found", []),
    ),
}
FACTS["apart, as others want"][0][1]["spec"]["nodeName"] = "n1"


@pytest.mark.parametrize(("objects", "pod", "fact"), FACTS.values(), ids=FACTS.keys())
def test_a_rejection_is_explained(
    objects: list[Manifest], pod: Manifest, fact: tuple[str, str, str, list[str]]
) -> None:
    code, subject, said, holders = fact
    gates = COMPARING if "is not" in said and "sla" in subject else None
    document = explain(objects, pod, feature_gates=gates)
    found = {each["code"]: each for each in [*document["findings"], *_about(document, "n1")]}
    assert code in found, found
    finding = found[code]
    assert (finding["subject"], [each["name"] for each in finding["holders"]]) == (subject, holders)
    assert said in finding["text"]


def _about(document: Manifest, name: str) -> Iterator[Manifest]:
    yield from document["nodes"].get(name, {}).get("findings", ())


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
    document = explain([node(labels={"maintenance": "true"})], pod_manifest("p"), config, plugins=[plugin])
    found = list(_about(document, "n1"))
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
