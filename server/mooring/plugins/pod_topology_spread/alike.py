"""A hard constraint among new nodes that are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, NodeView, Pod
from mooring.framework.new_node_rules import NO_OTHER, AtMost, CountedPods, OtherDomains
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_table import PodKind
from mooring.kernels.arrays import ABSENT
from mooring.plugins.pod_topology_spread.filtering import HardConstraint


def among_alike(constraint: HardConstraint, pod: Pod, nodes: NodeView, kinds: Sequence[PodKind]) -> AtMost:
    """Return the rule of ``constraint`` for ``pod``, as ``BatchPlugin.new_node_rules`` does."""
    rule, pods = constraint.rule, constraint.pods
    domains: Int32s = pods.topology.ids.take(nodes.rows)
    eligible = _eligible(constraint)
    namespace = pod.metadata.namespace
    adds = [rule.counts(namespace, kind.class_key) for kind in kinds]
    counted = CountedPods(
        rule.topology_key == HOSTNAME,
        np.array(adds, np.int64),
        pods.counts.take(domains).astype(np.int64),
        eligible.take(nodes.rows) & (domains != ABSENT),
    )
    there = eligible.copy()
    there[nodes.rows] = False
    others = _others(constraint, domains, there)
    return AtMost(counted, rule.max_skew - constraint.own, domains != ABSENT, others)


def _eligible(constraint: HardConstraint) -> Bools:
    """bool[capacity]: the rows whose pods count."""
    counting = constraint.pods.counting
    return np.ones(len(constraint.pods.topology.ids), np.bool_) if counting is None else counting


def _others(constraint: HardConstraint, own: Int32s, there: Bools) -> OtherDomains:
    """Return the domains of the rows that are ``there`` (bool[capacity]), other than those of the groups.

    ``own`` (int32[G]) are the groups' domains.
    """
    topology, counts = constraint.pods.topology, constraint.pods.counts.astype(np.int64)
    known = np.bincount(topology.ids[there], minlength=topology.size) > 0
    known[ABSENT] = False
    domains = np.flatnonzero(known)
    lowest = np.sort(counts[domains])[:2]
    first, second = (int(each) for each in (*lowest, NO_OTHER, NO_OTHER)[:2])
    inside: Bools = known.take(own)
    least: Int64s = np.where(inside & (counts.take(own) == first), second, first)
    return OtherDomains(least, len(domains) - inside.astype(np.int64), inside, constraint.rule.min_domains)
