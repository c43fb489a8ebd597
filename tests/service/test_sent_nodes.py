"""Nodes sent along: whatever is remembered of them, they override the stored ones, and nothing is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.framework import SUCCESS, Node, Pod, Status
from mooring.service.backend import ObjectDecoder
from mooring.testing import make_node, make_pod
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.examples import examples
from tests.service.backends import as_json, configuration, direct, profile, sent, world
from tests.service.fakes import filtering

NAMES, CPUS = ("n0", "n1", "n2"), ("100m", "500m", "2")
NODES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(CPUS), min_size=1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), NODES),
        st.tuples(st.just("ask"), NODES),
        st.tuples(st.just("put"), st.sampled_from(NAMES), st.sampled_from(CPUS)),
        st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    ),
    max_size=12,
)
RESIDENT = make_pod("resident", node="n1", requests={"cpu": "300m"})
ASKING = sent(make_pod("asking", metadata={"uid": "asking"}, requests={"cpu": "300m"}))


def node(name: str, cpu: str) -> Node:
    # The same for a long way.
    labels = {f"label-{number}": "x" * 60 for number in range(4)}
    return make_node(name, labels=labels, allocatable={"cpu": cpu, "pods": 10})


def along(nodes: list[Node]) -> nodes_pb.NodeSelection:
    return nodes_pb.NodeSelection(inline=nodes_pb.InlineNodes(nodes=[as_json(each) for each in nodes]))


def answers(stubs: Any, selection: nodes_pb.NodeSelection) -> tuple[Any, ...]:
    filtered = stubs.scheduling.Filter(pb.FilterRequest(pod=ASKING, nodes=selection))
    scored = stubs.scheduling.Score(
        pb.ScoreRequest(pod=ASKING, nodes=selection, include_totals=True, omit_plugins=True)
    )
    statuses = filtered.verdicts.distinct
    verdicts = [str(statuses[number]) for number in filtered.verdicts.node_verdicts]
    return filtered.verdict, filtered.feasible_count, verdicts, list(scored.totals)


@examples(25)
@given(STEPS)
def test_answers_are_those_of_a_cluster_that_has_these_nodes(steps: list[tuple[Any, ...]]) -> None:
    stored = dict.fromkeys(NAMES, CPUS[-1])
    with world(*(node(*each) for each in stored.items()), RESIDENT) as w, direct(w.backend) as stubs:
        for step, *arguments in steps:
            if step == "put":
                stored.update([arguments])  # type: ignore[list-item]
                w.state.apply("test", [Put(node(*arguments))])
            elif step == "remove":
                [gone] = arguments
                stored.pop(gone, None)
                w.state.apply("test", [Remove("Node", "", gone)])
            else:
                [given_nodes] = arguments
                found = answers(stubs, along([node(*each) for each in given_nodes.items()]))
                there = [node(*each) for each in {**stored, **given_nodes}.items()]
                by_name = nodes_pb.NodeSelection(names=nodes_pb.NodeNames(names=list(given_nodes)))
                with world(*there, RESIDENT) as twin, direct(twin.backend) as its:
                    assert found == answers(its, by_name)


class Counting:
    """Counts the nodes that are decoded."""

    def __init__(self, decoder: ObjectDecoder) -> None:
        self._decoder = decoder
        self.count = 0

    def pod(self, encoding: str, data: bytes, path: str) -> Pod:
        return self._decoder.pod(encoding, data, path)

    def committed_pod(self, encoding: str, data: bytes, path: str) -> Pod:
        return self._decoder.committed_pod(encoding, data, path)

    def node(self, encoding: str, data: bytes, path: str) -> Node:
        self.count += 1
        return self._decoder.node(encoding, data, path)


def test_the_same_bytes_are_decoded_once() -> None:
    nodes = [node(name, "2") for name in NAMES]
    with world(*nodes) as w:
        decoder = Counting(w.backend.decoder)
        with direct(replace(w.backend, decoder=decoder)) as stubs:
            counts = []
            for cpus in ("2", "2", "1", "1", "2"):
                answers(stubs, along([*nodes[:2], node("n2", cpus)]))
                counts.append(decoder.count)
    assert counts == [3, 3, 4, 4, 5]


@pytest.mark.parametrize("change", [Put(node("n0", "100m")), Remove("Node", "", "n0")], ids=["put", "remove"])
def test_a_node_that_changes_meanwhile_is_still_the_one_sent(change: Any) -> None:
    changes = [change]

    def change_once(_: str) -> Status:
        if changes:
            w.state.apply("test", [changes.pop()])
        return SUCCESS

    changing = filtering("Changing", change_once)
    document = configuration(profile("NodeResourcesFit", "Changing"))
    with world(node("n0", "2"), plugins=[changing], document=document) as w, direct(w.backend) as stubs:
        selection = along([node("n0", "2")])
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=ASKING, nodes=selection))
    assert not changes
    assert answer.feasible_count == 1
