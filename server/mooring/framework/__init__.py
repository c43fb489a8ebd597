"""What a plugin author imports: the scheduling framework's vocabulary.

Everything a plugin needs is here, and nothing that pulls in a network library. The extension points
are in ``interface``, the objects in ``objects``, the columns that vectorised plugins read in
``node_table`` and ``pod_table``.
"""

from mooring.framework.amounts_plugin import REFUSED, AmountsPlugin
from mooring.framework.args import FieldError
from mooring.framework.cluster_api import ClusterApi, ObjectReference
from mooring.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    HintedEvent,
    ObjectChange,
    QueueingHint,
)
from mooring.framework.columns import Bools, Int32s, Int64s, LabelColumn
from mooring.framework.cycle_state import CycleState
from mooring.framework.dependence import Part, Scope, signature
from mooring.framework.handle import Binder, BindOutcome, Clock, Handle, Leadership
from mooring.framework.interface import (
    EVERY_EVENT,
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PluginFactory,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreemptingPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from mooring.framework.node_info import NodeInfo
from mooring.framework.node_table import NodeTable
from mooring.framework.normalize import MAX_NODE_SCORE, MIN_NODE_SCORE, Normalizer
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Node, Pod, Taint, Toleration
from mooring.framework.pod_table import PodChange, PodTable
from mooring.framework.points import POINTS, points_of
from mooring.framework.preemption import Candidate, Preemption, RefusedNodes
from mooring.framework.releases import Gates, KubeVersion
from mooring.framework.remedy import Remedy
from mooring.framework.scores import InvalidScoreError
from mooring.framework.state import ClusterState
from mooring.framework.status import SUCCESS, Code, Status
from mooring.framework.verdicts import Verdicts
from mooring.framework.view import NodeView, Snapshot
from mooring.framework.waiting import Caller, PodsToActivate, WaitingPod, WaitingPods

__all__ = [
    "EVERY_EVENT",
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "POINTS",
    "REFUSED",
    "SUCCESS",
    "ActionType",
    "AmountsPlugin",
    "BindOutcome",
    "BindPlugin",
    "Binder",
    "Bools",
    "Caller",
    "Candidate",
    "Clock",
    "ClusterApi",
    "ClusterEvent",
    "ClusterState",
    "Code",
    "CycleState",
    "EventResource",
    "FieldError",
    "FilterPlugin",
    "Gates",
    "Handle",
    "HintedEvent",
    "Int32s",
    "Int64s",
    "InvalidScoreError",
    "KubeVersion",
    "LabelColumn",
    "Leadership",
    "Node",
    "NodeInfo",
    "NodeTable",
    "NodeView",
    "Normalizer",
    "ObjectChange",
    "ObjectReference",
    "ObjectTable",
    "Part",
    "PermitPlugin",
    "Plugin",
    "PluginFactory",
    "Pod",
    "PodChange",
    "PodTable",
    "PodsToActivate",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "PreemptingPlugin",
    "Preemption",
    "QueueSortPlugin",
    "QueueingHint",
    "RefusedNodes",
    "Remedy",
    "ReservePlugin",
    "Scope",
    "ScorePlugin",
    "Snapshot",
    "Status",
    "Taint",
    "Toleration",
    "Verdicts",
    "WaitingPod",
    "WaitingPods",
    "points_of",
    "signature",
]
