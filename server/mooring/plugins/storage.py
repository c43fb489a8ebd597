"""What the plugins about volumes have in common."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mooring.framework import FilterPlugin, Int32s, Part, Pod, PreFilterPlugin
from mooring.framework.interface import ArgsT
from mooring.framework.internal import ClaimReader, SignedByShape

NO_ROWS: Int32s = np.zeros(0, np.int32)
"""What is said of a pod that no node is turned away from; not to be written to."""


def has_storage(pod: Pod) -> bool:
    """Return whether the pod has a claim or a disk: what is said of it depends on what happens to those."""
    # Not any(): a generator takes twice as long as one volume.
    for volume in pod.spec.volumes:  # noqa: SIM110
        if volume.is_storage:
            return True
    return False


class StoragePlugin(PreFilterPlugin[ArgsT], FilterPlugin[ArgsT], SignedByShape, ClaimReader):
    """Base of VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.

    Pods without storage are all alike to them, whatever the cluster; answers for others are never reused.
    """

    def reads_claims_of(self, pod: Pod) -> bool:
        return has_storage(pod)

    def signature(self, pod: Pod) -> Hashable | None:
        return None if has_storage(pod) else ()

    def depends_on(self, pod: Pod) -> Part:
        return Part.ALL if has_storage(pod) else Part.NONE
