"""The common base of the plugins about volumes."""

from __future__ import annotations

import numpy as np

from mooring.framework import FilterPlugin, Int32s, Part, Pod, PreFilterPlugin
from mooring.framework.batch import BatchPlugin
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.interface import ArgsT

NO_ROWS: Int32s = np.zeros(0, np.int32)
"""The rejected rows of a pod that no node rejects; read-only."""


_WITH_STORAGE = Dependencies()
_WITHOUT_STORAGE = Dependencies(signature=(), parts=Part.NONE)


class StoragePlugin(PreFilterPlugin[ArgsT], FilterPlugin[ArgsT], CacheablePlugin, BatchPlugin):
    """Base of VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.

    Pods without storage are all alike to them, whatever the cluster; answers for others are never reused.
    """

    aspects = Aspect.CLAIMS

    def dependencies(self, pod: Pod) -> Dependencies:
        return _WITH_STORAGE if pod.has_storage else _WITHOUT_STORAGE
