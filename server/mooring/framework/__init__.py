"""The scheduling framework: the names that a plugin author imports.

Everything a plugin needs is here, and nothing that pulls in a network library. The extension points
are in ``interface``, the objects in ``objects``, the columns that vectorised plugins read in
``node_table`` and ``pod_table``.
"""

from mooring.framework.args import SECRET, FieldError
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies, Part, hashable
from mooring.framework.cluster_api import ClusterApi, ObjectReference
from mooring.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    HintedEvent,
    ObjectChange,
    QueueingHint,
)
from mooring.framework.columns import LabelColumn
from mooring.framework.cycle_state import CycleState
from mooring.framework.deadline import check_deadline, timely
from mooring.framework.findings import Amounts, Finding, Holder, HolderKind
from mooring.framework.groups import (
    GroupPlacement,
    GroupPreemption,
    GroupWhatIf,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementProgress,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
)
from mooring.framework.handle import Binder, BindOutcome, Clock, Handle
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
from mooring.framework.ledger import Ledger, NodeAmount
from mooring.framework.measurements import MeasurementSource
from mooring.framework.node_info import NodeInfo
from mooring.framework.node_table import NodeTable
from mooring.framework.normalize import Normalizer
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Node, Pod, Taint, Toleration
from mooring.framework.pod_counter import PodCounter, pods_by
from mooring.framework.pod_table import PodChange, PodTable
from mooring.framework.preemption import Candidate, Preemption, RejectedNodes
from mooring.framework.pure import Pure
from mooring.framework.reason_codes import ReasonCode, SubjectKind
from mooring.framework.releases import Gates, KubeVersion
from mooring.framework.remedy import Remedy
from mooring.framework.scores import InvalidScoreError
from mooring.framework.status import SUCCESS, Code, Status
from mooring.framework.verdicts import Verdicts
from mooring.framework.view import NodeView, Snapshot
from mooring.framework.waiting import Caller, PodsToActivate, WaitingPod, WaitingPods
from mooring.kernels.arrays import Bools, Int32s, Int64s
from mooring.kernels.percentages import MAX_NODE_SCORE, MIN_NODE_SCORE

__all__ = [
    "EVERY_EVENT",
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "SECRET",
    "SUCCESS",
    "ActionType",
    "Amounts",
    "Aspect",
    "BindOutcome",
    "BindPlugin",
    "Binder",
    "Bools",
    "CacheablePlugin",
    "Caller",
    "Candidate",
    "Clock",
    "ClusterApi",
    "ClusterEvent",
    "Code",
    "CycleState",
    "Dependencies",
    "EventResource",
    "FieldError",
    "FilterPlugin",
    "Finding",
    "Gates",
    "GroupPlacement",
    "GroupPreemption",
    "GroupWhatIf",
    "Handle",
    "HintedEvent",
    "Holder",
    "HolderKind",
    "Int32s",
    "Int64s",
    "InvalidScoreError",
    "KubeVersion",
    "LabelColumn",
    "Ledger",
    "MeasurementSource",
    "Node",
    "NodeAmount",
    "NodeInfo",
    "NodeTable",
    "NodeView",
    "Normalizer",
    "ObjectChange",
    "ObjectReference",
    "ObjectTable",
    "Part",
    "PermitPlugin",
    "PlacementFeasiblePlugin",
    "PlacementGeneratePlugin",
    "PlacementProgress",
    "PlacementScorePlugin",
    "Plugin",
    "PluginFactory",
    "Pod",
    "PodChange",
    "PodCounter",
    "PodGroupAssignments",
    "PodGroupInfo",
    "PodGroupPostFilterPlugin",
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
    "Pure",
    "QueueSortPlugin",
    "QueueingHint",
    "ReasonCode",
    "RejectedNodes",
    "Remedy",
    "ReservePlugin",
    "ScorePlugin",
    "Snapshot",
    "Status",
    "SubjectKind",
    "Taint",
    "Toleration",
    "Verdicts",
    "WaitingPod",
    "WaitingPods",
    "check_deadline",
    "hashable",
    "pods_by",
    "timely",
]
