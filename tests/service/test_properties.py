"""Rules for every cluster: the RPCs agree, whatever way nodes and pods are written."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import Node, Pod
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.verdicts_pb2 import PluginScores
from tests.cluster.messages import message_of
from tests.examples import examples
from tests.service.backends import Stubs, as_json, configuration, direct, profile, sent, world
from tests.service.fakes import scoring, scoring_all

SETTINGS = examples(40)
ZONES = st.sampled_from(("x", "y", "z"))
CPUS = st.sampled_from(("500m", "1", "2", "4"))
IMAGES = st.sampled_from(("registry.example/app:1", "registry.example/other:2"))


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    return [
        make_node(
            f"n{number}",
            labels={"zone": draw(ZONES)},
            allocatable={"cpu": draw(CPUS), "memory": draw(st.sampled_from(("1Gi", "8Gi")))},
            taints=draw(
                st.lists(
                    st.fixed_dictionaries(
                        {
                            "key": st.sampled_from(("k", "l")),
                            "effect": st.sampled_from(("NoSchedule", "PreferNoSchedule")),
                        }
                    ),
                    max_size=1,
                )
            ),
            spec={"unschedulable": draw(st.booleans())} if draw(st.booleans()) else None,
            status={"images": [{"names": [draw(IMAGES)], "sizeBytes": draw(st.integers(0, 2**30))}]},
        )
        for number in range(draw(st.integers(1, 6)))
    ]


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    preferred = {"weight": draw(st.integers(1, 100)), "preference": _zone_is(draw(ZONES))}
    affinity: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
    if draw(st.booleans()):
        required = {"nodeSelectorTerms": [_zone_is(draw(ZONES), draw(ZONES))]}
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = required
    spec: dict[str, Any] = {"affinity": {"nodeAffinity": affinity}} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        spec["tolerations"] = [{"key": "k", "operator": "Exists"}]
    requests = {"cpu": draw(CPUS), "memory": draw(st.sampled_from(("0", "512Mi", "2Gi")))}
    return make_pod("asked", metadata={"uid": draw(st.sampled_from(TEXT_UIDS))}, requests=requests, spec=spec)


TEXT_UIDS = ("u1", "u2", "u3")


def _zone_is(*zones: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(zones)}]}


def residents(listed: list[Node], crowded: list[int]) -> list[Pod]:
    return [
        make_pod(f"resident-{at}", node=listed[number % len(listed)].metadata.name, requests={"cpu": "500m"})
        for at, number in enumerate(crowded)
    ]


def by_name(*listed: str) -> nodes_pb.NodeSelection:
    return nodes_pb.NodeSelection(names=nodes_pb.NodeNames(names=listed))


def composed(stubs: Stubs, pod: PodSource) -> tuple[list[str], dict[str, int], list[str]]:
    """Filter, Score and NormalizeScore called one by one: feasible nodes, their totals, reasons of others."""
    ask = stubs.scheduling
    filtered = ask.Filter(pb.FilterRequest(pod=pod))
    listed = list(filtered.nodes.names.names)
    numbers = list(filtered.verdicts.node_verdicts) or [0] * len(listed)
    feasible = [name for name, number in zip(listed, numbers, strict=True) if not number]
    said = [str(filtered.verdicts.distinct[number]) for number in numbers]
    scored = ask.Score(pb.ScoreRequest(pod=pod, nodes=by_name(*feasible)))
    normalized = ask.NormalizeScore(
        pb.NormalizeScoreRequest(
            pod=pod,
            nodes=by_name(*feasible),
            plugins=[PluginScores(plugin=column.plugin, raw=column.raw) for column in scored.plugins],
        )
    )
    sums = np.zeros(len(feasible), np.int64)
    for column in normalized.plugins:
        sums += np.array(column.weighted, np.int64)
    assert sums.tolist() == list(normalized.totals)
    return feasible, dict(zip(feasible, sums.tolist(), strict=True)), said


@SETTINGS
@given(nodes(), st.lists(st.integers(0, 5), max_size=6), pods(), st.integers(0, 2**64 - 1))
def test_calls_one_by_one_give_what_schedule_gives(
    listed: list[Node], crowded: list[int], pod: Pod, seed: int
) -> None:
    with world(*listed, *residents(listed, crowded)) as w, direct(w.backend) as stubs:
        feasible, totals, said = composed(stubs, sent(pod))
        scheduled = stubs.scheduling.Schedule(
            pb.ScheduleRequest(templates=[pb.PodTemplate(pod=sent(pod))], seed=seed, include_ties=True)
        )
        explained = stubs.scheduling.Explain(pb.ExplainRequest(pod=sent(pod), seed=seed, always_score=True))
    numbers = list(explained.verdicts.node_verdicts) or [0] * len(listed)
    assert [str(explained.verdicts.distinct[number]) for number in numbers] == said
    positions = {name: at for at, name in enumerate(explained.nodes.names.names)}
    assert dict(zip(explained.scored_positions, explained.totals, strict=True)) == {
        positions[name]: total for name, total in totals.items()
    }
    (node,) = scheduled.nodes.names.names
    assert scheduled.feasible_counts == [len(feasible)]
    if not feasible:
        assert node == ""
        return
    best = max(totals.values())
    assert set(scheduled.ties[0].names.names) == {name for name in feasible if totals[name] == best}
    assert node in scheduled.ties[0].names.names
    assert scheduled.totals == [best if len(feasible) > 1 else 0]
    assert explained.nodes.names.names[explained.selected_position] == node


@SETTINGS
@given(nodes(), pods())
def test_both_encodings_of_a_pod_get_the_same_answers(listed: list[Node], pod: Pod) -> None:
    encoded = KubernetesObject(protobuf=message_of(pod).SerializeToString())
    with world(*listed) as w, direct(w.backend) as stubs:
        for method, request in (
            ("Filter", pb.FilterRequest),
            ("Score", pb.ScoreRequest),
            ("Explain", pb.ExplainRequest),
        ):
            call = getattr(stubs.scheduling, method)
            assert call(request(pod=sent(pod))) == call(request(pod=PodSource(object=encoded)))


@SETTINGS
@given(nodes(), pods(), st.data())
def test_every_way_to_name_nodes_gets_the_same_answers(
    listed: list[Node], pod: Pod, data: st.DataObject
) -> None:
    chosen = sorted(data.draw(st.sets(st.sampled_from(range(len(listed))))))
    names = [listed[at].metadata.name for at in chosen]
    bits = np.zeros(len(listed), np.bool_)
    bits[chosen] = True
    with world(*listed) as w, direct(w.backend) as stubs:
        index, epoch = w.state.snapshot.nodes.index, w.state.snapshot.nodes.epoch
        assert [index[name] for name in names] == chosen
        selections = [
            by_name(*names),
            nodes_pb.NodeSelection(joined_names="\0".join(names).encode()),
            nodes_pb.NodeSelection(indices=nodes_pb.NodeIndices(node_epoch=epoch, indices=chosen)),
            nodes_pb.NodeSelection(
                bitmap=nodes_pb.NodeBitmap(
                    node_epoch=epoch, bits=np.packbits(bits, bitorder="little").tobytes()
                )
            ),
        ]
        filtered, scored = [], []
        for selection in selections:
            filtered.append(stubs.scheduling.Filter(pb.FilterRequest(pod=sent(pod), nodes=selection)))
            request = pb.ScoreRequest(pod=sent(pod), nodes=selection, include_totals=True)
            scored.append(stubs.scheduling.Score(request))
    for answers in (filtered, scored):
        assert list(answers[-1].nodes.indices.indices) == chosen
        answers[-1].ClearField("nodes")
        assert all(answer == answers[0] for answer in answers)


@SETTINGS
@given(nodes(), st.lists(st.integers(0, 100), min_size=6, max_size=6), st.integers(1, 10))
def test_both_ways_to_write_a_plugin_give_the_same_answers(
    listed: list[Node], points: list[int], weight: int
) -> None:
    score = {f"n{number}": point for number, point in enumerate(points)}
    one = scoring("Mine", lambda name: score[name])
    all_at_once = scoring_all("Mine", lambda names: np.array([score[name] for name in names], np.int64))
    document = configuration(profile(("Mine", weight)))
    answers = []
    for kind in (one, all_at_once):
        with world(*listed, plugins=[kind], document=document) as w, direct(w.backend) as stubs:
            request = pb.ScoreRequest(pod=sent(make_pod()), include_totals=True)
            answers.append(stubs.scheduling.Score(request))
    assert answers[0] == answers[1]
    assert [total // weight for total in answers[0].totals] == points[: len(listed)]


@SETTINGS
@given(nodes(), pods())
def test_the_inline_copy_of_a_node_changes_nothing(listed: list[Node], pod: Pod) -> None:
    inline = nodes_pb.NodeSelection(inline=nodes_pb.InlineNodes(nodes=[as_json(node) for node in listed]))
    with world(*listed, *residents(listed, [0, 1])) as w, direct(w.backend) as stubs:
        stored = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(pod)))
        sent_along = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(pod), nodes=inline))
    stored.ClearField("nodes")
    assert stored == sent_along
