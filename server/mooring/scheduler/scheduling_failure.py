"""Why an attempt gave a pod no node."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from mooring.framework import Code, ReasonCode, Status
from mooring.framework.errors import DeadlineExceededError, MooringError, PluginFailureError
from mooring.framework.reason_codes import label_of
from mooring.runtime.answers import Choice
from mooring.runtime.profiles.extender import EXTENDER
from mooring.scheduler.queue import Rejection

BY_NOBODY = Rejection()

LOST = frozenset({"POD_BOUND_ELSEWHERE", "POD_DELETING", "POD_NOT_FOUND", "POD_RECREATED"})
"""Reasons of errors about pods that another client bound or deletes: the sources will deliver that."""


@dataclass(frozen=True, slots=True)
class SchedulingFailure:
    """Why a pod got no node.

    Attributes:
        rejected: It was rejected; False = something failed.
        nominated: The node that is being cleared for it; "" = none, None = as it was.
        told: It is written to the pod's status; False = another client has taken over the pod by now.
        choice: The decision, if no node takes it; None = something else ended the attempt.
        node: The node that it had got before; "" = none.
        plugin: The plugin that raised, "" = none did.
    """

    message: str
    rejection: Rejection = BY_NOBODY
    rejected: bool = True
    nominated: str | None = ""
    told: bool = True
    choice: Choice | None = field(default=None, repr=False)
    node: str = ""
    plugin: str = ""

    @property
    def result(self) -> str:
        """As metrics spell it."""
        return "unschedulable" if self.rejected else "error"


def failed(error: Exception, log: logging.Logger | None = None, doing: str = "") -> SchedulingFailure:
    """Return that the attempt ended in an error; a defect is logged, with ``doing``."""
    if log is not None and not isinstance(error, MooringError):
        log.error("%s", doing, exc_info=error)
    if isinstance(error, MooringError):
        plugin = error.metadata["plugin"] if isinstance(error, PluginFailureError) else ""
        told = error.reason not in LOST
        return SchedulingFailure(error.message, rejected=False, told=told, plugin=plugin)
    return SchedulingFailure(f"{type(error).__name__}: {error}", rejected=False)


def overran(error: DeadlineExceededError, *, blameless: bool) -> SchedulingFailure:
    """Return the attempt took too long. An error, but trying again would keep others waiting again for
    nothing: the pod waits for an event that may help it, as one that the plugin rejected.

    One that is ``blameless`` is tried again as after any error: others need as long.
    """
    plugin = error.metadata["plugin"]
    rejection = Rejection(frozenset({plugin})) if plugin and not blameless else BY_NOBODY
    return SchedulingFailure(error.message, rejection, rejected=False)


def rejected_by_nodes(choice: Choice, nominated: str | None = "") -> SchedulingFailure:
    """Return the failure of a pod that no node takes, or that may not be tried."""
    evaluation = choice.evaluation
    plugins: set[str] = set()
    pending: set[str] = set()
    extenders = {extender.name for extender in evaluation.profile.extenders}
    statuses = evaluation.statuses if evaluation.rejection.ok else [evaluation.rejection]
    for status in statuses:
        if status.plugin and status.plugin not in extenders:
            (pending if status.code is Code.PENDING else plugins).add(status.plugin)
    plugins.update(
        name for name, outcome in evaluation.written.prefilter.items() if outcome.nodes is not None
    )
    if evaluation.extenders_reject:
        plugins.add(EXTENDER)
    causes = {
        (status.plugin, label_of(status.plugin, reason))
        for status in statuses
        for reason in status.reasons
        if status.plugin not in extenders
    }
    if evaluation.extenders_reject:
        causes.add((EXTENDER, ReasonCode.EXTENDER_REJECTS.label))
    rejection = Rejection(frozenset(plugins), frozenset(pending), frozenset(causes))
    return SchedulingFailure(evaluation.message, rejection, nominated=nominated, choice=choice)


def rejected_by_plugin(status: Status, node_name: str) -> SchedulingFailure:
    """Return that a Reserve, Permit, PreBind or Bind plugin rejects the pod on its selected node."""
    if not status.rejected:
        return SchedulingFailure(status.message, rejected=False, node=node_name)
    reasons = ", ".join(sorted(f"1 {reason}" for reason in status.reasons))
    names = frozenset({status.plugin}) if status.plugin else frozenset()
    rejection = Rejection(pending=names) if status.code is Code.PENDING else Rejection(names)
    return SchedulingFailure(f"0/1 nodes are available: {reasons}.", rejection, node=node_name)
