"""Why a pod came to a place of the queue, as metrics and logs spell it.

Mirrors the labels in ``framework/events.go``.
"""

from __future__ import annotations

from functools import cache

from mooring.framework import ActionType, ClusterEvent, EventResource

ADDED = "UnschedulablePodAdd"
UPDATED = "UnschedulablePodUpdate"
ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POPPED_FROM_BACKOFF = "PopFromBackoffQ"
FORCED = "ForceActivate"
TIMED_OUT = "UnschedulableTimeout"

_RESOURCES = {EventResource.UNSCHEDULED_POD: "UnschedulablePod"}


@cache
def label_of(event: ClusterEvent) -> str:
    """The event as one word, such as ``NodeUpdateNodeTaint``."""
    action = "Update" if event.action is ActionType.UPDATE_OTHER else (event.action.name or "").title()
    return f"{_RESOURCES.get(event.resource, event.resource.value)}{action.replace('_', '')}"
