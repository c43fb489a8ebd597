"""Reports attempts that took too long: whose fault it is, and where."""

from __future__ import annotations

import logging
from collections.abc import Hashable

from mooring.framework import Pod
from mooring.scheduler.budget import ITSELF, OTHERS, AttemptBudget
from mooring.scheduler.recorder import EventNote, EventRecorder
from mooring.telemetry.scheduler_observer import SchedulerObserver

log = logging.getLogger(__name__)

UNKNOWN = "unknown"
"""Pods of different owners took too long one after the other, perhaps for something that they share."""


class Overruns:
    """Counts attempts that took too long, and reports the pod to blame. For the deciding thread.

    Args:
        observer: Counts them.
        recorder: Writes Events about pods that cost others too much.
    """

    def __init__(self, observer: SchedulerObserver, recorder: EventRecorder) -> None:
        self._observer = observer
        self._recorder = recorder
        self._owner: Hashable = None

    def attempted(self, pod: Pod, budget: AttemptBudget) -> None:
        """Take in an attempt of ``pod``, or of the group that it leads, that has spent ``budget``."""
        before, self._owner = self._owner, None
        if not budget.blame:
            return
        blame, (plugin, point) = budget.blame, budget.where
        if blame == ITSELF:
            self._owner = pod.metadata.namespace, pod.metadata.owner_references
            blame = UNKNOWN if before not in (None, self._owner) else ITSELF
        self._observer.overran(plugin, point, blame)
        payer = budget.payer() if blame == OTHERS and budget.payer is not None else None
        if payer is not None:
            note = (
                f"an attempt to schedule pod {pod.key} spent {budget.others:.1f} s of processor time in "
                f"plugin {plugin} at {point} on other pods' requests, most on this one's"
            )
            log.warning("pod %s: %s", payer.key, note)
            self._recorder.record_event(EventNote(payer, "Warning", "SlowsScheduling", "Scheduling", note))
