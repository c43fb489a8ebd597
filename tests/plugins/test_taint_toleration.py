from typing import Any

import pytest

from mooring.framework import Code
from mooring.plugins.taint_toleration.plugin import COMPARISON_GATE, TaintToleration
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import cluster, final_scores, make, raw_scores, verdicts

DEDICATED = {"key": "dedicated", "value": "team-a", "effect": "NoSchedule"}
SOFT = {"key": "spot", "effect": "PreferNoSchedule"}


@pytest.mark.parametrize(
    ("taints", "tolerations", "passes"),
    [
        pytest.param([], [], True, id="no taints"),
        pytest.param([DEDICATED], [], False, id="nothing tolerated"),
        pytest.param([SOFT], [], True, id="a soft taint rejects nobody"),
        pytest.param([{**DEDICATED, "effect": "NoExecute"}], [], False, id="NoExecute rejects too"),
        pytest.param(
            [DEDICATED], [{"key": "dedicated", "value": "team-a"}], True, id="no operator means Equal"
        ),
        pytest.param([DEDICATED], [{"key": "dedicated", "value": "team-b"}], False, id="another value"),
        pytest.param([DEDICATED], [{"key": "dedicated", "operator": "Exists"}], True, id="any value"),
        pytest.param([DEDICATED], [{"operator": "Exists"}], True, id="any key"),
        pytest.param(
            [DEDICATED], [{"operator": "Exists", "effect": "NoExecute"}], False, id="another effect"
        ),
        pytest.param(
            [DEDICATED], [{"key": "dedicated", "operator": "Gt", "value": "1"}], False, id="Gt is off"
        ),
        pytest.param(
            [DEDICATED, {"key": "gpu", "effect": "NoSchedule"}],
            [{"key": "dedicated", "operator": "Exists"}],
            False,
            id="one of two tolerated",
        ),
    ],
)
def test_filter(taints: list[Any], tolerations: list[Any], passes: bool) -> None:
    nodes = cluster(make_node("n", taints=taints), make_node("clean"))
    said = verdicts(make(TaintToleration), make_pod(spec={"tolerations": tolerations}), nodes)
    assert said["clean"].ok
    assert said["n"].ok is passes
    if not passes:
        assert said["n"].code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        assert said["n"].reasons == ("node(s) had untolerated taint(s)",)


@pytest.mark.parametrize(
    ("operator", "limit", "value", "passes"),
    [
        pytest.param("Gt", "5", "6", True, id="greater"),
        pytest.param("Gt", "5", "5", False, id="equal is not greater"),
        pytest.param("Gt", "5", "10", True, id="as numbers, not as texts"),
        pytest.param("Lt", "5", "4", True, id="less"),
        pytest.param("Lt", "5", "5", False, id="equal is not less"),
        pytest.param("Lt", "-1", "-2", True, id="negative"),
        pytest.param("Gt", "0", "-1", False, id="negative is not greater"),
        pytest.param("Gt", "-1", "0", True, id="zero"),
        pytest.param("Lt", "5", "04", False, id="leading zero"),
        pytest.param("Lt", "05", "4", False, id="leading zero in the toleration"),
        pytest.param("Lt", "5", "-0", False, id="negative zero"),
        pytest.param("Lt", "5", "+4", False, id="plus sign"),
        pytest.param("Lt", "5", "", False, id="taint without a value"),
        pytest.param("Gt", "", "5", False, id="toleration without a value"),
        pytest.param("Gt", "5", "6.0", False, id="fraction"),
        pytest.param("Gt", "5", "six", False, id="word"),
        pytest.param("Gt", "5", "\u0666", False, id="digits of another script"),
        pytest.param("Gt", str(2**63 - 2), str(2**63 - 1), True, id="largest"),
        pytest.param("Gt", "5", str(2**63), False, id="beyond 64 bits"),
        pytest.param("Lt", str(1 - 2**63), str(-(2**63)), True, id="smallest"),
        pytest.param("Lt", "5", str(-(2**63) - 1), False, id="below 64 bits"),
        pytest.param("Gt", "5", "9" * 5000, False, id="thousands of digits"),
    ],
)
def test_comparisons(operator: str, limit: str, value: str, passes: bool) -> None:
    taint = {"key": "level", "value": value, "effect": "NoSchedule"}
    pod = make_pod(spec={"tolerations": [{"key": "level", "operator": operator, "value": limit}]})
    plugin = make(TaintToleration, gates={COMPARISON_GATE: True})
    assert verdicts(plugin, pod, cluster(make_node("n", taints=[taint])))["n"].ok is passes


@pytest.mark.parametrize(
    ("kube", "gates", "compares"),
    [
        pytest.param("1.36", {COMPARISON_GATE: True}, True, id="on"),
        pytest.param("1.35", {COMPARISON_GATE: True}, True, id="on in the first release that has it"),
        pytest.param("1.34", {COMPARISON_GATE: True}, False, id="a release without it"),
        pytest.param("1.36", {COMPARISON_GATE: False}, False, id="off"),
        pytest.param("1.36", {}, False, id="off by default"),
    ],
)
def test_comparisons_need_their_gate(kube: str, gates: dict[str, bool], compares: bool) -> None:
    hard = {"key": "level", "value": "6", "effect": "NoSchedule"}
    nodes = cluster(
        make_node("hard", taints=[hard]), make_node("soft", taints=[{**hard, "effect": "PreferNoSchedule"}])
    )
    pod = make_pod(spec={"tolerations": [{"key": "level", "operator": "Gt", "value": "5"}]})
    plugin = make(TaintToleration, kube=kube, gates=gates)
    assert verdicts(plugin, pod, nodes)["hard"].ok is compares
    assert raw_scores(plugin, pod, nodes) == {"hard": 0, "soft": 0 if compares else 1}


@pytest.mark.parametrize(
    ("tolerations", "raw", "final"),
    [
        pytest.param([], {"a": 0, "b": 1, "c": 2}, {"a": 100, "b": 50, "c": 0}, id="fewer is better"),
        pytest.param(
            [{"operator": "Exists"}], dict.fromkeys("abc", 0), dict.fromkeys("abc", 100), id="all borne"
        ),
        pytest.param(
            [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
            {"a": 0, "b": 1, "c": 2},
            {"a": 100, "b": 50, "c": 0},
            id="tolerations of other effects don't count",
        ),
        pytest.param(
            [{"key": "spot", "operator": "Exists", "effect": "PreferNoSchedule"}],
            {"a": 0, "b": 0, "c": 1},
            {"a": 100, "b": 100, "c": 0},
            id="one borne",
        ),
    ],
)
def test_score(tolerations: list[Any], raw: dict[str, int], final: dict[str, int]) -> None:
    more = [SOFT, {"key": "old", "effect": "PreferNoSchedule"}]
    nodes = cluster(
        make_node("a", taints=[DEDICATED]), make_node("b", taints=[SOFT]), make_node("c", taints=more)
    )
    pod = make_pod(spec={"tolerations": tolerations})
    assert raw_scores(make(TaintToleration), pod, nodes) == raw
    assert final_scores(make(TaintToleration), pod, nodes) == final
