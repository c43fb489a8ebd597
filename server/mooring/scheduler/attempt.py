"""One attempt to schedule a pod or a group."""

from __future__ import annotations

import msgspec

from mooring.framework import Pod, PodGroupInfo
from mooring.runtime.profiles.profile import Profile
from mooring.scheduler.budget import AttemptBudget
from mooring.scheduler.queue import QueuedPod


class DecidedGroup(msgspec.Struct, frozen=True):
    """A group that was decided about.

    Attributes:
        info: The group, with its pods that were tried.
        state_version: The version of the state that was evaluated.
    """

    info: PodGroupInfo
    state_version: int


class Attempt(msgspec.Struct, frozen=True):
    """One pod's attempt.

    Attributes:
        item: The pod in the queue.
        profile: The profile by which it is scheduled.
        began: Since when, on the monotonic clock.
        budget: What it may take, and where it is.
        start: The first row of a search that ends before all nodes are evaluated; None = the pod is tried
            with its group.
        group: That group; None also if nothing was decided about it.
    """

    item: QueuedPod
    profile: Profile
    began: float
    budget: AttemptBudget
    start: int | None = None
    group: DecidedGroup | None = None

    @property
    def pod(self) -> Pod:
        """The pod as it was when the attempt began, or ended."""
        return self.item.pod


class Deciding(msgspec.Struct, frozen=True):
    """The current work of the deciding thread.

    Attributes:
        subject: The pod or group, for people.
        budget: What it may take, and where it is.
    """

    subject: str
    budget: AttemptBudget
