"""The time that one attempt for a pod or a group may take, so that none delays the others for long.

An Event reports attempts that took too long: whose fault it is, and where.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mooring.framework import Pod
from mooring.framework.deadline import Payer
from mooring.framework.errors import DeadlineExceededError
from mooring.scheduler.recorder import EventNote, EventRecorder
from mooring.telemetry.scheduler_observer import SchedulerObserver

ATTEMPT_SECONDS = 1.0
"""By default. On 5,000 nodes a claim with a selector took 0.34 s, 10,000 affinity terms 0.8 s."""

MAX_GROUP_SECONDS = 30.0
"""A group may take as long as its pods together, but not long enough for the process to look stuck."""

FREE_SHARE = 0.25
"""The share of its limit that an attempt may take without a pause for the pod."""
PAUSE_TIMES = 100.0
"""The pause in multiples of the excess, so that other pods get nearly all of the time."""


ITSELF, OTHERS = "pod", "others"
"""The blame for an attempt that took too long: the pod's own requests, or those of others."""


def group_seconds(seconds: float, pods: int) -> float:
    """Return the time that an attempt for ``pods`` together may take, given that of one; 0 = no limit."""
    return min(seconds * pods, max(seconds, MAX_GROUP_SECONDS))


@dataclass(slots=True)
class AttemptBudget:
    """Implements ``Progress`` for the cycle of one pod or group. Made and checked by the deciding thread.

    Processor time counts, not wall-clock time: a paused process, a slow extender and other threads are
    not the pod's fault. Neither is the plugins' work for other pods' requests. Ending the attempt would
    not help then, since the next pod needs as long; that has a limit of its own, that of large groups.

    Attributes:
        seconds: How much may be spent; 0 = without limit.
        plugin: Which plugin runs, "" for none.
        answered_by: Afterwards ``cache``, or ``full`` with the reason in brackets.
        others: How many seconds went into what other pods ask for.
        payer: Finds the pod of these that asks for most; None = nothing went into it.
        blame: Whose it is that more than ``seconds`` were spent: ``pod`` or ``others``; "" = they were not.
        where: The plugin and the extension point in which they were.
    """

    seconds: float
    plugin: str = ""
    extension_point: str = ""
    answered_by: str = ""
    may_call_plugins = True
    others: float = 0.0
    payer: Payer | None = None
    blame: str = ""
    where: tuple[str, str] = ("", "")
    now: Callable[[], float] = time.thread_time
    _ends: float = field(init=False)
    _at_others_expense: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._ends = self.now() + self.seconds if self.seconds else float("inf")

    def pause(self) -> float:
        """Seconds for which the pod should not be tried again, given the time that was spent."""
        spent = self.now() - (self._ends - self.seconds)
        return PAUSE_TIMES * max(0.0, spent - FREE_SHARE * self.seconds) if self.seconds else 0.0

    @contextmanager
    def charge_others(self, payer: Payer) -> Iterator[None]:
        """Charge what runs inside to others. It is not entered again inside."""
        began, ends = self.now(), self._ends
        if self.seconds:
            self._ends = began + max(self.seconds, MAX_GROUP_SECONDS) - self.others
        self.payer, self._at_others_expense = payer, True
        try:
            yield
        finally:
            spent = self.now() - began
            self.others += spent
            self._ends, self._at_others_expense = ends + spent, False
            if 0 < self.seconds < self.others:
                self.blame, self.where = OTHERS, (self.plugin, self.extension_point)

    def check(self) -> None:
        """Go on only while there is something left. Raises DeadlineExceededError if all is spent; it names
        the plugin that runs.
        """
        if self.now() < self._ends:
            return
        self.where = self.plugin, self.extension_point
        if self._at_others_expense:
            self.blame, seconds = OTHERS, max(self.seconds, MAX_GROUP_SECONDS)
            most = self.payer() if self.payer is not None else None
            asking = f"other pods ask for{f', {most.key} most' if most is not None else ''}"
        else:
            self.blame, seconds, asking = ITSELF, self.seconds, "the pod asks for"
        where = f"plugin {self.plugin} at {self.extension_point}" if self.plugin else "mooring itself"
        raise DeadlineExceededError(
            f"the attempt took more than {seconds:g} s of processor time and was ended in {where}, "
            f"so that other pods go on; check what {asking}, or see --pod-max-scheduling-duration",
            plugin=self.plugin,
            extension_point=self.extension_point,
        )


log = logging.getLogger(__name__)

UNKNOWN = "unknown"
"""Pods of different owners took too long one after the other, perhaps for something that they share."""


class Overruns:
    """Counts attempts that took too long, and reports the pod to blame. For the deciding thread."""

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
