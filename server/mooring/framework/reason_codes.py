"""The reason codes: why a pod gets no node, in words that stay.

One table, from which the wire's enum, ``docs/reason-codes.md`` and the grouping of reasons are checked or
made. A code is never renamed, renumbered or used for another cause; new ones come at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache


class SubjectKind(Enum):
    """The kind of a subject. The number is that on the wire."""

    OTHER = 1
    RESOURCE = 2
    TAINT = 3
    NODE_SELECTOR = 4
    NODE = 5
    PORT = 6
    SPREAD_CONSTRAINT = 7
    POD_AFFINITY_TERM = 8
    CLAIM = 9
    VOLUME = 10
    VOLUME_DRIVER = 11
    STORAGE_CLASS = 12
    RESOURCE_CLAIM = 13
    DEVICE_REQUEST = 14
    DEVICE = 15
    FEATURE = 16
    SCHEDULING_GATE = 17
    POD_GROUP = 18
    EXTENDER = 19
    FIELD = 20
    VICTIM = 21

    @property
    def label(self) -> str:
        """The kind as documents write it, for example ``SpreadConstraint``."""
        return self.name.title().replace("_", "")


class ReasonCode(Enum):
    """A cause of rejection; ``docs/reason-codes.md`` says what each means.

    Attributes:
        number: Its number on the wire.
        plugin: The plugin that gives it; "" = several.
        kind: The kind of its subjects.
        of_pod: Whether it holds for the pod as a whole, whatever the node.
    """

    number: int
    plugin: str
    kind: SubjectKind
    of_pod: bool

    def __init__(self, number: int, plugin: str, kind: SubjectKind, *of_pod: bool) -> None:
        self.number, self.plugin, self.kind, self.of_pod = number, plugin, kind, any(of_pod)

    @property
    def label(self) -> str:
        """The code as documents and metrics write it, for example ``TaintNotTolerated``."""
        return self.name.title().replace("_", "")

    INSUFFICIENT_RESOURCE = 1, "NodeResourcesFit", SubjectKind.RESOURCE
    NODE_TOO_SMALL = 2, "NodeResourcesFit", SubjectKind.RESOURCE
    RESOURCE_NOT_OFFERED = 3, "NodeResourcesFit", SubjectKind.RESOURCE
    TOO_MANY_PODS = 4, "NodeResourcesFit", SubjectKind.RESOURCE
    TAINT_NOT_TOLERATED = 5, "TaintToleration", SubjectKind.TAINT
    NODE_SELECTOR_MISMATCH = 6, "NodeAffinity", SubjectKind.NODE_SELECTOR
    NODE_AFFINITY_MISMATCH = 7, "NodeAffinity", SubjectKind.NODE_SELECTOR
    ENFORCED_AFFINITY_MISMATCH = 8, "NodeAffinity", SubjectKind.NODE_SELECTOR
    NODE_AFFINITY_CONFLICT = 9, "NodeAffinity", SubjectKind.NODE_SELECTOR, True
    NODE_NAME_MISMATCH = 10, "NodeName", SubjectKind.NODE
    NODE_CORDONED = 11, "NodeUnschedulable", SubjectKind.NODE
    PORT_TAKEN = 12, "NodePorts", SubjectKind.PORT
    SPREAD_SKEW = 13, "PodTopologySpread", SubjectKind.SPREAD_CONSTRAINT
    SPREAD_LABEL_MISSING = 14, "PodTopologySpread", SubjectKind.SPREAD_CONSTRAINT
    POD_AFFINITY_NOT_NEAR = 15, "InterPodAffinity", SubjectKind.POD_AFFINITY_TERM
    POD_AFFINITY_NO_MATCH = 16, "InterPodAffinity", SubjectKind.POD_AFFINITY_TERM, True
    POD_AFFINITY_NO_COMMON_MATCH = 17, "InterPodAffinity", SubjectKind.POD_AFFINITY_TERM, True
    POD_AFFINITY_LABEL_MISSING = 18, "InterPodAffinity", SubjectKind.POD_AFFINITY_TERM
    POD_ANTI_AFFINITY = 19, "InterPodAffinity", SubjectKind.POD_AFFINITY_TERM
    POD_ANTI_AFFINITY_OF_OTHERS = 20, "InterPodAffinity", SubjectKind.POD_AFFINITY_TERM
    POD_AFFINITY_INVALID = 21, "InterPodAffinity", SubjectKind.POD_AFFINITY_TERM, True
    CLAIM_UNBOUND = 22, "", SubjectKind.CLAIM, True
    CLAIM_NOT_FOUND = 23, "", SubjectKind.CLAIM, True
    VOLUME_NODE_AFFINITY = 24, "VolumeBinding", SubjectKind.VOLUME
    VOLUME_NOT_AVAILABLE = 25, "VolumeBinding", SubjectKind.CLAIM
    STORAGE_EXHAUSTED = 26, "VolumeBinding", SubjectKind.STORAGE_CLASS
    VOLUME_MISSING = 27, "", SubjectKind.VOLUME
    VOLUME_ZONE_MISMATCH = 28, "VolumeZone", SubjectKind.VOLUME
    DISK_IN_USE = 29, "VolumeRestrictions", SubjectKind.VOLUME
    CLAIM_IN_USE = 30, "VolumeRestrictions", SubjectKind.CLAIM
    VOLUME_LIMIT_REACHED = 31, "NodeVolumeLimits", SubjectKind.VOLUME_DRIVER
    VOLUME_DRIVER_MISSING = 32, "NodeVolumeLimits", SubjectKind.VOLUME_DRIVER
    DEVICES_NOT_ALLOCATED = 33, "DynamicResources", SubjectKind.RESOURCE_CLAIM
    DEVICES_ELSEWHERE = 34, "DynamicResources", SubjectKind.RESOURCE_CLAIM
    DEVICE_POOLS_INVALID = 35, "DynamicResources", SubjectKind.DEVICE
    RESOURCE_CLAIM_IN_PROCESS = 36, "DynamicResources", SubjectKind.RESOURCE_CLAIM, True
    FEATURE_NOT_DECLARED = 37, "NodeDeclaredFeatures", SubjectKind.FEATURE
    SCHEDULING_GATED = 38, "SchedulingGates", SubjectKind.SCHEDULING_GATE, True
    GROUP_TOO_SMALL = 39, "GangScheduling", SubjectKind.POD_GROUP, True
    GROUP_NOT_FOUND = 40, "GangScheduling", SubjectKind.POD_GROUP, True
    DEVICES_UNMATCHED = 41, "DynamicResources", SubjectKind.DEVICE_REQUEST
    DEVICES_TAINTED = 42, "DynamicResources", SubjectKind.DEVICE_REQUEST
    DEVICES_TAKEN = 43, "DynamicResources", SubjectKind.DEVICE_REQUEST
    DEVICE_COUNTERS_SHORT = 44, "DynamicResources", SubjectKind.DEVICE_REQUEST
    DEVICE_CAPACITY_SHORT = 45, "DynamicResources", SubjectKind.DEVICE_REQUEST
    GROUP_DOES_NOT_FIT = 46, "", SubjectKind.POD_GROUP, True
    GROUP_DOMAIN_MISSING = 47, "TopologyPlacementGenerator", SubjectKind.POD_GROUP, True
    EXTENDER_REJECTS = 48, "", SubjectKind.EXTENDER
    PREEMPTION_FORBIDDEN = 49, "DefaultPreemption", SubjectKind.FIELD, True
    PREEMPTION_UNDER_WAY = 50, "DefaultPreemption", SubjectKind.NODE, True
    PREEMPTION_NOT_HELPFUL = 51, "DefaultPreemption", SubjectKind.OTHER
    PREEMPTION_WITHOUT_VICTIMS = 52, "DefaultPreemption", SubjectKind.VICTIM
    PREEMPTION_NOT_ENOUGH = 53, "DefaultPreemption", SubjectKind.VICTIM
    PREEMPTION_COSTS_MORE = 54, "DefaultPreemption", SubjectKind.VICTIM
    RESOURCE_CLAIM_NOT_FOUND = 55, "DynamicResources", SubjectKind.RESOURCE_CLAIM, True
    DEVICE_CLASS_NOT_FOUND = 56, "DynamicResources", SubjectKind.DEVICE_REQUEST, True


TEXTS: dict[ReasonCode, str] = {
    ReasonCode.INSUFFICIENT_RESOURCE: "Insufficient <subject>",
    ReasonCode.TOO_MANY_PODS: "Too many pods",
    ReasonCode.TAINT_NOT_TOLERATED: "node(s) had untolerated taint(s)",
    ReasonCode.NODE_AFFINITY_MISMATCH: "node(s) didn't match Pod's node affinity/selector",
    ReasonCode.ENFORCED_AFFINITY_MISMATCH: "node(s) didn't match scheduler-enforced node affinity",
    ReasonCode.NODE_AFFINITY_CONFLICT: "pod affinity terms conflict",
    ReasonCode.NODE_NAME_MISMATCH: "node(s) didn't match the requested node name",
    ReasonCode.NODE_CORDONED: "node(s) were unschedulable",
    ReasonCode.PORT_TAKEN: "node(s) didn't have free ports for the requested pod ports",
    ReasonCode.SPREAD_SKEW: "node(s) didn't match pod topology spread constraints",
    ReasonCode.SPREAD_LABEL_MISSING: (
        "node(s) didn't match pod topology spread constraints (missing required label)"
    ),
    ReasonCode.POD_AFFINITY_NOT_NEAR: "node(s) didn't match pod affinity rules",
    ReasonCode.POD_ANTI_AFFINITY: "node(s) didn't match pod anti-affinity rules",
    ReasonCode.POD_ANTI_AFFINITY_OF_OTHERS: "node(s) didn't satisfy existing pods anti-affinity rules",
    ReasonCode.POD_AFFINITY_INVALID: "parsing pod: <subject>",
    ReasonCode.CLAIM_UNBOUND: "pod has unbound immediate PersistentVolumeClaims",
    ReasonCode.CLAIM_NOT_FOUND: 'persistentvolumeclaim "<subject>" not found',
    ReasonCode.VOLUME_NODE_AFFINITY: "node(s) didn't match PersistentVolume's node affinity",
    ReasonCode.VOLUME_NOT_AVAILABLE: "node(s) didn't find available persistent volumes to bind",
    ReasonCode.STORAGE_EXHAUSTED: "node(s) did not have enough free storage",
    ReasonCode.VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    ReasonCode.VOLUME_ZONE_MISMATCH: "node(s) had no available volume zone",
    ReasonCode.DISK_IN_USE: "node(s) had no available disk",
    ReasonCode.CLAIM_IN_USE: (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    ),
    ReasonCode.VOLUME_LIMIT_REACHED: "node(s) exceed max volume count",
    ReasonCode.VOLUME_DRIVER_MISSING: "<subject> CSI driver is not installed on the node",
    ReasonCode.DEVICES_NOT_ALLOCATED: "cannot allocate all claims",
    ReasonCode.DEVICES_ELSEWHERE: "resourceclaim not available on the node",
    ReasonCode.DEVICE_POOLS_INVALID: "invalid resource pools were encountered",
    ReasonCode.RESOURCE_CLAIM_IN_PROCESS: "resource claim <subject> is in the process of being allocated",
    ReasonCode.RESOURCE_CLAIM_NOT_FOUND: 'could not find ResourceClaim "<subject>"',
    ReasonCode.DEVICE_CLASS_NOT_FOUND: "request <request>: device class <subject> does not exist",
    ReasonCode.FEATURE_NOT_DECLARED: "node(s) didn't match Pod's required features",
    ReasonCode.SCHEDULING_GATED: "waiting for scheduling gates: [<subject>]",
    ReasonCode.GROUP_TOO_SMALL: "waiting for minCount pods from a gang to appear in scheduling queue",
    ReasonCode.GROUP_NOT_FOUND: ('waiting for pods\'s pod group "<subject>" to appear in scheduling queue'),
    ReasonCode.GROUP_DOES_NOT_FIT: "pod group is unschedulable",
    ReasonCode.GROUP_DOMAIN_MISSING: "no feasible placements found",
    ReasonCode.PREEMPTION_FORBIDDEN: "not eligible due to preemptionPolicy=Never.",
    ReasonCode.PREEMPTION_UNDER_WAY: "not eligible due to a terminating pod on the nominated node.",
    ReasonCode.PREEMPTION_NOT_HELPFUL: "Preemption is not helpful for scheduling",
    ReasonCode.PREEMPTION_WITHOUT_VICTIMS: "No preemption victims found for incoming pod",
}
"""kube-scheduler's text of each code; the codes without one are finer causes behind the text of another one
of the same plugin."""

_PATTERNS = [
    (code, re.compile(re.escape(text).replace("<subject>", "(?P<subject>.*)").replace("<request>", ".*")))
    for code, text in TEXTS.items()
]


@lru_cache(maxsize=10_000)
def code_of(plugin: str, reason: str) -> tuple[ReasonCode, str] | None:
    """Return the code of a rejection whose text alone is known, with the subject that the text names.

    None for reasons that no code has.
    """
    for code, pattern in _PATTERNS:
        if code.plugin in ("", plugin) and (found := pattern.fullmatch(reason)):
            return code, found.groupdict().get("subject") or ""
    return None


def label_of(plugin: str, reason: str) -> str:
    """Return the label of ``code_of``; "" for reasons that no code has."""
    found = code_of(plugin, reason)
    return found[0].label if found else ""


def codes_by_plugin() -> Iterator[tuple[str, list[ReasonCode]]]:
    """Yield each plugin with its codes, in the order of their numbers."""
    for plugin in dict.fromkeys(code.plugin for code in ReasonCode):
        yield plugin, [code for code in ReasonCode if code.plugin == plugin]
