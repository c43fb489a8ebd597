"""Keeps pods on nodes that declare the features they need.

Mirrors ``plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`` and the features of
``k8s.io/component-helpers/nodedeclaredfeatures``, two of which apply to placed pods.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    Bools,
    CycleState,
    FilterPlugin,
    Finding,
    Handle,
    HintedEvent,
    KubeVersion,
    NodeInfo,
    NodeView,
    Part,
    Pod,
    PreFilterPlugin,
    ReasonCode,
    Status,
    Verdicts,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.upstream import Upstream
from mooring.framework.view import NodesChangedError
from mooring.plugins.node_declared_features.hints import events
from mooring.plugins.node_declared_features.needs import (
    KNOWN,
    KNOWN_1_35,
    RESTART_ALL_CONTAINERS,
    needed_features,
)

REASON = "node(s) didn't match Pod's required features"
REASON_1_35 = f"node declared features check failed - unsatisfied requirements: {RESTART_ALL_CONTAINERS}"

GATE = "NodeDeclaredFeatures"
"""The feature gate, on since 1.36."""

_PLUGIN_SINCE = KubeVersion(1, 35)

_EVERY_FEATURE_SINCE = KubeVersion(1, 36)
"""Before, one feature is known, and the rejection names it."""

_PRE_FILTER = "PreFilterNodeDeclaredFeatures"


class NodeDeclaredFeatures(PreFilterPlugin[None], FilterPlugin[None], CacheablePlugin):
    """Rejects nodes whose ``status.declaredFeatures`` lack one of the features that the pod needs."""

    name = "NodeDeclaredFeatures"
    upstream = Upstream(gate=GATE, since=_PLUGIN_SINCE)
    aspects = Aspect.NONE

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._enabled = handle.gates.enabled(GATE)
        newer = handle.kube_version >= _EVERY_FEATURE_SINCE
        self._known = KNOWN if newer else KNOWN_1_35
        self._rejection = Status.unresolvable(REASON if newer else REASON_1_35)

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=needed_features(pod) & self._known, parts=Part.NODES_BUT_IMAGES)

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version) if self._enabled else ()

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        needed = needed_features(pod) & self._known
        if not self._enabled or not needed:
            return Status.skip()
        state.write(_PRE_FILTER, needed)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        if not self._enabled:
            return Verdicts.passed(len(nodes))
        needed: frozenset[str] = state.read(_PRE_FILTER, frozenset)
        return Verdicts.reject_where(~_declares(needed, nodes), self._rejection)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        if node is None:
            return ()
        declared = node.node.status.declared_features
        return [
            Finding(
                ReasonCode.FEATURE_NOT_DECLARED,
                feature,
                f"the pod needs the feature {feature}, which the node does not declare",
                asked=feature,
                present=", ".join(declared),
                node_change=f"upgrade the node's kubelet to one with {feature}",
            )
            for feature in sorted(state.read(_PRE_FILTER, frozenset).difference(declared))
        ]


def _declares(needed: frozenset[str], nodes: NodeView) -> Bools:
    """bool[K]: the node declares all of ``needed``."""
    declares = np.zeros(len(nodes), np.bool_)
    records = nodes.table.nodes
    for position, row in enumerate(nodes.rows.tolist()):
        node = records[row]
        if node is None:
            raise NodesChangedError
        declares[position] = needed.issubset(node.status.declared_features)
    return declares
