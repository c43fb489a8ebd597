"""Runs one plugin over a small cluster, point by point, like a cycle."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mooring.cluster.state import State
from mooring.framework import (
    BindOutcome,
    Code,
    CycleState,
    FilterPlugin,
    Handle,
    KubeVersion,
    Node,
    NodeView,
    Plugin,
    Pod,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    Status,
    WaitingPods,
)
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.framework.waiting import NOBODY_WAITS

P = TypeVar("P", bound=Plugin[Any])


@dataclass
class SetClock:
    """A clock that stands still until a test moves it."""

    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class RecordingBinder:
    """A binder with a given answer, which records its calls."""

    outcome: BindOutcome = BindOutcome.BOUND
    bound: list[tuple[str, str]] = field(default_factory=list)

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        self.bound.append((pod.key, node_name))
        return self.outcome


def make(
    kind: type[P],
    args: object = None,
    *,
    kube: str = DEFAULT_KUBE_VERSION,
    gates: Mapping[str, bool] | None = None,
    clock: SetClock | None = None,
    binder: RecordingBinder | None = None,
    state: State | None = None,
    waiting: WaitingPods | None = None,
) -> P:
    """Return a plugin with its default arguments unless given, over a state of its own unless given."""
    if args is None and kind.Args is not None:
        args = kind.Args()
    state = state or State()
    handle = Handle(
        snapshot=lambda: state.snapshot,
        binder=binder or RecordingBinder(),
        clock=clock or SetClock(),
        logger=logging.getLogger(f"mooring.plugins.{kind.name}"),
        kube_version=KubeVersion.parse(kube),
        feature_gates=gates or {},
        waiting=waiting or NOBODY_WAITS,
    )
    return kind(args, handle)


def cluster(*objects: Node | Pod) -> NodeView:
    """Return all nodes, last row first, so that a row taken for a position is found out."""
    state = State()
    state.replace("test", objects)
    return NodeView(state.snapshot, state.snapshot.nodes.rows()[::-1].copy())


def pre_filter(plugin: PreFilterPlugin[Any], pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
    return plugin.pre_filter(CycleState(), pod, nodes)


def verdicts(plugin: FilterPlugin[Any], pod: Pod, nodes: NodeView) -> dict[str, Status]:
    """Return the plugin's status of each node, with PreFilter first if it has one."""
    state = CycleState()
    if isinstance(plugin, PreFilterPlugin):
        early = plugin.pre_filter(state, pod, nodes)
        if isinstance(early, Status) and not early.ok:
            assert early.code in (Code.SKIP, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
            return dict.fromkeys(nodes.names, Status() if early.code is Code.SKIP else early)
    answer = plugin.filter_nodes(state, pod, nodes)
    assert len(answer) == len(nodes)
    assert answer.statuses[0].ok
    return {name: answer.status(at) for at, name in enumerate(nodes.names)}


def reasons(plugin: FilterPlugin[Any], pod: Pod, nodes: NodeView) -> Mapping[str, tuple[str, ...]]:
    """Return the reasons per node; none for a node that passes."""
    return {name: status.reasons for name, status in verdicts(plugin, pod, nodes).items()}


def raw_scores(plugin: ScorePlugin[Any], pod: Pod, nodes: NodeView) -> dict[str, int]:
    """Return the raw score of each node, PreScore first when the plugin has one."""
    return scored(plugin, pod, nodes)[0]


def final_scores(plugin: ScorePlugin[Any], pod: Pod, nodes: NodeView) -> dict[str, int]:
    """Return the normalised score of each node."""
    return scored(plugin, pod, nodes)[1]


def scored(plugin: ScorePlugin[Any], pod: Pod, nodes: NodeView) -> tuple[dict[str, int], dict[str, int]]:
    state = CycleState()
    if isinstance(plugin, PreScorePlugin):
        plugin.pre_score(state, pod, nodes)
    raw = plugin.score_nodes(state, pod, nodes)
    before = raw.copy()
    final = plugin.normalize_score(state, pod, raw)
    assert (raw == before).all()
    names = nodes.names
    return dict(zip(names, raw.tolist(), strict=True)), dict(zip(names, final.tolist(), strict=True))
