"""Counts of placed pods by a label and a domain of nodes, which a rule declares in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mooring.framework.label_selector import LabelMatcher, Requirement
from mooring.framework.objects import Pod
from mooring.kernels.arrays import Int64s

if TYPE_CHECKING:
    from mooring.framework.node_info import NodeInfo
    from mooring.framework.view import Snapshot


@dataclass(frozen=True, slots=True)
class PodCounter:
    """Counts the placed pods that have the same value of a label as the pod, in the domain of a node.

    Make it with ``pods_by``, and call it at Filter or Score: ``self.in_rack(pod, node)``. The counts of all
    domains are found in one pass, and a ``Pure`` rule is called again only for counts that it has not seen.

    Attributes:
        label: The label of pods. Pods without it are counted for a pod without it.
        topology: The label of nodes; a domain is all nodes with the same value, or all without the label.
        own_namespace: Whether only pods of the pod's namespace count.
    """

    label: str
    topology: str
    own_namespace: bool

    def __call__(self, pod: Pod, node: NodeInfo) -> int:
        """Return how many pods like ``pod`` are in the domain of ``node``, assumed ones included."""
        return node.count_pods(self, pod)

    def selects(self, pod: Pod) -> tuple[LabelMatcher, Sequence[str] | None]:
        """Return which pods count for ``pod``: those that match, in these namespaces; None = all."""
        value = pod.metadata.labels.get(self.label)
        requirement = Requirement(self.label, "DoesNotExist")
        if value is not None:
            requirement = Requirement(self.label, "In", frozenset((value,)))
        return LabelMatcher((requirement,)), (pod.metadata.namespace,) if self.own_namespace else None

    def by_row(self, snapshot: Snapshot, pod: Pod) -> Int64s:
        """int64[capacity]: the count of each row's domain for ``pod``."""
        nodes, capacity = snapshot.nodes, snapshot.nodes.capacity
        counts = snapshot.pods.classes.by_row(*self.selects(pod), capacity)
        domains = nodes.label(self.topology).ids[:capacity]
        sums: Int64s = np.bincount(domains, weights=counts[: len(domains)]).astype(np.int64)
        return sums[domains]


def pods_by(*, label: str, topology: str, own_namespace: bool = False) -> PodCounter:
    """Return a counter, for an attribute of a rule's class.

    Args:
        label: The label by which pods are alike, such as ``app``.
        topology: The label whose values divide the nodes into domains, such as ``example.com/rack``.
        own_namespace: Count pods of the pod's own namespace alone, not of all.
    """
    return PodCounter(label, topology, own_namespace)
