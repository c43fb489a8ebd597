"""Writes the binding. Mirrors ``plugins/defaultbinder/default_binder.go``."""

from __future__ import annotations

from mooring.framework import SUCCESS, BindOutcome, BindPlugin, CycleState, Pod, Status
from mooring.framework.upstream import Upstream


class DefaultBinder(BindPlugin[None]):
    """Binds through the handle's binder, which knows whether there is an API server; its errors pass."""

    name = "DefaultBinder"
    upstream = Upstream()

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self.handle.logger.debug("binding pod %s to node %s", pod.key, node_name)
        state.write(BindOutcome, self.handle.binder.bind(pod, node_name))
        return SUCCESS
