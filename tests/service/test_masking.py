"""A client sees the names of its namespaces' pods, and of others' pods amounts alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from mooring.app.extender import LocalContext
from mooring.framework import Node, Pod
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.service.calls.masking import HIDDEN, PLAIN, Mask, masked
from mooring.service.services import Servicers
from mooring.serving.access.access import Access, Authorizer, CurrentCall, Sight, Verdict, for_call
from mooring.serving.access.clients import Client
from mooring.serving.access.roles import MASKED, METHODS, Right
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import decision_service_pb2 as decision_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1 import simulation_service_pb2 as simulation_pb
from tests.service.backends import Direct, named, sent, world

MINE: Final = "mine"
SECRET: Final = "secret"
"""A part of each name that the client may not see: pods, namespaces, owners, claims, labels."""


class Mine(Authorizer):
    """Everybody may do all, and sees one namespace."""

    def verdict(self, client: Client, right: Right, namespace: str = "") -> Verdict:
        return Verdict(True, "a test")

    def sight(self, client: Client) -> Sight:
        return Sight(MINE.__eq__)


def hidden_pod(at: int, chance: random.Random, node: str = "") -> Pod:
    name = f"{SECRET}-{at}"
    return make_pod(
        name,
        namespace=f"{SECRET}-space-{chance.randrange(2)}",
        node=node,
        labels={"app": "web", "team": f"{SECRET}-team"},
        requests={"cpu": chance.choice(["500m", "1", "2"])},
        metadata={
            "uid": f"uid-{at}",
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"{SECRET}-set",
                    "uid": "o",
                    "controller": True,
                }
            ],
        },
        spec={
            "priority": 0,
            "containers": [
                {
                    "name": "main",
                    "image": "i",
                    "ports": [{"containerPort": 80, "hostPort": chance.choice([80, 81])}],
                    "resources": {"requests": {"cpu": chance.choice(["500m", "1", "2"])}},
                }
            ],
            **({"affinity": anti_affinity()} if chance.random() < 0.5 else {}),
            **(
                {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": f"{SECRET}-claim"}}]}
                if not node
                else {}
            ),
        },
    )


def anti_affinity() -> dict[str, Any]:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "namespaceSelector": {},
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def my_pod(name: str, chance: random.Random) -> Pod:
    return make_pod(
        name,
        namespace=MINE,
        labels={"app": "web"},
        spec={
            "priority": 100,
            "containers": [
                {
                    "name": "main",
                    "image": "i",
                    "ports": [{"containerPort": 80, "hostPort": 80}] if chance.random() < 0.7 else [],
                    "resources": {"requests": {"cpu": chance.choice(["1", "3", "5"])}},
                }
            ],
            **({"affinity": anti_affinity()} if chance.random() < 0.5 else {}),
        },
    )


def cluster(chance: random.Random) -> tuple[list[Node], list[Pod]]:
    nodes = [make_node(f"node-{at}", allocatable={"cpu": "4"}) for at in range(3)]
    placed = [hidden_pod(at, chance, f"node-{at % 3}") for at in range(6)]
    return nodes, [*placed, hidden_pod(7, chance), my_pod("own", chance)]


Call = Callable[[str, Any], Any]
"""Calls an RPC by its name."""


def questions(pod: Pod, session: str, seqs: list[int]) -> Iterator[tuple[str, Any]]:
    """Yield every kind of question, about an own pod or about all."""
    own = sent(pod)
    yield "Filter", pb.FilterRequest(pod=own)
    yield "Score", pb.ScoreRequest(pod=own)
    yield "Preempt", pb.PreemptRequest(pod=own)
    yield "Explain", pb.ExplainRequest(pod=own, always_score=True)
    yield "Schedule", pb.ScheduleRequest(templates=[pb.PodTemplate(pod=own)])
    yield "ListReservations", pb.ListReservationsRequest()
    yield "ListPods", cluster_pb.ListPodsRequest()
    yield "ListPendingPods", cluster_pb.ListPendingPodsRequest()
    yield "ListDecisions", decision_pb.ListDecisionsRequest()
    yield "SummarizeReasons", decision_pb.SummarizeReasonsRequest()
    yield "GetPodHistory", decision_pb.GetPodHistoryRequest(namespace=MINE, name="own")
    yield "GetTimeLine", decision_pb.GetTimeLineRequest(span_count=2)
    yield "ListQueue", decision_pb.ListQueueRequest()
    for seq in seqs:
        yield "GetDecision", decision_pb.GetDecisionRequest(seq=seq)
        yield "ExplainAt", decision_pb.ExplainAtRequest(seq=seq)
        yield "CompareDecisions", decision_pb.CompareDecisionsRequest(first_seq=seq, second_seq=seqs[0])
    yield "GetSession", simulation_pb.GetSessionRequest(session=session)
    yield "EstimateCapacity", simulation_pb.EstimateCapacityRequest(session=session, shapes=[own])
    yield "PlanRemoval", simulation_pb.PlanRemovalRequest(session=session, nodes=["node-0"])
    yield "SuggestChanges", simulation_pb.SuggestChangesRequest(session=session, pod=own)
    yield "AssignBlame", simulation_pb.AssignBlameRequest(session=session, pod=own, node="node-0")
    yield "Explain", pb.ExplainRequest(pod=own, session=session)


def answers(seed: int) -> Iterator[tuple[str, str]]:
    """Yield the answers to a client that sees ``MINE`` alone: each RPC, and its answer or error as text."""
    chance = random.Random(seed)
    nodes, pods = cluster(chance)
    with world(*nodes, *pods) as w:
        servicers = Servicers.of(w.backend)

        def call(name: str, request: Any) -> Any:
            (servicer,) = [
                getattr(servicers, key)
                for key, each in Direct.DESCRIPTORS.items()
                if name in each.methods_by_name
            ]
            context: Any = LocalContext(60.0)
            return masked(getattr(servicer, name))(request, context)

        for pod in pods[-2:]:
            call("Schedule", pb.ScheduleRequest(templates=[pb.PodTemplate(pod=sent(pod))]))
            call("Explain", pb.ExplainRequest(pod=sent(pod)))
        listed = call("ListDecisions", decision_pb.ListDecisionsRequest()).decisions
        seen = CurrentCall(Client(("cn:reader",)), Access(Mine()))
        session = for_call(seen, call, "OpenSession", simulation_pb.OpenSessionRequest()).session.id
        for name, request in questions(my_pod("new", chance), session, [each.seq for each in listed]):
            try:
                yield name, str(for_call(seen, call, name, request))
            except MooringError as error:
                yield name, f"{error.message} {error.metadata}"
        refused = [
            pb.ReserveRequest(
                pod=named(pods[0].metadata.name, namespace=pods[0].metadata.namespace), node="node-2"
            )
        ]
        for request in refused:
            with pytest.raises(MooringError) as failed:
                for_call(seen, call, "Reserve", request)
            yield "Reserve", f"{failed.value.message} {failed.value.metadata}"


def leaks(seeds: range) -> tuple[int, list[tuple[int, str, str]]]:
    """Return how many answers there are, and those that have a name that the client may not see."""
    found = [(seed, *each) for seed in seeds for each in answers(seed)]
    return len(found), [(seed, name, text) for seed, name, text in found if SECRET in text]


def test_no_answer_has_a_name_that_the_client_may_not_see() -> None:
    count, leaked = leaks(range(2))
    assert not leaked
    assert count > 50


@pytest.mark.slow
def test_two_thousand_answers_have_none() -> None:
    count, leaked = leaks(range(1_000, 1_080))
    assert not leaked
    assert count >= 2_000


def test_the_question_would_find_names() -> None:
    """Without a mask most answers have some: the property can fail."""
    chance = random.Random(1)
    nodes, pods = cluster(chance)
    with world(*nodes, *pods) as w:
        servicers = Servicers.of(w.backend)
        listed = servicers.cluster.ListPods(cluster_pb.ListPodsRequest(), LocalContext(60.0))  # type: ignore[arg-type]
        assert SECRET in str(listed)
        explained = servicers.scheduling.Explain(
            pb.ExplainRequest(pod=sent(my_pod("new", chance))),
            LocalContext(60.0),  # type: ignore[arg-type]
        )
        assert SECRET in str(explained)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("taken by secret/web and mine/db", f"taken by {HIDDEN} and mine/db", id="pods"),
        pytest.param("claim secret/data/gpu is taken", f"claim {HIDDEN} is taken", id="a claim's request"),
        pytest.param("Pod/secret/web moved", f"{HIDDEN} moved", id="behind a kind"),
        pytest.param('pod "secret/web.0"', f'pod "{HIDDEN}"', id="quoted"),
        pytest.param("0/3 nodes have example.com/gpu", "0/3 nodes have example.com/gpu", id="no pod"),
        pytest.param(
            "CSINode/a lacks Driver/B", "CSINode/a lacks Driver/B", id="objects without a namespace"
        ),
    ],
)
def test_a_text(text: str, shown: str) -> None:
    assert Mask(Sight(MINE.__eq__)).text(text) == shown


def test_an_error() -> None:
    error = InvalidArgumentError.at("pods[0]", "is secret/web")
    error.metadata["pod"] = "secret/web"
    shown = Mask(Sight(MINE.__eq__)).error(error)
    assert (shown.message, shown.metadata) == (f"pods[0]: is {HIDDEN}", {"pod": HIDDEN})


NAMELESS: Final = frozenset(
    {
        # Nodes, devices and what an operator configures.
        *("AddedNode", "AddedToleration", "BlamedSet", "ChangedLabel", "EnabledPlugin", "LoweredRequest"),
        *("NodeList", "NodeNames", "NodeUsage", "NodeGroupCount", "NodeGroupOption", "PluginInfo", "Profile"),
        *("RequestedResource", "ResourceUsage", "SourceInfo", "Session", "TriedPlacement", "WakingEvents"),
        *("GetCapabilitiesResponse", "GetClusterInfoResponse", "ListProfilesResponse", "ConfigurationPeriod"),
    }
)
"""Messages without names in their texts, whatever field they get: they are about nodes, plugins or the
server.
"""

TEXTS: Final = {
    *(
        "warnings",
        "message",
        "reasons",
        "reason",
        "text",
        "note",
        "asked",
        "present",
        "subject",
        "pod_change",
    ),
    *(
        "node_change",
        "victims",
        "violated_budgets",
        "exhausted_budgets",
        "differences",
        "fields",
        "unexplained",
    ),
    *("inputs", "pod_group", "custom_code", "since", "lacking_domains", "like", "description", "field"),
}
"""Fields that have names as NAMESPACE/NAME alone, which every text is searched for."""

BELONGING: Final = {
    *("PendingPod.controller_kind", "PendingPod.controller_name", "PodSummary.controller_kind"),
    *(
        "PodSummary.controller_name",
        "Decision.controller_kind",
        "Decision.controller_name",
        "Reservation.client",
    ),
    *("PodReference.namespace", "PodReference.name", "PodReference.uid", "ReasonGroup.namespace"),
    *("ReasonGroup.controller_kind", "ReasonGroup.controller_name", "ScheduledGroup.namespace"),
    *("ScheduledGroup.name", "UnreservedPod.uid", "Holder.name", "BlamedInput.name"),
    *("KubernetesObject.json", "KubernetesObject.protobuf"),
}
"""Fields with bare names, of the subject of their message; or with NAMESPACE/NAME."""


def fields() -> Iterator[tuple[str, str]]:
    """Yield the message and the name of each text of an answer of a public RPC."""
    seen = set[str]()
    open_kinds: list[Descriptor] = [
        method.output_type for each in Direct.DESCRIPTORS.values() for method in each.methods
    ]
    while open_kinds:
        kind = open_kinds.pop()
        if kind.full_name in seen or kind.GetOptions().map_entry:
            continue
        seen.add(kind.full_name)
        for field in kind.fields:
            if field.message_type is not None:
                open_kinds.append(field.message_type)
            elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
                yield kind.name, field.name


def test_each_text_of_an_answer_is_known() -> None:
    """A new field has no names, has names with their namespaces, or belongs to a subject: declare which."""
    unknown = [
        f"{kind}.{name}" for kind, name in fields() if name not in PLAIN | TEXTS and kind not in NAMELESS
    ]
    assert {*unknown} == BELONGING


def test_each_question_is_masked() -> None:
    reads = {name for name, right in METHODS.items() if right in (Right.READ, Right.ASK)}
    assert {name for name in reads if " to " not in name} == MASKED


def test_no_metric_has_a_label_of_a_pod() -> None:
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs/interface.txt").read_text()
    labels = {
        label
        for line in text.splitlines()
        if line.startswith("mooring_")
        for label in line.replace(",", " ").split()[1:]
    }
    assert not labels & {"pod", "name", "namespace", "uid", "client"}
