"""Plugins whose answers a test sets, and a way to run a cycle with just these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Int64s,
    NodeInfo,
    NodeView,
    Plugin,
    Pod,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    Status,
)
from mooring.runtime.profiles.registry import Registry, new_in_tree_registry
from mooring.testing import explain
from mooring.testing.builders import node_manifest, pod_manifest

Answer = Callable[[str], Status]


def filtering(name: str, answer: Answer | dict[str, Status]) -> type[Plugin[Any]]:
    """Return a Filter plugin with a status for each node, by name; Success if a dict has none."""
    calls: list[str] = []

    class Filtering(FilterPlugin[None]):
        asked: ClassVar[list[str]] = calls

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            calls.append(node.name)
            return answer.get(node.name, SUCCESS) if isinstance(answer, dict) else answer(node.name)

    Filtering.name = name
    return Filtering


def prefiltering(name: str, answer: PreFilterResult | Status, then: Status = SUCCESS) -> type[Plugin[Any]]:
    """Return a PreFilter plugin with that answer, whose Filter says ``then`` of every node."""

    class Prefiltering(PreFilterPlugin[None], FilterPlugin[None]):
        def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
            return answer

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            return then

    Prefiltering.name = name
    return Prefiltering


def scoring(
    name: str,
    scores: dict[str, Any],
    *,
    pre_score: Status = SUCCESS,
    normalize: Callable[[Int64s], Int64s] | None = None,
) -> type[Plugin[Any]]:
    """Return a Score plugin with those scores by node."""

    class Scoring(PreScorePlugin[None], ScorePlugin[None]):
        def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
            return pre_score

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            answer: int = scores[node.name]
            return answer

        def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
            return scores if normalize is None else normalize(scores)

    Scoring.name = name
    return Scoring


def profile(plugins: Sequence[type[Plugin[Any]]], weights: dict[str, int] | None = None) -> dict[str, Any]:
    """Return a configuration whose one profile decides with ``plugins`` alone, in this order."""
    enabled = [{"name": kind.name, "weight": (weights or {}).get(kind.name, 1)} for kind in plugins]
    kept = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [*kept, *enabled]}},
            }
        ],
    }


def registry_of(plugins: Sequence[type[Plugin[Any]]]) -> Registry:
    """Return the in-tree plugins and these."""
    registry = new_in_tree_registry()
    for kind in plugins:
        registry.register(kind.name, kind)
    return registry


def cycle(
    *plugins: type[Plugin[Any]],
    nodes: Sequence[str] = ("a", "b", "c"),
    pod: dict[str, Any] | None = None,
    weights: dict[str, int] | None = None,
    config: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the explanation of a plain pod on plain nodes, decided by ``plugins`` alone."""
    return explain(
        [node_manifest(name) for name in nodes],
        pod or pod_manifest(),
        {**profile(plugins, weights), **(config or {})},
        plugins=plugins,
        **options,
    )
