"""A gated pod waits. Mirrors ``plugins/schedulinggates/scheduling_gates.go``."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import SUCCESS, HintedEvent, Part, Pod, PreEnqueuePlugin, Status
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.upstream import Upstream
from mooring.plugins.scheduling_gates.hints import events


class SchedulingGates(PreEnqueuePlugin[None], CacheablePlugin):
    """Holds a pod back until ``spec.schedulingGates`` is empty."""

    name = "SchedulingGates"
    upstream = Upstream()
    aspects = Aspect.NONE

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version)

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=bool(pod.spec.scheduling_gates), parts=Part.NONE)

    def pre_enqueue(self, pod: Pod) -> Status:
        if not pod.spec.scheduling_gates:
            return SUCCESS
        gates = " ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Status.unresolvable(f"waiting for scheduling gates: [{gates}]")
