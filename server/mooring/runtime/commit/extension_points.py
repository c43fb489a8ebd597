"""The extension points after the choice: Reserve, Permit, PreBind, Bind, PostBind, and Unreserve.

Mirrors ``framework/runtime/framework.go`` and ``bindingCycle`` in ``schedule_one.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, cast

import msgspec

from mooring.framework import (
    SUCCESS,
    BindOutcome,
    Code,
    CycleState,
    Pod,
    PodsToActivate,
    PreBindPlugin,
    Status,
)
from mooring.framework.batch import as_batch
from mooring.framework.errors import MooringError
from mooring.framework.handle import BindingAnswer, BindingEnded, SendingBinder
from mooring.framework.view import NodesChangedError
from mooring.runtime.cycle.extenders import bind_by_extender
from mooring.runtime.cycle.plugin_calls import PluginCalls, PointTimer, plugin_failure
from mooring.runtime.profiles.profile import Enabled, Profile

log = logging.getLogger(__name__)


class Committed(msgspec.Struct, frozen=True):
    """How a commit ended: Success with the outcome, or why not."""

    status: Status
    outcome: BindOutcome | None = None


@dataclass(slots=True)
class Commit:
    """One pod on its way to the node that was selected for it. For one thread at a time.

    Attributes:
        profile: Whose plugins are called.
        written: The notes of the scheduling cycle's plugins; others may have the same until ``cycle_state``
            is read.
        node_name: The node, on which the pod is assumed already.
        begun: The calls of Bind, and their timer, once the binding was sent ahead.
    """

    profile: Profile
    written: CycleState
    pod: Pod
    node_name: str
    begun: tuple[PluginCalls, PointTimer] | None = field(default=None, init=False)
    _own: CycleState | None = field(default=None, init=False)

    @property
    def cycle_state(self) -> CycleState:
        """The notes of the scheduling cycle's plugins for those of the binding cycle: the pod's own.

        Each value is copied when it is first read: for most pods no plugin reads any. A plugin may delete
        values that it needs no longer, which frees them.
        """
        if self._own is None:
            self._own = self.written = self.written.cloned_when_read()
        return self._own

    @property
    def pods_to_activate(self) -> Sequence[Pod]:
        """The pods that plugins want to be tried again."""
        noted = self.written.get(PodsToActivate, PodsToActivate)
        return () if noted is None else noted.pods

    def reserve(self, calls: PluginCalls) -> Status:
        """Success, or the first rejection; then ``unreserve`` has to follow."""
        with calls.point("Reserve") as point:
            for enabled in self.profile.reserve:
                if not as_batch(enabled.plugin).reserves_for(self.pod):
                    calls.pass_over(enabled.name, "Reserve", 1)
                    continue
                answer = calls.call(enabled.name, "Reserve", enabled.plugin.reserve, *self._arguments)
                if not (status := _said(enabled.name, "Reserve", answer)).ok:
                    point.status = status.code
                    return status
        return SUCCESS

    def unreserve(self, calls: PluginCalls) -> None:
        """Call all Reserve plugins in reverse, also those that never ran; one that fails stops no other."""
        with calls.point("Unreserve"):
            for enabled in reversed(self.profile.reserve):
                try:
                    calls.call(enabled.name, "Unreserve", enabled.plugin.unreserve, *self._arguments)
                except (MooringError, NodesChangedError) as error:
                    log.warning("pod %s: %s", self.pod.key, error)

    def permit(self, calls: PluginCalls) -> tuple[Status, dict[str, float]]:
        """Success or the first rejection, and by plugin how many seconds the pod is to wait."""
        waits: dict[str, float] = {}
        with calls.point("Permit") as point:
            for enabled in self.profile.permit:
                answer, seconds = calls.call(enabled.name, "Permit", enabled.plugin.permit, *self._arguments)
                status = _said(enabled.name, "Permit", answer)
                if status.code is Code.WAIT:
                    waits[enabled.name] = seconds
                    point.status = Code.WAIT
                elif not status.ok:
                    point.status = status.code
                    return status, {}
        return SUCCESS, waits

    def pre_flight(self, calls: PluginCalls) -> Sequence[Enabled[PreBindPlugin[Any]]]:
        """Return the plugins whose PreBind has something to do. Raises PluginFailureError if one says neither
        that it has nor that it hasn't.
        """
        busy = []
        with calls.point("PreBindPreFlight") as point:
            for enabled in self.profile.pre_bind:
                if not as_batch(enabled.plugin).reserves_for(self.pod):
                    calls.pass_over(enabled.name, "PreBindPreFlight", 1)
                    continue
                asked = enabled.plugin.pre_bind_pre_flight
                answer = calls.call(enabled.name, "PreBindPreFlight", asked, *self._arguments)
                status = _said(enabled.name, "PreBindPreFlight", answer)
                if status.ok:
                    busy.append(enabled)
                elif status.code is not Code.SKIP:
                    said = f"said {status.code.label} ({status.message}), neither Success nor Skip"
                    raise plugin_failure(enabled.name, "PreBindPreFlight", said)
            if not busy:
                point.status = Code.SKIP
        return busy

    def pre_bind(self, plugins: Sequence[Enabled[PreBindPlugin[Any]]], calls: PluginCalls) -> Status:
        """Success, or the first rejection of those that have something to do.

        Neighbours that allow it run at the same time, and all of them to their end.
        """

        def run(enabled: Enabled[PreBindPlugin[Any]]) -> Status:
            answer = calls.call(enabled.name, "PreBind", enabled.plugin.pre_bind, *self._arguments)
            return _said(enabled.name, "PreBind", answer)

        with calls.point("PreBind") as point:
            for parallel, neighbours in groupby(plugins, lambda one: one.plugin.allow_parallel):
                group = tuple(neighbours)
                if parallel and len(group) > 1:
                    with ThreadPoolExecutor(len(group), thread_name_prefix="pre-bind") as threads:
                        statuses: Iterable[Status] = tuple(threads.map(run, group))
                else:
                    statuses = map(run, group)
                for status in statuses:
                    if not status.ok:
                        point.status = status.code
                        return status
        return SUCCESS

    def bind(self, calls: PluginCalls) -> Committed:
        """Return the answer of the extender that binds, else of the first Bind plugin that doesn't skip."""
        status = bind_by_extender(self.profile, self.pod, self.node_name)
        if status is not None:
            return Committed(status, BindOutcome.BOUND if status.ok else None)
        with calls.point("Bind") as point:
            for enabled in self.profile.bind:
                answer = calls.call(enabled.name, "Bind", enabled.plugin.bind, *self._arguments)
                status = _said(enabled.name, "Bind", answer)
                if status.code is not Code.SKIP:
                    point.status = status.code
                    outcome = self.cycle_state.get(BindOutcome, BindOutcome) if status.ok else None
                    return Committed(status, outcome)
        raise plugin_failure(
            "", "Bind", f"every Bind plugin of profile {self.profile.name!r} skipped the pod"
        )

    def begin_bind(self, calls: PluginCalls, ended: BindingEnded) -> bool:
        """Send the binding where the profile ``binds_at_once``, without waiting; False = nothing was sent.

        ``end_bind`` takes the answer that ``ended`` gets.
        """
        (enabled,) = self.profile.bind
        self.begun = calls, calls.point("Bind")
        plugin = cast("SendingBinder", enabled.plugin)  # binds_at_once has looked
        return calls.call(enabled.name, "Bind", plugin.begin_bind, self.pod, self.node_name, ended)

    def end_bind(self, answer: BindingAnswer) -> Committed:
        """Return how the binding ended that was sent ahead and has this answer; may block, and raise."""
        assert self.begun is not None  # noqa: S101 - it was sent
        with self.begun[1] as point:
            # Any error may end it early, including errors that are not mooring's.
            point.status = Code.ERROR
            outcome = answer if isinstance(answer, BindOutcome) else answer()
            point.status = Code.SUCCESS
        return Committed(SUCCESS, outcome)

    def post_bind(self, calls: PluginCalls) -> None:
        """Call the PostBind plugins; the pod stays bound whatever they return."""
        if not self.profile.post_bind:
            calls.pass_point("PostBind", (), Code.SUCCESS, 1)
            return
        with calls.point("PostBind"):
            for enabled in self.profile.post_bind:
                try:
                    calls.call(enabled.name, "PostBind", enabled.plugin.post_bind, *self._arguments)
                except (MooringError, NodesChangedError) as error:
                    log.warning("pod %s: %s", self.pod.key, error)

    @property
    def _arguments(self) -> tuple[CycleState, Pod, str]:
        return self.cycle_state, self.pod, self.node_name


def _said(plugin: str, point: str, answer: object) -> Status:
    """Return the plugin's status, with its name on it."""
    if not isinstance(answer, Status):
        raise plugin_failure(plugin, point, f"returned {type(answer).__name__}, not Status")
    return answer.by(plugin)
