"""Keeps pods to nodes that have an underlay IP left for them, and prefers those with the most.

Follows the rules of blueking-ip-scheduler. How many IPs a node has left is counted from its pods, by UID,
each time: there is nothing to lose at a restart, to leak, or to give back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    CycleState,
    EventResource,
    FilterPlugin,
    Handle,
    HintedEvent,
    Int64s,
    Node,
    NodeView,
    Normalizer,
    Part,
    Pod,
    PodTable,
    PreFilterPlugin,
    PreScorePlugin,
    QueueingHint,
    ReservePlugin,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.framework.cacheable import CacheablePlugin, Dependencies
from mooring.framework.pod_table import UNPLACED, PodKind
from mooring.framework.quantity import NANO, parse_quantity
from mooring.framework.remembering import ByIdentity
from mooring.plugins.underlay_ip.args import Consumers, NodeIPs, UnderlayIPArgs

_WHOLE = re.compile(r"[0-9]{1,9}")

REASON_NONE_FREE = "node(s) had no free underlay IP"
REASON_MASTER = "node(s) were masters, which have no underlay IPs"

MASTER_LABELS = ("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")
"""Nodes with one of these labels are out of scope."""

MAX_KINDS = 1 << 14
"""The kinds of pods for which it is cached whether they use an IP."""

MAX_NODES = 1 << 14
"""For how many nodes the number of IPs is remembered."""

FEW_NODES = 64
"""Up to this many nodes, the pods of each are read, as in a what-if evaluation; above, all pods are."""


class UnderlayIP(
    PreFilterPlugin[UnderlayIPArgs],
    FilterPlugin[UnderlayIPArgs],
    PreScorePlugin[UnderlayIPArgs],
    ScorePlugin[UnderlayIPArgs],
    ReservePlugin[UnderlayIPArgs],
    CacheablePlugin,
):
    """Passes only nodes with a free underlay IP for a pod that uses one; those with the most free IPs win.

    A pod uses its IP from the moment it is assumed on a node until it is finished or gone. Pods that use none
    are left to the other plugins.
    """

    name = "UnderlayIP"
    Args = UnderlayIPArgs
    normalizer = Normalizer.BY_MAX

    def __init__(self, args: UnderlayIPArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._ips: ByIdentity[Node, int] = ByIdentity(lambda node: ips_of(node, args), MAX_NODES)
        self._counts: ByIdentity[PodKind, bool] = ByIdentity(
            lambda kind: uses_ip(kind.template, args.consumers), MAX_KINDS
        )

    def dependencies(self, pod: Pod) -> Dependencies:
        uses = uses_ip(pod, self.args.consumers)
        parts = Part.NODES_BUT_IMAGES | Part.PODS if uses else Part.NONE
        return Dependencies(signature=uses, parts=parts, written_is_read=False)

    def events_to_register(self) -> Sequence[HintedEvent]:
        pods = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE | ActionType.UPDATE_POD_LABEL)
        said, changes = self.args.node_ips, ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        if said.annotation:
            changes |= ActionType.UPDATE_NODE_ANNOTATION
        if said.resource:
            changes |= ActionType.UPDATE_NODE_ALLOCATABLE
        nodes = ClusterEvent(EventResource.NODE, changes)
        return HintedEvent(pods, self._after_pod), HintedEvent(nodes, self._after_node)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        return self._skip_others(pod)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        out_of_scope = np.zeros(len(nodes), np.bool_)
        for key in MASTER_LABELS:
            out_of_scope |= nodes.label(key).exists(nodes.rows)
        codes = np.where(out_of_scope, 2, np.less_equal(self._free(nodes), 0)).astype(np.int32)
        return Verdicts(
            codes, (SUCCESS, Status.unschedulable(REASON_NONE_FREE), Status.unresolvable(REASON_MASTER))
        )

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        return self._skip_others(pod)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        return np.maximum(self._free(nodes), 0)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Check only: being assumed on the node, the pod counts there already."""
        if not uses_ip(pod, self.args.consumers):
            return SUCCESS
        snapshot = self.handle.snapshot()
        row = snapshot.nodes.index.get(node_name)
        own = snapshot.pods.get(pod.metadata.uid)
        counted = own is not None and own.row == row
        node = None if row is None else snapshot.nodes.nodes[row]
        if row is None or node is None or self._used_on(snapshot.pods, row) - counted >= self._ips(node):
            return Status.unschedulable(REASON_NONE_FREE)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Do nothing: once the pod isn't assumed, it doesn't count."""

    def _skip_others(self, pod: Pod) -> Status:
        return SUCCESS if uses_ip(pod, self.args.consumers) else Status.skip()

    def _free(self, nodes: NodeView) -> Int64s:
        """int64[K]: the IPs that each node has left; below 0 when it has more pods than IPs."""
        return self._has(nodes) - self._used(nodes)

    def _has(self, nodes: NodeView) -> Int64s:
        """int64[K]: how many IPs each node has."""
        if self.args.node_ips == NodeIPs():
            return np.full(len(nodes), self.args.ips_per_node, np.int64)
        found = map(nodes.table.nodes.__getitem__, nodes.rows.tolist())
        return np.array([0 if node is None else self._ips(node) for node in found], np.int64)

    def _used(self, nodes: NodeView) -> Int64s:
        """int64[K]: how many pods on each node use an IP; of many nodes in one pass over all pods."""
        pods, counts = nodes.snapshot.pods, self._counts
        if len(nodes) <= FEW_NODES:
            return np.array([self._used_on(pods, row) for row in nodes.rows.tolist()], np.int64)
        records = tuple(pods.records.values())
        rows = [one.row for one in records if one.row != UNPLACED and counts(one.kind)]
        return nodes.take(np.bincount(np.array(rows, np.int64), minlength=nodes.table.capacity))

    def _used_on(self, pods: PodTable, row: int) -> int:
        """How many pods on a row use an IP."""
        return sum(self._counts(record.kind) for record in pods.records_on(row))

    def _after_pod(self, pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
        """Queue when a pod on a node is gone, or lost its label: it may leave an IP."""
        consumers = self.args.consumers
        left_one = uses_ip(old, consumers) and (new is None or not uses_ip(new, consumers))
        return QueueingHint.QUEUE if left_one else QueueingHint.SKIP

    def _after_node(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        """Queue when a node is new, is no longer a master, or has gained IPs."""
        before = 0 if old is None or is_master(old) else self._ips(old)
        now = 0 if is_master(new) else self._ips(new)
        return QueueingHint.QUEUE if now > before else QueueingHint.SKIP


def uses_ip(pod: Pod, consumers: Consumers) -> bool:
    """Return whether ``pod`` uses an underlay IP while it is on a node."""
    if pod.spec.host_network or pod.finished:
        return False
    if consumers.scheduler_name:
        return pod.spec.scheduler_name == consumers.scheduler_name
    if consumers.label:
        key, equals, value = consumers.label.partition("=")
        labels = pod.metadata.labels
        return key in labels and (not equals or labels[key] == value)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any(
        consumers.resource in container.resources.requests or consumers.resource in container.resources.limits
        for container in containers
    )


def ips_of(node: Node, args: UnderlayIPArgs) -> int:
    """Return how many underlay IPs a node has, by its own declaration or else by the arguments."""
    said = args.node_ips
    if said.resource:
        amount = node.status.allocatable.get(said.resource)
        return args.ips_per_node if amount is None else max(parse_quantity(amount) // NANO, 0)
    texts = node.metadata.labels if said.label else node.metadata.annotations
    text = texts.get(said.label or said.annotation, "")
    return int(text) if _WHOLE.fullmatch(text) else args.ips_per_node


def is_master(node: Node) -> bool:
    """Return whether a node is out of scope."""
    return any(key in node.metadata.labels for key in MASTER_LABELS)
