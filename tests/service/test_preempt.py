"""Preempt: candidates worked out, candidates checked, and the extender's preempt verb on top."""

import json
import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import pytest

from mooring.app.bridge import Decoder
from mooring.app.extender import LocalClient
from mooring.cluster.decoding import from_manifest
from mooring.framework import SUCCESS, CycleState, FilterPlugin, Node, NodeInfo, Pod, Status
from mooring.framework.errors import MAX_VIOLATIONS, DeadlineExceededError, InvalidArgumentError
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.preempt import _faults, _given
from mooring.service.services import Servicers
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.nodes_pb2 import NodeNames, NodeSelection
from mooring_client.v1.objects_pb2 import PodReference, PodSource
from tests.extender.fakes import CAPTURED, ask
from tests.service.backends import WAYS, World, configuration, direct, named, profile, rejected, sent, world

NODES = tuple(make_node(name, allocatable={"cpu": "2"}) for name in ("a", "b", "c"))
MAKES_ROOM = configuration(profile("NodeResourcesFit", "DefaultPreemption"))
FIT_ONLY = configuration(profile("NodeResourcesFit"))


def low(name: str, node: str, priority: int = 1, cpu: str = "1") -> Pod:
    return make_pod(
        name, node=node, requests={"cpu": cpu}, metadata={"uid": name}, spec={"priority": priority}
    )


def high(cpu: str = "2", **spec: Any) -> Pod:
    return make_pod("high", requests={"cpu": cpu}, spec={"priority": 10, **spec})


PODS = (low("a1", "a"), low("a2", "a", 2), low("b1", "b", 3, "2"), low("c1", "c", 10, "2"))


def references(*uids: str) -> list[PodSource]:
    return [PodSource(reference=PodReference(uid=uid)) for uid in uids]


def candidate(node: str, *uids: str, violations: int = 0) -> pb.PreemptionCandidate:
    return pb.PreemptionCandidate(node=node, victims=references(*uids), pdb_violation_count=violations)


def checking(*candidates: pb.PreemptionCandidate, pod: PodSource | None = None) -> pb.PreemptRequest:
    """Return a request to check these candidates, by default for ``high()``."""
    given = pb.PreemptionCandidates(candidates=candidates)
    return pb.PreemptRequest(pod=pod or sent(high()), candidates=given)


def told(answer: pb.PreemptResponse) -> dict[str, tuple[list[str], int]]:
    """Victims and violations by node, in the order of the answer."""
    return {
        each.node: ([victim.reference.uid for victim in each.victims], each.pdb_violation_count)
        for each in answer.candidates
    }


@pytest.mark.parametrize("way", WAYS)
def test_candidates_and_the_best_of_them(way: Callable[..., Any]) -> None:
    with world(*NODES, *PODS, document=MAKES_ROOM) as w, way(w.backend) as stubs:
        version = w.state.version
        answer = stubs.scheduling.Preempt(pb.PreemptRequest(pod=sent(high())))
        assert w.state.version == version == answer.provenance.state_version
    assert told(answer) == {"a": (["a2", "a1"], 0), "b": (["b1"], 0)}
    assert answer.node == "a"
    assert (answer.verdict.code, answer.provenance.profile) == (1, "default-scheduler")
    victim = answer.candidates[0].victims[0].reference
    assert (victim.namespace, victim.name) == ("default", "a2")


