"""What one attempt to schedule a pod or a group may take, so that none keeps the others waiting for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mooring.framework.errors import DeadlineExceededError

ATTEMPT_SECONDS = 1.0
"""By default. On 5,000 nodes a claim with a selector took 0.34 s, 10,000 affinity terms 0.8 s."""

MAX_GROUP_SECONDS = 30.0
"""A group may take what its pods may, but not so long that the process looks stuck."""

FREE_SHARE = 0.25
"""An attempt that takes more than this part of its limit costs the pod a pause"""
PAUSE_TIMES = 100.0
"""of so many times what it took beyond, so that others have nearly all of the time whatever may help it."""


def group_seconds(seconds: float, pods: int) -> float:
    """Return what an attempt of so many pods together may take, given what that of one may; 0 = no limit."""
    return min(seconds * pods, max(seconds, MAX_GROUP_SECONDS))


@dataclass(slots=True)
class AttemptBudget:
    """Implements ``Progress`` for the cycle of one pod or group. Made and checked by the deciding thread.

    Processor time counts, not wall-clock time: a paused process, a slow extender and other threads are
    not the pod's fault.

    Attributes:
        seconds: How much may be spent; 0 = without limit.
        plugin: Which plugin runs, "" for none.
        extension_point: Where it runs.
        answered_by: Afterwards ``cache``, or ``full`` with the reason in brackets.
    """

    seconds: float
    plugin: str = ""
    extension_point: str = ""
    answered_by: str = ""
    now: Callable[[], float] = time.thread_time
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = self.now() + self.seconds if self.seconds else float("inf")

    def pause(self) -> float:
        """Seconds for which the pod should not be tried again, for what was spent until now."""
        spent = self.now() - (self._ends - self.seconds)
        return PAUSE_TIMES * max(0.0, spent - FREE_SHARE * self.seconds) if self.seconds else 0.0

    def check(self) -> None:
        """Go on only while there is something left.

        Raises:
            DeadlineExceededError: All is spent; it names the plugin that runs.
        """
        if self.now() >= self._ends:
            where = f"plugin {self.plugin} at {self.extension_point}" if self.plugin else "mooring itself"
            raise DeadlineExceededError(
                f"the attempt took more than {self.seconds:g} s of processor time and was ended in {where}, "
                "so that other pods go on; look at what the pod asks for, or see "
                "--pod-max-scheduling-duration",
                plugin=self.plugin,
                extension_point=self.extension_point,
            )
