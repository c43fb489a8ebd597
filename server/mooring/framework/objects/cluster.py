"""v1.Namespace and scheduling.k8s.io PriorityClass."""

from __future__ import annotations

from mooring.framework.objects.meta import Int32, Object, ObjectMeta


class Namespace(Object, frozen=True):
    """A namespace; its labels are what namespace selectors read."""

    metadata: ObjectMeta = ObjectMeta()


class PriorityClass(Object, frozen=True):
    """The priority of pods with this ``priorityClassName``."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None