@pytest.mark.parametrize(
    ("pod", "nodes", "text"),
    [
        pytest.param(
            high(preemptionPolicy="Never"), [], "not eligible due to preemptionPolicy=Never.", id="never"
        ),
        pytest.param(
            high(),
            ["c"],
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="nobody less important",
        ),
        pytest.param(
            high("4"),
            [],
            "0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            id="too large for any node",
        ),
    ],
)
def test_none_says_why(pod: Pod, nodes: list[str], text: str) -> None:
    selection = NodeSelection(names=NodeNames(names=nodes)) if nodes else None
    with world(*NODES, *PODS, document=MAKES_ROOM) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Preempt(pb.PreemptRequest(pod=sent(pod), nodes=selection))
    assert (told(answer), answer.node) == ({}, "")
    assert (answer.verdict.plugin, answer.verdict.message) == ("DefaultPreemption", f"preemption: {text}")


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        pytest.param([candidate("b", "b1", violations=4)], {"b": (["b1"], 4)}, id="as it came"),
        pytest.param(
            [candidate("b", "b1"), candidate("a", "a1", "a2")],
            {"b": (["b1"], 0), "a": (["a1", "a2"], 0)},
            id="in the request's order",
        ),
        pytest.param([candidate("a", "a1")], {"a": (["a2", "a1"], 0)}, id="more have to go"),
        pytest.param([candidate("a")], {"a": (["a2", "a1"], 0)}, id="without victims so far"),
        pytest.param([candidate("c", "c1")], {}, id="a victim as important"),
        pytest.param([candidate("a", "b1")], {}, id="a victim of another node"),
        pytest.param([candidate("a", "gone"), candidate("b", "b1")], {"b": (["b1"], 0)}, id="unknown victim"),
        pytest.param([candidate("z", "a1"), candidate("b", "b1")], {"b": (["b1"], 0)}, id="unknown node"),
        pytest.param([], {}, id="an empty list"),
    ],
)
def test_given_candidates_are_checked(asked: list[pb.PreemptionCandidate], kept: Mapping[str, Any]) -> None:
    with world(*NODES, *PODS, document=MAKES_ROOM) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Preempt(checking(*asked))
    assert told(answer) == kept
    assert list(told(answer)) == list(kept)
    assert (answer.node in kept) == bool(kept)


def test_a_candidate_that_fits_already_needs_no_victims() -> None:
    with world(*NODES, *PODS[:2], document=MAKES_ROOM) as w, direct(w.backend) as stubs:
        asked = checking(candidate("a", "a1", "a2"), candidate("b"))
        answer = stubs.scheduling.Preempt(asked)
    assert told(answer) == {"a": (["a1", "a2"], 0), "b": ([], 0)}
    assert answer.node == "b"


class Alone(FilterPlugin[None]):
    """Takes nodes without pods only."""

    name = "Alone"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) had pods") if node.pods else SUCCESS


def test_the_profiles_own_filters_decide() -> None:
    """A set that is enough for kube-scheduler may not be enough here."""
    document = configuration(profile("Alone", "DefaultPreemption"))
    with world(*NODES, *PODS, plugins=[Alone], document=document) as w, direct(w.backend) as stubs:
        asked = checking(candidate("a", "a1"), candidate("b", "b1"), candidate("c"))
        answer = stubs.scheduling.Preempt(asked)
    assert told(answer) == {"a": (["a2", "a1"], 0), "b": (["b1"], 0)}


def test_whole_pods_and_known_pods() -> None:
    with world(*NODES, *PODS, high(), document=MAKES_ROOM) as w, direct(w.backend) as stubs:
        whole = pb.PreemptionCandidate(node="b", victims=[sent(PODS[2])])
        answer = stubs.scheduling.Preempt(checking(whole, pod=named("high")))
    assert told(answer) == {"b": (["b1"], 0)}


@pytest.mark.parametrize(
    ("candidates", "fault"),
    [
        pytest.param([candidate("", "a1")], ("candidates.candidates[0].node", "is missing"), id="no node"),
        pytest.param(
            [candidate("a", "a1"), candidate("a", "a2")],
            ("candidates.candidates[1].node", "node 'a' is given twice"),
            id="twice",
        ),
        pytest.param(
            [candidate("a", violations=-1)],
            ("candidates.candidates[0].pdb_violation_count", "must be 0 or more"),
            id="negative",
        ),
        pytest.param(
            [candidate("a", "")],
            ("candidates.candidates[0].victims[0].reference.uid", "is missing"),
            id="no UID",
        ),
        pytest.param(
            [pb.PreemptionCandidate(node="a", victims=[PodSource()])],
            ("candidates.candidates[0].victims[0]", "is missing; set object or reference"),
            id="no victim",
        ),
    ],
)
def test_bad_candidates(candidates: list[pb.PreemptionCandidate], fault: tuple[str, str]) -> None:
    with world(*NODES, *PODS, document=MAKES_ROOM) as w, direct(w.backend) as stubs:
        request = checking(*candidates)
        failure = rejected(lambda: stubs.scheduling.Preempt(request))
    assert (failure.info.reason, failure.violations) == ("REQUEST_INVALID", [fault])


