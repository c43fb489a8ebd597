"""The pods that wait for a node, and when each is tried again. Mirrors ``backend/queue``."""

from mooring.scheduler.queue.backoff import BackoffTimes
from mooring.scheduler.queue.hints import QueueingRules, rules_of
from mooring.scheduler.queue.pre_enqueue import Gate
from mooring.scheduler.queue.queued_pod import QueuedPod, Rejection
from mooring.scheduler.queue.scheduling_queue import SchedulingQueue

__all__ = [
    "BackoffTimes",
    "Gate",
    "QueuedPod",
    "QueueingRules",
    "Rejection",
    "SchedulingQueue",
    "rules_of",
]
