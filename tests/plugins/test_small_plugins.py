import logging

import pytest

from mooring.framework import BindOutcome, Code, CycleState, Status
from mooring.plugins.default_binder.plugin import DefaultBinder
from mooring.plugins.node_filter.plugin import NodeFilter
from mooring.plugins.node_name.plugin import NodeName
from mooring.plugins.node_unschedulable.plugin import NodeUnschedulable
from mooring.plugins.priority_sort.plugin import PrioritySort
from mooring.plugins.scheduling_gates.plugin import SchedulingGates
from mooring.plugins.taint_toleration.plugin import COMPARISON_GATE
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import RecordingBinder, cluster, make, verdicts

CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "passes"),
    [
        pytest.param([], False, id="not tolerated"),
        pytest.param([{"key": CORDON, "operator": "Exists", "effect": "NoSchedule"}], True, id="tolerated"),
        pytest.param([{"operator": "Exists"}], True, id="everything is"),
        pytest.param(
            [{"key": CORDON, "operator": "Lt", "value": "1"}], False, id="the taint has no value to compare"
        ),
        pytest.param(
            [{"key": CORDON, "operator": "Exists", "effect": "NoExecute"}], False, id="another effect"
        ),
    ],
)
def test_node_unschedulable(tolerations: list[dict[str, str]], passes: bool) -> None:
    nodes = cluster(make_node("cordoned", spec={"unschedulable": True}), make_node("open"))
    plugin = make(NodeUnschedulable, gates={COMPARISON_GATE: True})
    said = verdicts(plugin, make_pod(spec={"tolerations": tolerations}), nodes)
    rejected = Status.unresolvable("node(s) were unschedulable")
    assert said == {"cordoned": Status() if passes else rejected, "open": Status()}


@pytest.mark.parametrize(
    ("wanted", "passing"),
    [
        pytest.param("", {"a", "b"}, id="none named"),
        pytest.param("b", {"b"}, id="one named"),
        pytest.param("gone", set(), id="one that is not there"),
    ],
)
def test_node_name(wanted: str, passing: set[str]) -> None:
    said = verdicts(make(NodeName), make_pod(node=wanted), cluster(make_node("a"), make_node("b")))
    assert {name for name, status in said.items() if status.ok} == passing
    rejected = Status.unresolvable("node(s) didn't match the requested node name")
    assert all(status in (Status(), rejected) for status in said.values())


def test_scheduling_gates() -> None:
    plugin = make(SchedulingGates)
    assert plugin.pre_enqueue(make_pod()).ok
    said = plugin.pre_enqueue(make_pod(spec={"schedulingGates": [{"name": "a/b"}, {"name": "c"}]}))
    assert said == Status.unresolvable("waiting for scheduling gates: [a/b c]")


@pytest.mark.parametrize(
    ("first", "second", "less"),
    [
        pytest.param((10, 2.0), (5, 1.0), True, id="priority before age"),
        pytest.param((5, 1.0), (10, 2.0), False, id="the other way round"),
        pytest.param((5, 1.0), (5, 2.0), True, id="the older of equals"),
        pytest.param((5, 1.0), (5, 1.0), False, id="never before its like"),
        pytest.param((None, 2.0), (-1, 1.0), True, id="no priority is 0"),
    ],
)
def test_priority_sort(first: tuple[int | None, float], second: tuple[int | None, float], less: bool) -> None:
    one, other = (make_pod(spec={"priority": priority}) for priority, _ in (first, second))
    assert make(PrioritySort).less(one, first[1], other, second[1]) is less


@pytest.mark.parametrize("outcome", list(BindOutcome), ids=lambda outcome: outcome.name)
def test_default_binder_leaves_the_outcome(outcome: BindOutcome) -> None:
    binder, state = RecordingBinder(outcome), CycleState()
    said = make(DefaultBinder, binder=binder).bind(state, make_pod("p"), "n")
    assert said.code is Code.SUCCESS
    assert binder.bound == [("default/p", "n")]
    assert state.read(BindOutcome, BindOutcome) is outcome


@pytest.mark.parametrize("level", [3, 4])
def test_node_filter_logs_at_level_4_and_passes(level: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO - level, "mooring.plugins.nodeFilter")
    node = make_node("k8s-0001", allocatable={"cpu": "1900m", "memory": 8020508672})
    said = verdicts(make(NodeFilter), make_pod("nginx"), cluster(node, make_node("k8s-0002")))
    assert all(status.ok for status in said.values())
    line = "nodeFilter filter pod=default/nginx node=k8s-0001 cpu=1900 memory=8020508672"
    assert (len(caplog.messages), line in caplog.messages) == ((2, True) if level == 4 else (0, False))
