"""Pods placed on new nodes of many groups, each group as if there were no other, all groups at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mooring.framework import (
    Bools,
    FilterPlugin,
    Int32s,
    Int64s,
    NodeView,
    Part,
    Plugin,
    Pod,
    PreFilterPlugin,
)
from mooring.framework.batch import as_batch
from mooring.framework.cacheable import dependencies_of
from mooring.framework.new_node_rules import AtMost, Near, Rule
from mooring.framework.node_table import PODS_ROW
from mooring.framework.objects import Object
from mooring.framework.pod_table import PodKind
from mooring.framework.state import ClusterState
from mooring.kernels.arrays import REJECTED
from mooring.runtime.cache.answers.consistency import check_may_decide
from mooring.runtime.cache.layers.resource_scores import ResourceScores
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cycle.plugin_calls import PluginAccess, PluginCalls
from mooring.runtime.cycle.tie_break import mix64
from mooring.runtime.forecast.hypothetical_nodes import HypotheticalNodes, distinct
from mooring.runtime.profiles.profile import Profile

_CHECKED = 64
"""Pods between two checks whether the caller still waits."""

_OTHER_PODS = Part.PODS | Part.AFFINITIES | Part.FEASIBLE | Part.OUTSIDE
"""The parts by which like nodes differ once they have pods, room aside."""


@dataclass(frozen=True, slots=True, eq=False)
class _Template:
    """Pods that are alike.

    Attributes:
        resources: The scores of room.
        fits: bool[G], whether an empty node of each group takes one, as far as that is up to the node.
        rules: Further rules, by number.
    """

    kind: PodKind
    resources: ResourceScores
    calls: PluginCalls
    fits: Bools
    rules: Sequence[int]


class ParallelGroups:
    """Places the same pods on new nodes of one group or another. For one thread.

    All of the pods find no place on a node that is there, and never will. The state must stay as it is.

    Args:
        cluster: The state, with one node of each group, and the pods that each such node has from the first.
        templates: One pod of each template, with its profile. Nothing is reserved for any.
        rows: int32[G], the nodes.

    Raises:
        NotCachedError: More than room and numbers of pods decides, a pod may go to an existing node, or the
            first pods of a new node count for more than the room that they take.
        PluginFailureError: A plugin failed.

    Attributes:
        fits: bool[T, G], whether a new node of each group takes pods of a template, as far as that is up
            to the node.
    """

    def __init__(
        self,
        cluster: ClusterState,
        cache: EvaluationCache,
        templates: Sequence[tuple[Pod, Profile]],
        rows: Int32s,
        access: PluginAccess,
    ) -> None:
        self._cluster = cluster
        self._cache = cache
        self._rows = rows
        there = cluster.snapshot.nodes.rows()
        self._there = there[~np.isin(there, rows)]
        self._kinds = [cluster.kind_of(pod, remember=False) for pod, _ in templates]
        self._first = [each.kind for row in rows for each in cluster.snapshot.pods.records_on(int(row))]
        self._rules: list[Rule] = []
        self._known: dict[tuple[int, object], Sequence[int]] = {}
        found = [
            self._template(pod, profile, kind, access.of(profile))
            for (pod, profile), kind in zip(templates, self._kinds, strict=True)
        ]
        self._templates = found
        self.fits: Bools = np.array([template.fits for template in found])

    def places(
        self,
        groups: Int32s,
        counts: Int64s,
        indices: Sequence[int],
        uids: Sequence[str],
        seed: int,
        check: Callable[[], None],
    ) -> Int32s:
        """int32[P, A]: which of these nodes of each group a pod gets, by number; ``REJECTED`` = none.

        Args:
            groups: int32[A], the groups.
            counts: int64[A], how many nodes, 1 or more.
            indices: The pods, by the number of their template, in order.
            uids: Their UIDs.
            seed: Decides between nodes of equal totals.
            check: Raises once the caller no longer waits.
        """
        rules = distinct([rule.among(groups) for rule in self._rules])
        nodes = HypotheticalNodes(self._cluster.snapshot, self._rows[groups], counts, rules)
        places: Int32s = np.full((len(indices), len(groups)), REJECTED, np.int32)
        for at, (index, uid) in enumerate(zip(indices, uids, strict=True)):
            if not at % _CHECKED:
                check()
            template = self._templates[index]
            totals = np.zeros(len(nodes.view), np.int32)
            template.resources.rate(nodes.view, totals, template.calls)
            taking = template.fits[groups]
            for number in template.rules:
                taking = taking & nodes.allow(rules[number], totals)
            places[at] = nodes.place(totals, taking, mix64(seed, uid), template.kind.usage, index)
        return places

    def left_by_plenty(self, indices: Sequence[int]) -> Bools | None:
        """bool[P, G]: which pods get no node of a group with as many nodes as there are pods.

        Then there is always an empty one, so that neither room nor other pods of a node keep a pod from it.
        None if a pod may go to no empty node, since it has to be near others.
        """
        rules = distinct(self._rules)
        if any(isinstance(rule, Near) and any(pods.by_node for pods in rule.pods) for rule in rules):
            return None
        shared = {at: rule for at, rule in enumerate(rules) if not all(pods.by_node for pods in rule.sorts)}
        one_each = np.ones(len(self._rows), np.int64)
        nodes = HypotheticalNodes(self._cluster.snapshot, self._rows, one_each, rules)
        left = np.ones((len(indices), len(self._rows)), np.bool_)
        for at, index in enumerate(indices):
            template, totals = self._templates[index], np.zeros(len(self._rows), np.int32)
            taking = template.fits
            for number in template.rules:
                if number in shared:
                    taking = taking & nodes.allow(shared[number], totals)
            left[at] = nodes.place(totals, taking, 0, template.kind.usage, index) == REJECTED
        return left

    def fewest_nodes(self, counts: Int64s) -> Int64s:
        """int64[G]: with fewer nodes of a group some pod is left over that fits an empty one.

        ``counts`` (int64[T]) says how many pods of each template there are.
        """
        table = self._cluster.snapshot.nodes
        counted = counts[:, None] * self.fits
        requested = np.zeros((len(counts), len(table.allocatable)), np.int64)
        requested[:, PODS_ROW] = 1
        for at, kind in enumerate(self._kinds):
            for position, amount in table.by_position(kind.usage.requests):
                requested[at, position] += amount
        needed = requested.T @ counted
        offered = table.allocatable[:, self._rows] - table.requested[:, self._rows]
        fewest: Int64s = np.where(offered > 0, -(-needed // np.maximum(offered, 1)), 0).max(axis=0)
        for number, rule in enumerate(self._rules):
            if isinstance(rule, AtMost) and rule.pods.by_node:
                asking = [
                    number in each.rules and rule.pods.adds[at] > 0 for at, each in enumerate(self._templates)
                ]
                together = rule.most + 1 + (rule.others.least if rule.others is not None else 0)
                fewest = np.maximum(fewest, -(-counted[asking].sum(axis=0) // np.maximum(together, 1)))
        return fewest

    def _template(self, pod: Pod, profile: Profile, kind: PodKind, calls: PluginCalls) -> _Template:
        if profile.samples:
            raise NotCachedError(Bypass.SAMPLING)
        check_may_decide(self._cluster, pod, profile)
        nodes = NodeView(self._cluster.snapshot, self._rows)
        rules = [number for plugin in profile.evaluating for number in self._rules_of(plugin, pod, nodes)]
        cached = self._cache.find(pod, profile).cached
        with cached:
            cached.update(calls, dynamic=False)
            if not cached.resources.rates_columns:
                raise NotCachedError(Bypass.RESOURCES)
            if (cached.totals(self._there) != REJECTED).any():
                raise NotCachedError(Bypass.OTHER_NODES)
            return _Template(kind, cached.resources, calls, cached.totals(self._rows) != REJECTED, rules)

    def _rules_of(self, plugin: Plugin[Any], pod: Pod, nodes: NodeView) -> Sequence[int]:
        """Return the numbers of the plugin's rules; NotCachedError if it reads more than these and room."""
        declared = dependencies_of(plugin, pod)
        key = id(plugin), declared.signature
        if key in self._known:
            return self._known[key]
        rules = as_batch(plugin).new_node_rules(pod, nodes, [*self._kinds, *self._first])
        if rules is not None:
            if any(sort.adds[len(self._kinds) :].any() for rule in rules for sort in rule.sorts):
                raise NotCachedError(Bypass.DYNAMIC)
            self._known[key] = range(len(self._rules), len(self._rules) + len(rules))
            self._rules += rules
            return self._known[key]
        parts = declared.parts
        filters = isinstance(plugin, (FilterPlugin, PreFilterPlugin))
        if parts & _OTHER_PODS or (Part.OTHER_NODES in parts and filters):
            raise NotCachedError(Bypass.DYNAMIC)
        if parts & Part.RESOURCES and Part.OBJECTS in parts and self._has_objects(declared.kinds):
            raise NotCachedError(Bypass.RESOURCES)
        return ()

    def _has_objects(self, kinds: Sequence[type[Object]] | None) -> bool:
        """Return whether the cluster has an object of ``kinds``, or may have one."""
        objects = self._cluster.snapshot.objects
        return kinds is None or any(next(iter(objects.all(kind)), None) is not None for kind in kinds)