def test_a_profile_that_makes_no_room_says_so() -> None:
    with world(*NODES, *PODS, document=FIT_ONLY) as w, direct(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.Preempt(pb.PreemptRequest(pod=sent(high()))))
    assert (failure.info.reason, failure.info.metadata["profile"]) == (
        "PLUGIN_NOT_FOUND",
        "default-scheduler",
    )
    assert "enable DefaultPreemption" in failure.text


def as_captured(mode: str) -> tuple[bytes, dict[str, Any]]:
    body = (CAPTURED / f"cache-{mode}-15-preempt-high.json").read_bytes()
    return body, json.loads(body)


def captured_nodes() -> list[Node]:
    document = json.loads((CAPTURED / "cache-false-01-filter-plain.json").read_bytes())
    return [from_manifest(item, "Node") for item in document["Nodes"]["items"]]  # type: ignore[misc]


def captured_victims(document: dict[str, Any]) -> dict[str, tuple[list[str], int]]:
    victims = document["NodeNameToMetaVictims"] or document["NodeNameToVictims"]
    return {
        node: ([pod.get("UID") or pod["metadata"]["uid"] for pod in each["Pods"]], each["NumPDBViolations"])
        for node, each in victims.items()
    }


def preempted(w: World, body: bytes) -> dict[str, tuple[list[str], int]]:
    reply = ask(LocalClient(Servicers.of(w.backend)), "/preempt", body)  # type: ignore[arg-type]
    assert reply.status == 200
    return captured_victims({"NodeNameToMetaVictims": reply.json["NodeNameToMetaVictims"]})


@pytest.mark.parametrize("mode", ["true", "false"])
def test_captured_requests_of_kube_scheduler(mode: str) -> None:
    body, document = as_captured(mode)
    asked = captured_victims(document)
    there = [
        make_pod(uid, node=node, metadata={"uid": uid}, requests={"cpu": "3500m"}, spec={"priority": 10})
        for node, (uids, _) in asked.items()
        for uid in uids
    ]
    with world(*captured_nodes(), *there, document=MAKES_ROOM) as w:
        assert preempted(w, body) == asked
        # A pod that no caller may evict came to the first node, and the victim of the second is gone.
        first, second, third = asked
        important = make_pod("important", node=first, requests={"cpu": "2"}, spec={"priority": 2000})
        w.put(*captured_nodes(), there[0], important, there[2])
        assert preempted(w, body) == {third: asked[third]}
        assert second not in preempted(w, body)


def test_of_many_faults_the_first_are_told_and_the_others_not_looked_for() -> None:
    candidates = pb.PreemptionCandidates(candidates=[pb.PreemptionCandidate()] * 1_000)
    looked_at = list(islice(_faults(candidates), MAX_VIOLATIONS))
    with pytest.raises(InvalidArgumentError) as caught:
        InvalidArgumentError.raise_if_any(_faults(candidates))
    assert list(caught.value.violations) == looked_at


def test_candidates_are_read_until_the_deadline() -> None:
    victim = PodSource(reference=PodReference(namespace="d", name="p", uid="u"))
    candidates = pb.PreemptionCandidates(candidates=[pb.PreemptionCandidate(node="a", victims=[victim])])
    with pytest.raises(DeadlineExceededError):
        _given(candidates, Decoder(), SlotProgress(time.monotonic()))
