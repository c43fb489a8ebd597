"""The common base of the plugins about volumes."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mooring.framework import FilterPlugin, Int32s, Part, Pod, PreFilterPlugin
from mooring.framework.interface import ArgsT
from mooring.framework.internal import ClaimReader, SignedByShape

NO_ROWS: Int32s = np.zeros(0, np.int32)
"""The rejected rows of a pod that no node rejects; read-only."""


class StoragePlugin(PreFilterPlugin[ArgsT], FilterPlugin[ArgsT], SignedByShape, ClaimReader):
    """Base of VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.

    Pods without storage are all alike to them, whatever the cluster; answers for others are never reused.
    """

    def reads_claims_of(self, pod: Pod) -> bool:
        return pod.has_storage

    def signature(self, pod: Pod) -> Hashable | None:
        return None if pod.has_storage else ()

    def depends_on(self, pod: Pod) -> Part:
        return Part.ALL if pod.has_storage else Part.NONE
