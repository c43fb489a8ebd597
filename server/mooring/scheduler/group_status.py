"""The scheduling condition in a pod group's status: PodGroupInitiallyScheduled.

Mirrors ``updatePodGroupCondition`` in ``schedule_one_podgroup.go``.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from mooring.framework import Clock, ClusterApi, ObjectReference, Status
from mooring.framework.errors import AbortedError
from mooring.framework.objects import Condition, PodGroup
from mooring.scheduler.messages import CONDITION_LIMIT, seconds_time, shortened
from mooring.scheduler.pod_status import SCHEDULER_ERROR, UNSCHEDULABLE, failures_told

log = logging.getLogger(__name__)

CONDITION = "PodGroupInitiallyScheduled"
SCHEDULED = "Scheduled"

MAX_TRIES = 4
"""Attempts to write a condition while others write the same group's status."""


def condition_of(status: Status) -> Condition:
    """Return what the group's condition says after an attempt that ended like this."""
    message = shortened(status.message, CONDITION_LIMIT)
    if status.ok:
        return Condition(CONDITION, "True", SCHEDULED, message)
    return Condition(CONDITION, "False", UNSCHEDULABLE if status.rejected else SCHEDULER_ERROR, message)


class GroupStatusWriter:
    """Writes the conditions of groups in the background, in their order. Safe from any thread."""

    def __init__(self, cluster: ClusterApi, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="group-status")

    def stop(self, timeout: float) -> None:
        """Write what waits, for at most ``timeout`` seconds; drop the rest.

        Nobody else would ever write it: a group that is bound is not tried again.
        """
        with suppress(TimeoutError):
            self._writer.submit(lambda: None).result(timeout)
        self._writer.shutdown(wait=True, cancel_futures=True)

    def attempted(self, group: PodGroup, status: Status) -> None:
        """Say how the group's attempt ended; of one that was scheduled before, nothing worse."""
        self._writer.submit(self._write_or_tell, group, condition_of(status))

    def _write_or_tell(self, group: PodGroup, wanted: Condition) -> None:
        meta = group.metadata
        name = f"{meta.namespace}/{meta.name}"
        with failures_told(log, f"pod group {name}"):
            self._write(group, wanted)

    def _write(self, group: PodGroup, wanted: Condition) -> None:
        meta = group.metadata
        for left in reversed(range(MAX_TRIES)):
            found = self._cluster.read(ObjectReference("PodGroup", meta.namespace, meta.name))
            if found is None or found["metadata"]["uid"] != meta.uid:
                return
            conditions = changed_conditions(found, wanted, self._clock.now())
            if conditions is None:
                return
            # Others' conditions are in the same list: it is written as it was read, or not at all.
            version = found["metadata"]["resourceVersion"]
            target = ObjectReference("PodGroup", meta.namespace, meta.name, meta.uid, version)
            try:
                self._cluster.patch(target, {"status": {"conditions": conditions}}, subresource="status")
            except AbortedError:
                if not left:
                    raise
            else:
                return


def changed_conditions(group: dict[str, Any], wanted: Condition, now: float) -> list[dict[str, Any]] | None:
    """Return the conditions of ``group``, as the API spells it, with ``wanted``; None when nothing changes.

    A group that was scheduled once stays so, whatever becomes of pods that came later.
    """
    conditions: list[dict[str, Any]] = list(group.get("status", {}).get("conditions") or ())
    at = next((at for at, entry in enumerate(conditions) if entry["type"] == wanted.type), None)
    known = {} if at is None else conditions[at]
    if known.get("status") == "True" and wanted.status != "True":
        return None
    written = {
        "type": wanted.type,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
        "observedGeneration": group["metadata"].get("generation", 0),
        "lastTransitionTime": known.get("lastTransitionTime", ""),
    }
    if known == written:
        return None
    if known.get("status") != wanted.status:
        written["lastTransitionTime"] = seconds_time(now)
    if at is None:
        return [*conditions, written]
    return [*conditions[:at], written, *conditions[at + 1 :]]
