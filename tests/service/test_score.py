"""Score and NormalizeScore: columns of raw, normalised and weighted scores."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.verdicts_pb2 import PluginScores
from tests.service.backends import (
    WAYS,
    codes,
    configuration,
    direct,
    named,
    profile,
    rejected,
    scores_of,
    sent,
    world,
)
from tests.service.fakes import scoring
from tests.service.test_filter import joined, names

NODES = tuple(make_node(name) for name in ("a", "b", "c"))
FIRST = scoring("First", lambda name: {"a": 10, "b": 20, "c": 30}[name])
SECOND = scoring("Second", lambda name: {"a": 7, "b": 100, "c": 0}[name])
BOTH = configuration(profile("First", ("Second", 3)))
INVALID, NOT_FOUND = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
UNKNOWN = "UNSCHEDULABLE_AND_UNRESOLVABLE"


@pytest.mark.parametrize("way", WAYS)
def test_raw_columns_in_the_callers_order(way: Callable[..., Any]) -> None:
    with world(*NODES, plugins=[FIRST, SECOND], document=BOTH) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Score(pb.ScoreRequest(pod=sent(make_pod()), nodes=names("c", "x", "a")))
    assert codes(answer.verdicts, 3) == ["SUCCESS", UNKNOWN, "SUCCESS"]
    assert list(map(scores_of, answer.plugins)) == [
        ("First", [30, 0, 10], [], []),
        ("Second", [0, 0, 7], [], []),
    ]
    assert [plugin.weight for plugin in answer.plugins] == [1, 3]
    assert list(answer.totals) == []
    assert answer.weight_sum == 4


@pytest.mark.parametrize("way", WAYS)
def test_totals_are_the_weighted_sums(way: Callable[..., Any]) -> None:
    with world(*NODES, plugins=[FIRST, SECOND], document=BOTH) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Score(
            pb.ScoreRequest(pod=sent(make_pod()), nodes=joined(b"b\0x"), include_totals=True)
        )
    assert list(map(scores_of, answer.plugins)) == [
        ("First", [20, 0], [20, 0], [20, 0]),
        ("Second", [100, 0], [100, 0], [300, 0]),
    ]
    assert list(answer.totals) == [320, 0]


def test_the_columns_of_plugins_can_be_left_out() -> None:
    with world(*NODES, plugins=[FIRST, SECOND], document=BOTH) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Score(
            pb.ScoreRequest(pod=sent(make_pod()), include_totals=True, omit_plugins=True)
        )
    assert list(answer.plugins) == []
    assert list(answer.totals) == [31, 320, 30]


@pytest.mark.parametrize(
    "selection", [pytest.param(names(), id="none"), pytest.param(names("x"), id="only unknown ones")]
)
def test_no_known_nodes_have_no_scores(selection: nodes_pb.NodeSelection) -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Score(
            pb.ScoreRequest(pod=sent(make_pod()), nodes=selection, include_totals=True)
        )
    assert list(answer.totals) == [0] * len(selection.names.names)


def test_nodes_are_taken_as_feasible() -> None:
    huge = make_pod(requests={"cpu": "400"})
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Score(pb.ScoreRequest(pod=sent(huge), include_totals=True))
    assert not answer.verdicts.node_verdicts
    assert len(answer.verdicts.distinct) == 1
    assert len(answer.totals) == 3


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]}, id="volume"),
        pytest.param({"resourceClaims": [{"name": "c", "resourceClaimName": "x"}]}, id="devices"),
    ],
)
def test_a_pod_whose_claim_is_unknown_has_scores(spec: dict[str, Any]) -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        pod = sent(make_pod(spec=spec))
        answer = stubs.scheduling.Score(pb.ScoreRequest(pod=pod, include_totals=True))
        assert not stubs.scheduling.Filter(pb.FilterRequest(pod=pod)).feasible_count
    scores = {plugin.plugin: list(plugin.raw) for plugin in answer.plugins}
    assert scores["DynamicResources"] == [0, 0, 0]
    assert len(answer.totals) == 3


def test_a_profile_without_score_plugins_weighs_nothing() -> None:
    with world(*NODES, document=configuration(profile("NodeName"))) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Score(pb.ScoreRequest(pod=sent(make_pod()), include_totals=True))
    assert (answer.weight_sum, list(answer.plugins), len(answer.totals)) == (0, [], 3)


@pytest.mark.parametrize("source", [pytest.param(named("p"), id="named"), pytest.param(None, id="sent")])
def test_a_placed_pod_does_not_count_against_itself(source: Any) -> None:
    placed = make_pod("p", node="a", requests={"cpu": "3", "memory": "12Gi"})
    same = make_pod("p", requests={"cpu": "3", "memory": "12Gi"})
    with world(*NODES, placed) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Score(pb.ScoreRequest(pod=source or sent(same), include_totals=True))
    assert len(set(answer.totals)) == 1


@pytest.mark.parametrize("way", WAYS)
def test_normalize_takes_up_where_score_ended(way: Callable[..., Any]) -> None:
    with world(*NODES, plugins=[FIRST, SECOND], document=BOTH) as w, way(w.backend) as stubs:
        pod, nodes = sent(make_pod()), names("c", "x", "b")
        scored = stubs.scheduling.Score(pb.ScoreRequest(pod=pod, nodes=nodes, include_totals=True))
        plugins = [PluginScores(plugin=p.plugin, raw=p.raw) for p in reversed(scored.plugins)]
        request = pb.NormalizeScoreRequest(pod=pod, nodes=nodes, plugins=plugins)
        answer = stubs.scheduling.NormalizeScore(request)
    assert [plugin.plugin for plugin in answer.plugins] == ["Second", "First"]
    for one, other in zip(answer.plugins, reversed(scored.plugins), strict=True):
        assert scores_of(one) == (other.plugin, [], list(other.normalized), list(other.weighted))
    assert list(answer.totals) == list(scored.totals)
    assert answer.verdicts == scored.verdicts
    assert answer.weight_sum == scored.weight_sum
    assert answer.provenance == scored.provenance


def test_a_plugin_that_is_left_out_adds_nothing() -> None:
    with world(*NODES, plugins=[FIRST, SECOND], document=BOTH) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.NormalizeScore(
            pb.NormalizeScoreRequest(
                pod=sent(make_pod()), plugins=[PluginScores(plugin="Second", raw=[1, 2, 3])]
            )
        )
    assert list(answer.totals) == [3, 6, 9]


def test_a_plugin_that_skips_the_pod_is_ignored_and_named() -> None:
    document = configuration(profile("First", "ImageLocality", "NodeAffinity"))
    with world(*NODES, plugins=[FIRST], document=document) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.NormalizeScore(
            pb.NormalizeScoreRequest(
                pod=sent(make_pod()),
                plugins=[PluginScores(plugin=name, raw=[5, 6, 7]) for name in ("NodeAffinity", "First")],
            )
        )
    assert [plugin.plugin for plugin in answer.plugins] == ["First"]
    assert list(answer.totals) == [5, 6, 7]
    assert any("NodeAffinity" in warning for warning in answer.warnings)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("plugins", "code", "reason", "path"),
    [
        pytest.param(
            [("First", [1, 2])],
            INVALID,
            "REQUEST_INVALID",
            "plugins[0].raw",
            id="short",
        ),
        pytest.param(
            [("First", [1, 2, 3]), ("Second", [1, 2, 3, 4])],
            INVALID,
            "REQUEST_INVALID",
            "plugins[1].raw",
            id="long",
        ),
        pytest.param(
            [("First", [1, 2, 3]), ("First", [1, 2, 3])],
            INVALID,
            "REQUEST_INVALID",
            "plugins[1].plugin",
            id="twice",
        ),
        pytest.param(
            [("Third", [1, 2, 3])],
            NOT_FOUND,
            "PLUGIN_NOT_FOUND",
            None,
            id="not in the profile",
        ),
        pytest.param(
            [("First", [1, 2, 101])],
            INVALID,
            "REQUEST_INVALID",
            "plugins[0].raw",
            id="beyond 100 at the end",
        ),
    ],
)
def test_columns_that_do_not_fit_are_rejected(
    way: Callable[..., Any],
    plugins: list[tuple[str, list[int]]],
    code: grpc.StatusCode,
    reason: str,
    path: str | None,
) -> None:
    request = pb.NormalizeScoreRequest(
        pod=sent(make_pod()), plugins=[PluginScores(plugin=name, raw=raw) for name, raw in plugins]
    )
    with world(*NODES, plugins=[FIRST, SECOND], document=BOTH) as w, way(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.NormalizeScore(request))
    assert (failure.code, failure.info.reason) == (code, reason)
    assert [field for field, _ in failure.violations] == ([path] if path else [])
    if reason == "PLUGIN_NOT_FOUND":
        assert dict(failure.info.metadata) == {"plugin": "Third", "profile": "default-scheduler"}


SMALL = make_node("small", allocatable={"cpu": "500m"})
RULES = configuration(profile("NodeResourcesFit", ("NodeResourcesBalancedAllocation", 3)))
NO_SCORES = configuration(profile("NodeName"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("document", "asked", "feasible"),
    [
        pytest.param(RULES, "c x small a", "c a", id="some reject"),
        pytest.param(RULES, "b a", "b a", id="none rejects"),
        pytest.param(RULES, "small", "", id="all reject"),
    ],
)
def test_filter_adds_what_score_says_of_exactly_the_feasible_nodes(
    way: Callable[..., Any], document: Any, asked: str, feasible: str
) -> None:
    crowd = make_pod("crowd", node="c", requests={"cpu": "1"})
    pod = sent(make_pod(requests={"cpu": "1", "memory": "1Gi"}))
    with world(*NODES, SMALL, crowd, document=document) as w, way(w.backend) as stubs:
        about = names(*asked.split())
        filtered = stubs.scheduling.Filter(pb.FilterRequest(pod=pod, nodes=about, include_totals=True))
        about = names(*feasible.split())
        scored = stubs.scheduling.Score(pb.ScoreRequest(pod=pod, nodes=about, include_totals=True))
        plain = stubs.scheduling.Filter(pb.FilterRequest(pod=pod, nodes=about))
    assert filtered.feasible_count == len(feasible.split())
    assert list(filtered.totals) == list(scored.totals)
    assert filtered.weight_sum == scored.weight_sum
    assert (list(plain.totals), plain.weight_sum) == ([], 0)


@pytest.mark.parametrize(
    "document", [pytest.param(BOTH, id="plugins to ask"), pytest.param(NO_SCORES, id="none scores")]
)
def test_filter_adds_no_totals_that_are_not_at_hand(document: Any) -> None:
    with world(*NODES, plugins=[FIRST, SECOND], document=document) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), include_totals=True))
    assert (answer.feasible_count, list(answer.totals), answer.weight_sum) == (3, [], 0)
