"""Rules that are what ``Pure`` promises, in ways that look as if they were not."""

from __future__ import annotations

import hashlib
import logging
import math
import os.path
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from urllib.parse import urlsplit

import numpy as np

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    Int64s,
    MeasurementSource,
    NodeInfo,
    NodeView,
    PlacementScorePlugin,
    Pod,
    PodGroupAssignments,
    PodGroupInfo,
    PreFilterPlugin,
    PreFilterResult,
    Pure,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.objects import Namespace
from mooring.measurements import MeasurementFunction

WEIGHTS = {"gold": 100, "iron": 10}
RACK = re.compile(r"r(\d+)")
MARKS: dict[str, int] = {}
MARKS["made here"] = 1
log = logging.getLogger(__name__)
NO = Status.unschedulable("node(s) were not liked")


@dataclass(frozen=True)
class Args:
    label: str = "example.com/rack"
    tiers: tuple[str, ...] = ("gold", "iron")

    @property
    def known(self) -> frozenset[str]:
        return frozenset(self.tiers)


class Label(FilterPlugin[Args], ScorePlugin[Args], Pure):
    """Labels, a pod's annotation, arguments, and a table that never changes."""

    name = "Label"
    Args = Args

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = pod.metadata.annotations.get(self.args.label)
        return SUCCESS if wanted is None or node.labels.get(self.args.label) == wanted else NO

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        tier = node.labels.get("tier", "")
        return WEIGHTS.get(tier, 0) if tier in self.args.known else MARKS["made here"]


@dataclass
class Tally:
    """Changes, and belongs to one call."""

    counts: Counter[str] = field(default_factory=Counter)
    last: str = ""

    def add(self, rack: str, number: int) -> None:
        self.counts[rack] += number
        self.last = rack

    def clone(self) -> Tally:
        return Tally(Counter(self.counts), self.last)


class CountPerRack(PreFilterPlugin[None], FilterPlugin[None], Pure):
    """Counts pods in an object of its own, and keeps it right for preemption."""

    name = "CountPerRack"
    most = 3

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        tally = Tally()
        for node in nodes.infos():
            tally.add(self._rack(node), len(node.pods))
        state.write("CountPerRack", tally)
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        tally = state.read("CountPerRack", Tally)
        return NO if tally.counts[self._rack(node)] >= self.most else SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        state.read("CountPerRack", Tally).add(self._rack(node), 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        state.read("CountPerRack", Tally).add(self._rack(node), -1)
        return SUCCESS

    @staticmethod
    def _rack(node: NodeInfo) -> str:
        return node.labels.get("example.com/rack", "")


class Free(ScorePlugin[None], Pure):
    """Amounts, and a logger, which changes no answer."""

    name = "Free"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        offered = node.allocatable.get("memory", 0)
        free = max(0, offered - node.requested.get("memory", 0))
        log.debug("node %s has %d", node.name, free)
        return free * MAX_NODE_SCORE // offered if offered else 0


@cache
def spread(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % 101


class Shuffled(ScorePlugin[None], Pure):
    """Apparent chance: a hash of names, remembered by a pure function."""

    name = "Shuffled"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return spread(f"{pod.metadata.uid}/{node.name}")


class Parsed(FilterPlugin[None], Pure):
    """Dates, paths, addresses and patterns that are parsed without any other source."""

    name = "Parsed"

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self.limits = {"soon": 1.0}
        self.limits["late"] = math.inf

    @cached_property
    def start(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        until = node.annotations.get("example.com/until", "")
        try:
            late = datetime.fromisoformat(until) < self.start
        except (TypeError, ValueError):
            late = False
        host = urlsplit(node.annotations.get("example.com/url", "")).hostname
        known = os.path.basename(node.labels.get("image", "")) or RACK.match(node.name)  # noqa: PTH119
        odd = self.limits.get(host or "", 0.0) > 1 and not known
        return NO if late or odd else SUCCESS


class Columns(FilterPlugin[None], ScorePlugin[None], Pure):
    """Works on columns, and fills arrays of its own."""

    name = "Columns"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        rejected = nodes.allocatable("cpu") <= nodes.requested("cpu")
        rejected[rejected] = True
        return Verdicts.reject_where(rejected, NO)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        scores = np.zeros(len(nodes), np.int64)
        scores += np.minimum(nodes.allocatable("cpu") // 1000, 100)
        scores[scores > 100] = 100
        return scores


class Tenant(FilterPlugin[None], PreFilterPlugin[None], Pure):
    """Reads another kind of object, whose changes have no event."""

    name = "Tenant"
    reads = (Namespace,)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        namespace = nodes.snapshot.objects.get(Namespace, pod.metadata.namespace)
        state.write("Tenant", namespace.metadata.labels.get("tier", "") if namespace else "")
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS if node.labels.get("tier", "") == state.read("Tenant", str) else NO


class Few(PreFilterPlugin[None], ScorePlugin[None], Pure):
    """Narrows the nodes down, and normalizes by the scores of all nodes."""

    name = "Few"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        wanted = pod.metadata.labels.get("only")
        by_tier: defaultdict[str, set[str]] = defaultdict(set)
        for node in nodes.infos():
            by_tier[node.labels.get("tier", "")].add(node.name)
        return Status.skip() if wanted is None else PreFilterResult(frozenset(by_tier[wanted]))

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return len(node.pods) - len(node.taints)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        low, high = int(scores.min()), int(scores.max())
        return (scores - low) * 100 // (high - low) if high > low else np.zeros_like(scores)


class Cool(FilterPlugin[None], Pure):
    """Reads a value that is measured outside, which may be missing."""

    name = "Cool"

    def measures(self) -> Sequence[MeasurementSource]:
        return (MeasurementFunction(name="heat"),)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        heat = node.measurements["heat"]
        return SUCCESS if heat is not None and heat < 5 else NO


class Small(PlacementScorePlugin[None], Pure):
    """Answers about groups alone."""

    name = "Small"

    def score_placement(self, state: CycleState, group: PodGroupInfo, found: PodGroupAssignments) -> int:
        return max(0, 100 - len(found.nodes))
