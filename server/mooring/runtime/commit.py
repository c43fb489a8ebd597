"""From the chosen node to the bound pod: Reserve, Permit, PreBind, Bind, PostBind, and back on failure.

Mirrors ``bindingCycle`` in ``schedule_one.go``.
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import BindOutcome, Code, CycleState, Pod, Status
from mooring.framework.errors import MooringError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls, plugin_failure


@dataclass(frozen=True, slots=True)
class Committed:
    """How a commit ended: Success with the outcome, or why not."""

    status: Status
    outcome: BindOutcome | None = None


def commit(profile: Profile, state: CycleState, pod: Pod, node_name: str, calls: PluginCalls) -> Committed:
    """Bind ``pod``, which is assumed on the node already, with the profile's plugins.

    When a plugin refuses or fails, the Unreserve plugins run in reverse order and the caller takes the
    assumption back.

    Raises:
        MooringError: A plugin failed, or the binding did; Unreserve has run.
    """
    try:
        status = _run(profile, state, pod, node_name, calls)
    except MooringError:
        _unreserve(profile, state, pod, node_name)
        raise
    if not status.ok:
        _unreserve(profile, state, pod, node_name)
        return Committed(status)
    for enabled in profile.post_bind:
        calls.call(enabled.name, "PostBind", enabled.plugin.post_bind, state, pod, node_name)
    return Committed(status, state.get(BindOutcome, BindOutcome))


def _run(profile: Profile, state: CycleState, pod: Pod, node_name: str, calls: PluginCalls) -> Status:
    for reserve in profile.reserve:
        status = calls.call(reserve.name, "Reserve", reserve.plugin.reserve, state, pod, node_name)
        if not status.ok:
            return status.by(reserve.name)
    for permit in profile.permit:
        status, _ = calls.call(permit.name, "Permit", permit.plugin.permit, state, pod, node_name)
        if status.code is Code.WAIT:
            return Status.unschedulable("asks to wait, which a call can't do").by(permit.name)
        if not status.ok:
            return status.by(permit.name)
    for pre_bind in profile.pre_bind:
        status = calls.call(pre_bind.name, "PreBind", pre_bind.plugin.pre_bind, state, pod, node_name)
        if not status.ok:
            return status.by(pre_bind.name)
    return _bind(profile, state, pod, node_name, calls)


def _bind(profile: Profile, state: CycleState, pod: Pod, node_name: str, calls: PluginCalls) -> Status:
    for enabled in profile.bind:
        status = calls.call(enabled.name, "Bind", enabled.plugin.bind, state, pod, node_name)
        if status.code is not Code.SKIP:
            return status.by(enabled.name)
    raise plugin_failure("", "Bind", f"every Bind plugin of profile {profile.name!r} skipped the pod")


def _unreserve(profile: Profile, state: CycleState, pod: Pod, node_name: str) -> None:
    for enabled in reversed(profile.reserve):
        enabled.plugin.unreserve(state, pod, node_name)
