"""From the chosen node to the bound pod: Reserve, Permit, PreBind, Bind, PostBind, and back on failure.

Mirrors ``bindingCycle`` in ``schedule_one.go``.
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import BindOutcome, Code, CycleState, Pod, Status
from mooring.framework.errors import DeadlineExceededError, MooringError, UnavailableError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls, plugin_failure


class UnknownOutcomeError(Exception):
    """The binding may or may not have happened.

    Attributes:
        reason: Why nobody knows.
    """

    def __init__(self, reason: MooringError) -> None:
        super().__init__(str(reason))
        self.reason = reason


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
        UnknownOutcomeError: Nobody knows whether the pod is bound: what was reserved stays reserved.
        MooringError: A plugin failed, or the binding did; Unreserve has run.
    """
    try:
        status = _prepare(profile, state, pod, node_name, calls)
        if status.ok:
            status = _bind(profile, state, pod, node_name, calls)
    except MooringError:
        _unreserve(profile, state, pod, node_name)
        raise
    if not status.ok:
        _unreserve(profile, state, pod, node_name)
        return Committed(status)
    for enabled in profile.post_bind:
        calls.call(enabled.name, "PostBind", enabled.plugin.post_bind, state, pod, node_name)
    return Committed(status, state.get(BindOutcome, BindOutcome))


def _prepare(profile: Profile, state: CycleState, pod: Pod, node_name: str, calls: PluginCalls) -> Status:
    """Reserve, Permit and PreBind: Success, or the first refusal."""
    for reserve in profile.reserve:
        answer = calls.call(reserve.name, "Reserve", reserve.plugin.reserve, state, pod, node_name)
        if not (status := _said(reserve.name, "Reserve", answer)).ok:
            return status
    for permit in profile.permit:
        answer, _ = calls.call(permit.name, "Permit", permit.plugin.permit, state, pod, node_name)
        status = _said(permit.name, "Permit", answer)
        if status.code is Code.WAIT:
            return Status.unschedulable("asks to wait, which a call can't do").by(permit.name)
        if not status.ok:
            return status
    for pre_bind in profile.pre_bind:
        answer = calls.call(pre_bind.name, "PreBind", pre_bind.plugin.pre_bind, state, pod, node_name)
        if not (status := _said(pre_bind.name, "PreBind", answer)).ok:
            return status
    return Status()


def _bind(profile: Profile, state: CycleState, pod: Pod, node_name: str, calls: PluginCalls) -> Status:
    """The answer of the first Bind plugin that doesn't skip.

    Raises:
        UnknownOutcomeError: It did not hear what became of the binding.
    """
    calls.check()
    for enabled in profile.bind:
        try:
            answer = calls.call(enabled.name, "Bind", enabled.plugin.bind, state, pod, node_name)
        except (UnavailableError, DeadlineExceededError) as error:
            raise UnknownOutcomeError(error) from error
        status = _said(enabled.name, "Bind", answer)
        if status.code is not Code.SKIP:
            return status
    raise plugin_failure("", "Bind", f"every Bind plugin of profile {profile.name!r} skipped the pod")


def _said(plugin: str, point: str, answer: object) -> Status:
    """The plugin's status, with its name on it.

    Raises:
        PluginFailureError: It is no Status.
    """
    if not isinstance(answer, Status):
        raise plugin_failure(plugin, point, f"returned {type(answer).__name__}, not Status")
    return answer.by(plugin)


def _unreserve(profile: Profile, state: CycleState, pod: Pod, node_name: str) -> None:
    for enabled in reversed(profile.reserve):
        enabled.plugin.unreserve(state, pod, node_name)
