"""The pods and groups that wait for a node, and when each is tried again. Mirrors ``backend/queue``."""

from mooring.scheduler.queue.backoff import BackoffTimes
from mooring.scheduler.queue.gathering import GROUPS_GATE
from mooring.scheduler.queue.hints import QueueingRules, rules_of
from mooring.scheduler.queue.pre_enqueue import Gate
from mooring.scheduler.queue.queued_group import QueuedGroup
from mooring.scheduler.queue.queued_pod import QueuedEntity, QueuedPod, Rejection
from mooring.scheduler.queue.scheduling_queue import SchedulingQueue

__all__ = [
    "GROUPS_GATE",
    "BackoffTimes",
    "Gate",
    "QueuedEntity",
    "QueuedGroup",
    "QueuedPod",
    "QueueingRules",
    "Rejection",
    "SchedulingQueue",
    "rules_of",
]
