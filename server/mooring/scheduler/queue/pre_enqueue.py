"""Gates: PreEnqueue plugins that keep a pod from being tried at all.

Mirrors ``runPreEnqueuePlugins`` in ``backend/queue/scheduling_queue.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from mooring.framework import Code, Pod, Status
from mooring.framework.errors import MooringError
from mooring.scheduler.queue.queued_pod import QueuedPod

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gate:
    """A PreEnqueue plugin: its name, and a function that says whether a pod may be tried."""

    plugin: str
    ask: Callable[[Pod], Status]


def ask_gates(item: QueuedPod, gates: Sequence[Gate], revision: Hashable = None) -> None:
    """Set which gate holds ``item`` back: the one that did so before is called first.

    A gate that raises holds the pod back. All pods of a group are checked whenever one of them is added, so
    nothing is done while the pod, and the ``revision`` of the gates' inputs, are the same.
    """
    asked, item.asked = item.asked, (item.pod, revision)
    if revision is not None and asked is not None and asked[0] is item.pod and asked[1] == revision:
        return
    for gate in sorted(gates, key=lambda gate: gate.plugin != item.gated_by):
        status = _said(gate, item.pod)
        if not status.ok:
            log.log(logging.INFO - 4, "pod %s is gated by %s: %s", item.pod.key, gate.plugin, status.message)
            item.gated_by = gate.plugin
            item.rejected_by = replace(item.rejected_by, plugins=item.rejected_by.plugins | {gate.plugin})
            return
    item.gated_by = ""


def _said(gate: Gate, pod: Pod) -> Status:
    try:
        status = gate.ask(pod)
    except MooringError as error:
        status = Status.error(error.message)
    if status.code is Code.ERROR:
        log.error("PreEnqueue of plugin %s failed for pod %s: %s", gate.plugin, pod.key, status.message)
    return status
