"""A gated pod waits. Mirrors ``plugins/schedulinggates/scheduling_gates.go``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mooring.framework import SUCCESS, HintedEvent, Part, Pod, PreEnqueuePlugin, Status
from mooring.framework.internal import SignedByShape
from mooring.framework.upstream import Upstream
from mooring.plugins.scheduling_gates.hints import events


class SchedulingGates(PreEnqueuePlugin[None], SignedByShape):
    """Holds a pod back until ``spec.schedulingGates`` is empty."""

    name = "SchedulingGates"
    upstream = Upstream()

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version)

    def signature(self, pod: Pod) -> Hashable:
        return bool(pod.spec.scheduling_gates)

    def depends_on(self, pod: Pod) -> Part:
        return Part.NONE

    def pre_enqueue(self, pod: Pod) -> Status:
        if not pod.spec.scheduling_gates:
            return SUCCESS
        gates = " ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Status.unresolvable(f"waiting for scheduling gates: [{gates}]")
