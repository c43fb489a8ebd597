"""Decisions that are made again come out as they were noted."""

from __future__ import annotations

from random import Random

import pytest

from mooring.app.engine import Core
from mooring.app.options import DecisionOptions, EngineOptions
from mooring.app.sessions import LiveState
from mooring.config import from_document
from mooring.decisions.decisions import Decisions
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.repeating import Repeater
from mooring.framework.objects import PodGroup
from mooring.runtime.assembly import ProfileBuilder
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.service.decision_differences import differences_of
from mooring.testing import make_node, make_pod
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from tests.decision_journal.churning import GATES, ZONE, churn, group_of
from tests.examples import seeds
from tests.runtime.test_group_cycle import group, member, node
from tests.scheduler.world import World, configuration
from tests.service.backends import direct, sent, world


@pytest.mark.parametrize("seed", seeds(3))
def test_what_is_decided_again_is_what_was_noted(seed: int) -> None:
    ends, told = churn(Random(seed), 150)
    assert set(ends) == {"same"}, told


def scheduled(*cpus: int) -> tuple[World, DecisionJournal, Repeater]:
    """Return a scheduler of groups over nodes with these CPUs, whose attempts are recorded."""
    journal = DecisionJournal()
    nodes = [node(f"n{at}", cpu) for at, cpu in enumerate(cpus)]
    made = World(nodes=nodes, gates=GATES, version="1.37", decisions=Decisions(journal))
    registry, options = new_in_tree_registry(), EngineOptions(kube_version="1.37", feature_gates=GATES)
    document = configuration((), ("default-scheduler",))
    loaded = from_document(document, registry.catalog(), kube_version="1.37", feature_gates=GATES)
    builder = ProfileBuilder.over(
        registry, made.state, made.cluster, kube_version="1.37", feature_gates=GATES
    )
    engine = made.scheduler._components.engine
    live = LiveState(Core(registry, loaded, made.state, engine, builder), options, changes=1_000)
    return made, journal, Repeater(journal, live, live.at)


@pytest.mark.parametrize(
    ("of", "placed"),
    [
        pytest.param(group(4), 4, id="a gang that fits"),
        pytest.param(group(5), 0, id="a gang of which a pod fits nowhere"),
        pytest.param(group(2), 4, id="more than the gang needs"),
        pytest.param(group(4, "zone"), 0, id="no placement"),
    ],
)
def test_attempts_of_groups_are_made_again(of: PodGroup, placed: int) -> None:
    made, journal, repeater = scheduled(2, 2)
    made.add(of, *(member(f"m{number}") for number in range(5)))
    made.add(node("later", 8))
    noted = [one for _, one in journal.after(0, 5).decisions]
    assert sum(bool(one.node) for one in noted) == placed
    assert {one.details.group.key for one in noted if one.details.group} == {("default", "g")}
    again = [repeater.repeat(seq, NoDeadline()) for seq in range(1, 6)]
    told = [differences_of(one, found) for one, (found, _) in zip(noted, again, strict=True)]
    assert told == [[]] * 5


def test_an_attempt_for_which_others_went_is_explained_with_its_victims() -> None:
    made, journal, repeater = scheduled(1)
    low = make_pod("low", node="n0", requests={"cpu": "1"}, spec={"priority": 0})
    high = make_pod("high", requests={"cpu": "1"}, spec={"priority": 9})
    made.add(low, high)
    seq, noted = next(each for each in journal.after(0, 5).decisions if each[1].name == "high")
    found, explanation = repeater.repeat(seq, NoDeadline())
    assert (noted.details.nominated, explanation.room_on) == ("n0", "n0")
    [candidate] = explanation.candidates
    assert [victim.key for victim in candidate.victims] == ["default/low"]
    assert [one.why and one.why.message for one in (found, noted)] == [explanation.message] * 2


def test_with_all_rejections_it_says_what_the_plugins_found() -> None:
    made, _, repeater = scheduled(1)
    made.add(make_pod("big", requests={"cpu": "64"}))
    _, explanation = repeater.repeat(1, NoDeadline(), all_rejections=True)
    [[finding]] = explanation.findings.by_node
    assert (finding.plugin, finding.subject) == ("NodeResourcesFit", "cpu")
    assert not repeater.repeat(1, NoDeadline())[1].findings


def test_a_pod_of_a_group_is_explained_beside_those_before_it() -> None:
    nodes = [make_node(f"n{at}", allocatable={"cpu": "1"}, labels={ZONE: "z"}) for at in range(3)]
    pods = [member(f"m{number}") for number in range(3)]
    with (
        world(
            *nodes, group_of("g", 3, ZONE), gates=GATES, version="1.37", remembering=DecisionOptions()
        ) as w,
        direct(w.backend) as stubs,
    ):
        asked = scheduling_pb.GroupToSchedule(namespace="default", name="g", pods=map(sent, pods))
        stubs.scheduling.ScheduleGroups(scheduling_pb.ScheduleGroupsRequest(groups=[asked]))
        w.put()
        answers = [stubs.decisions.ExplainAt(pb.ExplainAtRequest(seq=seq)) for seq in (1, 2, 3)]
    assert all(answer.agrees for answer in answers)
    assert [len(answer.explanation.scored_positions) for answer in answers] == [3, 2, 0]
    last = answers[-1].explanation
    assert last.nodes.names.names[last.selected_position] == answers[-1].decision.node
    full = last.verdicts.node_verdicts
    assert len([code for code in full if last.verdicts.distinct[code].reasons]) == 2


def test_a_pod_whose_group_was_given_up_before_its_turn_says_so() -> None:
    with (
        world(node("a", 9), group_of("g", 3, "nowhere"), gates=GATES, version="1.37") as w,
        direct(w.backend) as stubs,
    ):
        asked = scheduling_pb.GroupToSchedule(namespace="default", name="g", pods=[sent(member("m"))])
        stubs.scheduling.ScheduleGroups(scheduling_pb.ScheduleGroupsRequest(groups=[asked]))
        answer = stubs.decisions.ExplainAt(pb.ExplainAtRequest(seq=1))
    assert answer.agrees
    assert not answer.explanation.nodes.names.names
    assert answer.explanation.verdict.message == answer.decision.verdict.message != ""
