"""What dynamic plugins wrote to the CycleState, updated while pods come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooring.framework import CacheablePlugin, CycleState, Plugin, Pod, PodChange
from mooring.framework.pod_table import UNPLACED
from mooring.framework.state import ClusterState
from mooring.runtime.cache.static_scores import ObjectsRead
from mooring.runtime.cycle.plugin_calls import PluginCalls

MAX_CHANGES, MAX_KINDS = 384, 128
"""With more changes, or pods of more kinds among them, PreFilter is faster than an update."""


class CycleStates:
    """The CycleState of the plugins that are called for each decision.

    Args:
        cluster: The state.
        pod: The pod.
        plugins: Those plugins. While this is used, no node object changes.
    """

    def __init__(self, cluster: ClusterState, pod: Pod, plugins: Sequence[Plugin[Any]]) -> None:
        self._cluster = cluster
        self._pod = pod
        self._plugins = [plugin for plugin in plugins if isinstance(plugin, CacheablePlugin)]
        self._objects = ObjectsRead.of(plugins, pod, cluster.snapshot.objects, {})
        self._state: CycleState | None = None
        self._version = -1

    def at(self, version: int, calls: PluginCalls) -> CycleState:
        """Return the state as of ``version``; an empty one when PreFilter has to write it.

        Raises:
            PluginFailureError: A plugin failed.
        """
        state, self._state = self._state, None
        changes = self._pods_since(version) if state is not None else None
        if state is None or changes is None:
            return CycleState()
        for plugin in self._plugins if changes else ():
            if not calls.call(plugin.name, "PreFilter.update", plugin.update, state, self._pod, changes):
                return CycleState()
        return state

    def keep(self, state: CycleState, version: int) -> None:
        """Keep ``state``, if the cluster still has the ``version`` that it is true for."""
        with self._cluster.lock:
            if self._cluster.version == version:
                self._state, self._version = state, version
                self._objects = self._objects and self._objects.now()

    def _pods_since(self, version: int) -> list[PodChange] | None:
        """Return the pods that came and went up to ``version``; None when plugins can't be updated."""
        changes = self._cluster.changes_since(self._version)
        if changes is None or len(changes) > MAX_CHANGES:
            return None
        others = self._objects is not None and self._objects.unchanged()
        moved: list[PodChange] = []
        kinds: set[int] = set()
        for row, record, amount in changes[: version - self._version]:
            if record is None:
                if row == UNPLACED and not amount and not others:
                    return None
            elif amount and row != UNPLACED:
                moved.append((row, record, 1 if amount > 0 else -1))
                kinds.add(id(record.kind))
        return moved if len(kinds) <= MAX_KINDS else None
