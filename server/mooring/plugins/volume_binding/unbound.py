"""The nodes on which claims that wait for a node can get their volumes.

Mirrors the second half of ``FindPodVolumes`` in ``plugins/volumebinding/binder.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import Bools, NodeView
from mooring.framework.deadline import timely
from mooring.framework.objects import PersistentVolumeClaim
from mooring.plugins.volume_binding.matching import Matching
from mooring.plugins.volume_binding.provisioning import can_be_made

SELECTED_NODE = "volume.kubernetes.io/selected-node"


def check_waiting(
    claims: Sequence[PersistentVolumeClaim], nodes: NodeView, with_attributes_classes: bool
) -> tuple[Bools, Bools]:
    """bool[K] twice: the node has no volume for a claim and none can be made, or there is no room for it.

    A claim that names its node already is to be made there, whatever volumes there are.

    Raises:
        SelectorError: A claim's selector is malformed.
        AttributesClassError: A claim names a class of attributes, and there are none.
        LookupError: A claim's class is not there.
    """
    unmatched = np.zeros(len(nodes), np.bool_)
    lacking: list[tuple[PersistentVolumeClaim, Bools]] = []
    free: list[PersistentVolumeClaim] = []
    for claim in timely(claims):
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            free.append(claim)
        else:
            unmatched |= nodes.rows != nodes.table.index.get(selected, -1)
            lacking.append((claim, np.ones(len(nodes), np.bool_)))
    without_room = np.zeros(len(nodes), np.bool_)
    if unmatched.all():
        # kube-scheduler asks no further there, so nothing that is wrong with another claim shows.
        return unmatched, without_room
    lacking += [(claim, ~found) for claim, found in Matching(nodes, with_attributes_classes).match(free)]
    for claim, lacks in timely(lacking):
        asked = lacks & ~unmatched & ~without_room
        if asked.any():
            possible, room = can_be_made(claim, nodes)
            unmatched |= asked & ~possible
            without_room |= asked & possible & ~room
    return unmatched, without_room
