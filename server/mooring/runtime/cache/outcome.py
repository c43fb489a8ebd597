"""How questions to the evaluation cache end: with a hit, a miss, or a bypass for a reason."""

from __future__ import annotations

import threading
from collections import Counter
from enum import Enum, StrEnum, auto
from typing import Final


class Bypass(StrEnum):
    """Why a pod has to be evaluated in full."""

    AFFINITY = "affinity"
    """A dry run in which pods with terms about each other would have to see each other."""
    BUSY = "busy"
    """Another thread holds the cached evaluation for too long."""
    DYNAMIC = "dynamic"
    """A dry run, or totals of some nodes, with plugins that have to be called for each decision."""
    EXTENDER = "extender"
    """An extender is interested in the pod."""
    LARGE_POD = "large-pod"
    """The pod is too large to be signed without a check of the deadline."""
    LARGE_WEIGHTS = "large-weights"
    """Totals by the profile's weights may pass an int32, which cached ones are."""
    NEEDS_PLUGINS = "needs-plugins"
    """A plugin has to be called, and the caller's budget allows none."""
    NO_NODE = "no-node"
    """No node is feasible: the reasons come from a full evaluation."""
    NO_SCORING = "no-scoring"
    """The profile scores nothing."""
    NODES_CHANGED = "nodes-changed"
    """Nodes came or went while plugins were called."""
    NEW_READS = "new-reads"
    """A plugin was seen to read something for the first time."""
    NOMINATED = "nominated"
    """Pods are nominated to nodes."""
    ON_NODE = "on-node"
    """The pod already counts on a node."""
    OTHER_NODES = "other-nodes"
    """A dry run without a node that affects the answers about other nodes."""
    PLUGIN_FAILED = "plugin-failed"
    """A plugin failed; a full evaluation finds out whether it does so again."""
    PRE_FILTER = "pre-filter"
    """PreEnqueue or PreFilter rejects the pod, or some nodes for this decision alone."""
    RESERVE = "reserve"
    """An extension point after the choice needs what a plugin wrote about this very pod."""
    RESOURCES = "resources"
    """A resource state can't be told apart from the state's."""
    SAMPLING = "sampling"
    """A dry run that ends before all nodes were evaluated."""
    SCORE_LOG = "score-log"
    """Every score is logged."""
    STATE_CHANGING = "state-changing"
    """The state changes faster than can be followed."""
    UNSIGNED = "unsigned"
    """A plugin says that its answers can't be used again."""


class NeedsPlugins(Enum):
    """The answer to a question for which a plugin would have to be called, and the caller allows none."""

    NEEDS_PLUGINS = auto()


NEEDS_PLUGINS: Final = NeedsPlugins.NEEDS_PLUGINS
"""The one value of ``NeedsPlugins``."""


class NotCachedError(Exception):
    """The pod has to be evaluated in full.

    Attributes:
        reason: Why.
    """

    def __init__(self, reason: Bypass) -> None:
        super().__init__(reason.value)
        self.reason = reason


class CacheCounts:
    """Counts answers of the cache. Thread-safe.

    Attributes:
        hits: Pods that were answered by an evaluation as it was.
        misses: Pods whose evaluation had to be made or rebuilt first.
    """

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0
        self._bypasses: Counter[Bypass] = Counter()
        self._lock = threading.Lock()

    def add_bypass(self, reason: Bypass) -> None:
        """Count a pod that has to be evaluated in full."""
        with self._lock:
            self._bypasses[reason] += 1

    def bypasses(self) -> dict[Bypass, int]:
        """By reason, how many pods had to be evaluated in full."""
        with self._lock:
            return dict(self._bypasses)
