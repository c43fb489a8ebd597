"""Which nodes reach a persistent volume, and which ones a storage class or a report of capacity means.

Mirrors ``CheckNodeAffinity`` of ``k8s.io/component-helpers/storage/volume``, ``MatchTopologySelectorTerms``
of ``pkg/apis/core/v1/helper``, and ``nodeHasAccess``, ``checkBoundClaims`` and ``tryTranslatePVToCSI`` of
``plugins/volumebinding/binder.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import numpy as np

from mooring.framework import Bools, Int32s, NodeView
from mooring.framework.deadline import timely
from mooring.framework.node_selector import is_empty, term_errors, term_matches
from mooring.framework.objects import (
    CSINode,
    LabelSelector,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    TopologySelectorTerm,
)
from mooring.plugins.csi_migration import MIGRATED_PLUGINS, InTreeKind, kind_of, translated_affinity

_MOST = 1 << 8
"""How many selectors are remembered: one for each zone; of the volumes of single nodes the last ones."""

_encode = msgspec.msgpack.Encoder().encode


def required_of(volume: PersistentVolume) -> NodeSelector | None:
    """Return a selector of the nodes from which the volume can be reached; None = all."""
    affinity = volume.spec.node_affinity
    return affinity.required if affinity is not None else None


def reaches(required: NodeSelector | None, nodes: NodeView) -> Bools:
    """bool[K]: the node is one of those that ``required`` means; None means all."""
    if required is None:
        return np.ones(len(nodes), np.bool_)
    reached = np.zeros(len(nodes), np.bool_)
    for term in required.node_selector_terms:
        reached |= _term_reaches(term, nodes)
    return reached


class KnownReach:
    """The nodes that volumes don't reach, by node affinity, which many volumes share. Safe from any
    thread.
    """

    def __init__(self) -> None:
        self._version = -1
        self._known: dict[bytes, Int32s] = {}

    def out_of_reach(self, required: NodeSelector | None, nodes: NodeView) -> Int32s:
        """int32[R]: the rows of ``nodes``, all there are, that ``required`` does not mean."""
        version, known = nodes.table.version_but_images, self._known
        if version != self._version or len(known) >= _MOST:
            known = self._known = {}
            self._version = version
        key = _encode(required)
        rows = known.get(key)
        if rows is None:
            rows = nodes.rows[~reaches(required, nodes)]
            if version == nodes.table.version_but_images:
                known[key] = rows
        return rows


def _term_reaches(term: NodeSelectorTerm, nodes: NodeView) -> Bools:
    """Like upstream, conditions on a node's name always hold here: only the node's labels are checked."""
    if is_empty(term) or any(term_errors(term, "")):
        return np.zeros(len(nodes), np.bool_)
    if not term.match_expressions:
        return np.ones(len(nodes), np.bool_)
    return term_matches(NodeSelectorTerm(term.match_expressions), nodes)


def allows(terms: Sequence[TopologySelectorTerm], nodes: NodeView) -> Bools:
    """bool[K]: one of a storage class's ``allowedTopologies`` holds on the node; without any, all do."""
    allowed = np.full(len(nodes), not terms)
    for term in terms:
        conditions = tuple(
            NodeSelectorRequirement(condition.key, "In", condition.values)
            for condition in term.match_label_expressions
        )
        allowed |= term_matches(NodeSelectorTerm(conditions), nodes)
    return allowed


def selects(selector: LabelSelector | None, nodes: NodeView) -> Bools:
    """bool[K]: the node's labels match; None means no node, an empty selector all of them."""
    if selector is None:
        return np.zeros(len(nodes), np.bool_)
    conditions = (
        *(NodeSelectorRequirement(key, "In", (value,)) for key, value in selector.match_labels.items()),
        *(
            NodeSelectorRequirement(condition.key, condition.operator, condition.values)
            for condition in selector.match_expressions
        ),
    )
    if not conditions:
        return np.ones(len(nodes), np.bool_)
    return term_matches(NodeSelectorTerm(conditions), nodes)


def check_bound(claims: Collection[PersistentVolumeClaim], nodes: NodeView) -> tuple[Bools, Bools]:
    """bool[K] twice: the node doesn't reach a volume, or a volume is not there; the first claim decides.
    Raises TranslationError if a volume of a kind of old has no name with the CSI driver that a node has for
    it.
    """
    conflict = np.zeros(len(nodes), np.bool_)
    undecided = ~conflict
    for claim in timely(claims):
        volume = nodes.snapshot.objects.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            return conflict, undecided
        reached = _reached(volume, nodes, undecided)
        conflict |= undecided & ~reached
        undecided &= reached
    return conflict, np.zeros(len(nodes), np.bool_)


def _reached(volume: PersistentVolume, nodes: NodeView, asked: Bools) -> Bools:
    """Return bool[K]: the node reaches the volume; only the nodes ``asked`` about are checked."""
    reached = reaches(required_of(volume), nodes)
    kind = kind_of(volume.spec)
    if kind is None or not kind.migrated:
        return reached
    migrated = asked & _has_migrated(kind, nodes)
    if not migrated.any():
        return reached
    return np.where(migrated, reaches(translated_affinity(kind, volume), nodes), reached)


def reached_from(volume: PersistentVolume, node: NodeView) -> NodeSelector | None:
    """Return a selector of the nodes that reach the volume, as it counts on the only node of ``node``."""
    kind = kind_of(volume.spec)
    if kind is None or not kind.migrated or not _has_migrated(kind, node).all():
        return required_of(volume)
    return translated_affinity(kind, volume)


def _has_migrated(kind: InTreeKind, nodes: NodeView) -> Bools:
    """bool[K]: the node's CSINode says that its CSI driver serves volumes of this kind."""
    objects = nodes.snapshot.objects
    found = (objects.get(CSINode, name) for name in nodes.names)
    lists = ("" if node is None else node.metadata.annotations.get(MIGRATED_PLUGINS, "") for node in found)
    return np.array([kind.plugin in listed.split(",") for listed in lists], np.bool_)
