"""Reserves for pods on a private copy of the state, so that later pods see it.

Mirrors ``assumeAndReserveWithRevert`` in ``schedule_one_podgroup.go``, for a group and for a dry run. Only
the in-tree plugins for claims and volumes reserve here, since they write to the state and nowhere else. The
other Reserve plugins run when the pods are committed.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from mooring.framework import SUCCESS, Code, CycleState, Pod, ReservePlugin, Status
from mooring.framework.batch import as_batch, is_batch
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.cycle import prepared
from mooring.runtime.cycle.plugin_calls import PluginCalls, plugin_failure
from mooring.runtime.profiles.profile import Profile

_RESERVE, _UNRESERVE = "Reserve", "Unreserve"

_Kept = tuple[str, ReservePlugin[Any], CycleState, Pod, str]


class ForkReserve:
    """The reservations of the pods of a placement, or of a dry run. For one thread.

    Args:
        world: The private copy.
    """

    def __init__(self, profile: Profile, world: ClusterState) -> None:
        self._profile = profile
        self._world = world
        self._plugins = [
            (each.name, _over(each.plugin, world), as_batch(each.plugin))
            for each in profile.reserve
            if is_batch(each.plugin)
        ]
        self._kept: list[_Kept] = []

    def place(self, pod: Pod, node_name: str, calls: PluginCalls) -> None:
        """Assume ``pod`` on its earlier node, and keep what it reserved then. Raises PluginFailureError if a
        plugin failed.
        """
        written = CycleState()
        if self._wanting(pod):
            rows = np.array([self._world.snapshot.nodes.index[node_name]], np.int32)
            written = prepared(self._profile.grouped, self._world, pod, rows, calls).state
        self._world.assume(pod, node_name)
        self.keep(pod, node_name, written, calls)

    def keep(self, pod: Pod, node_name: str, written: CycleState, calls: PluginCalls) -> Status:
        """Reserve on the selected node; return why that can't be, with nothing kept of the pod.

        ``written`` is what the plugins wrote when it was selected. Raises PluginFailureError if a plugin
        failed.
        """
        wanting = self._wanting(pod)
        if not wanting:
            return SUCCESS
        state, before = written.clone(), len(self._kept)
        for name, plugin in wanting:
            self._kept.append((name, plugin, state, pod, node_name))
            status = calls.call(name, _RESERVE, plugin.reserve, state, pod, node_name)
            if status.code is Code.ERROR:
                raise plugin_failure(name, _RESERVE, status.message)
            if not status.ok:
                self.give_back(calls, before)
                return status.by(name)
        return SUCCESS

    def _wanting(self, pod: Pod) -> list[tuple[str, ReservePlugin[Any]]]:
        return [(name, twin) for name, twin, selective in self._plugins if selective.reserves_for(pod)]

    def give_back(self, calls: PluginCalls, left: int = 0) -> None:
        """Take all back but what was kept first, in the opposite order."""
        while len(self._kept) > left:
            name, plugin, state, pod, node_name = self._kept.pop()
            calls.call(name, _UNRESERVE, plugin.unreserve, state, pod, node_name)


def _over(plugin: ReservePlugin[Any], world: ClusterState) -> ReservePlugin[Any]:
    """Return the plugin as it is over ``world``."""
    twin = copy(plugin)
    twin.handle = replace(plugin.handle, snapshot=lambda: world.snapshot, assumptions=world)
    return twin
