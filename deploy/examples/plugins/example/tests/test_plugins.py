import logging
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from mooring.cluster.state import State
from mooring.config import load
from mooring.framework import BindOutcome, CycleState, Handle, NodeView, Pod, PreFilterPlugin
from mooring.plugins.node_filter.plugin import NodeFilter as InTreeNodeFilter
from mooring.runtime.profiles.registry import RegistryError, new_in_tree_registry
from mooring.testing.builders import make_node, make_pod

from mooring_example import Example, NodeFilter

PACKAGE = Path(__file__).parents[1]
NODES = [
    make_node("k8s-0001", allocatable={"cpu": "1900m", "memory": 8020508672}),
    make_node("k8s-0002", allocatable={"cpu": "4", "memory": "1Gi"}),
]
POD = make_pod("nginx", spec={"schedulerName": "tanjunchen-scheduler"})


class NoBinder:
    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        raise AssertionError("these plugins bind nothing")


class StoppedClock:
    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0


STATE = State()
STATE.replace("test", NODES)
HANDLE = Handle(lambda: STATE.snapshot, NoBinder(), StoppedClock(), logging.getLogger("mooring.plugins.test"))
VIEW = NodeView(STATE.snapshot, STATE.snapshot.nodes.rows())


def test_example_logs_at_each_of_its_points(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    plugin, state = Example(None, HANDLE), CycleState()
    assert plugin.pre_filter(state, POD, VIEW).ok
    assert not plugin.filter_nodes(state, POD, VIEW).codes.any()
    assert plugin.pre_bind(state, POD, "k8s-0002").ok
    assert caplog.messages == [
        "tanjunchen-scheduler example preFilter pod=default/nginx nodes=2",
        "tanjunchen-scheduler example filter pod=default/nginx node=k8s-0001 cpu=1900 memory=8020508672",
        "tanjunchen-scheduler example filter pod=default/nginx node=k8s-0002 cpu=4000 memory=1073741824",
        "tanjunchen-scheduler example preBind pod=default/nginx node=k8s-0002",
    ]


def test_node_filter_logs_what_nodes_offer_and_passes_them(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    said = NodeFilter(None, HANDLE).filter_nodes(CycleState(), POD, VIEW)
    assert not said.codes.any()
    line = "tanjunchen-scheduler nodeFilter filter pod=default/nginx node=k8s-0001 cpu=1900 memory=8020508672"
    assert line in caplog.messages
    assert len(caplog.messages) == len(NODES)


def test_a_name_is_taken_once() -> None:
    registry = new_in_tree_registry()
    with pytest.raises(RegistryError, match="a plugin named nodeFilter already exists"):
        registry.register(NodeFilter.name, NodeFilter)
    assert registry["nodeFilter"].plugin_class() is InTreeNodeFilter
    registry.unregister("nodeFilter")
    registry.register(NodeFilter.name, NodeFilter)
    assert registry["nodeFilter"].plugin_class() is NodeFilter


def test_entry_points_and_configuration_agree() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    registry = new_in_tree_registry()
    for name, reference in project["entry-points"]["mooring.plugins"].items():
        registry.register(name, EntryPoint(name, reference, "mooring.plugins").load())
    configuration = load((PACKAGE / "config.yaml").read_text(), registry.catalog())
    (profile,) = configuration.profiles
    assert profile.scheduler_name == "tanjunchen-scheduler"
    assert [entry.name for entry in profile.plugins["filter"]][-2:] == ["example", "tanjunchenNodeFilter"]
    assert "example" in [entry.name for entry in profile.plugins["preBind"]]
    assert issubclass(registry["example"].plugin_class(), PreFilterPlugin)
