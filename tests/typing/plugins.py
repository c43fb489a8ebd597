"""Errors of a type checker for the author of a plugin. The file is never run: `make check` reads it.

A line that must be an error names it; mypy complains if it is not an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_type

from mooring.cli import Option, main, with_plugin
from mooring.framework import (
    MAX_NODE_SCORE,
    CycleState,
    FilterPlugin,
    Handle,
    NodeInfo,
    NodeView,
    Plugin,
    Pod,
    PreFilterPlugin,
    PreFilterResult,
    ScorePlugin,
    Status,
)
from mooring.testing import explain, make_node, make_pod


@dataclass(frozen=True)
class RackArgs:
    label: str = "example.com/rack"


class Rack(ScorePlugin[RackArgs], FilterPlugin[RackArgs]):
    """Two points with one kind of arguments."""

    name = "Rack"
    Args = RackArgs

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        assert_type(self.args, RackArgs)
        assert_type(self.args.label, str)
        assert_type(self.handle, Handle)
        assert_type(node.labels, Mapping[str, str])
        return Status.unschedulable("rack")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return MAX_NODE_SCORE if self.args.label in pod.metadata.annotations else 0


class Narrowing(PreFilterPlugin[None]):
    name = "Narrowing"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        return PreFilterResult(frozenset({"n1"}))


class WordForScore(ScorePlugin[None]):
    name = "WordForScore"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> str:  # type: ignore[override]
        return "best"


def made(handle: Handle) -> None:
    plugin: Plugin[RackArgs] = Rack(RackArgs(), handle)
    assert_type(plugin.name, str)
    Rack(None, handle)  # type: ignore[arg-type]


def used() -> int:
    option = with_plugin("Rack", Rack)
    assert_type(option, Option)
    explain([{}], {}, seed="7")  # type: ignore[arg-type]
    make_pod("web").metadata.name = "other"  # type: ignore[misc]
    assert_type(make_node("n1").metadata.name, str)
    return main(option, argv=["plugins"])
