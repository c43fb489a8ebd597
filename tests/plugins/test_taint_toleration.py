from typing import Any

import pytest

from mooring.framework import Code
from mooring.plugins.taint_toleration.plugin import TaintToleration
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import cluster, final_scores, make, raw_scores, verdicts

DEDICATED = {"key": "dedicated", "value": "team-a", "effect": "NoSchedule"}
SOFT = {"key": "spot", "effect": "PreferNoSchedule"}


@pytest.mark.parametrize(
    ("taints", "tolerations", "passes"),
    [
        pytest.param([], [], True, id="no taints"),
        pytest.param([DEDICATED], [], False, id="nothing tolerated"),
        pytest.param([SOFT], [], True, id="a soft taint refuses nobody"),
        pytest.param([{**DEDICATED, "effect": "NoExecute"}], [], False, id="NoExecute refuses too"),
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


def test_up_to_1_34_the_reason_names_the_first_taint() -> None:
    taints = [SOFT, DEDICATED, {"key": "control-plane", "effect": "NoSchedule"}]
    nodes = cluster(make_node("both", taints=taints), make_node("one", taints=taints[2:]))
    said = verdicts(make(TaintToleration, kube="1.34"), make_pod(), nodes)
    assert said["both"].reasons == ("node(s) had untolerated taint {dedicated: team-a}",)
    assert said["one"].reasons == ("node(s) had untolerated taint {control-plane: }",)


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
