"""Writes the binding. Mirrors ``plugins/defaultbinder/default_binder.go``."""

from __future__ import annotations

import logging

from mooring.framework import SUCCESS, BindOutcome, BindPlugin, CycleState, Pod, Status
from mooring.framework.handle import BindingEnded, SendingBinder, as_sending
from mooring.framework.upstream import Upstream


class DefaultBinder(BindPlugin[None], SendingBinder):
    """Binds through the handle's binder, which knows whether there is an API server; its errors pass."""

    name = "DefaultBinder"
    upstream = Upstream()

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self._log(pod, node_name)
        state.write(BindOutcome, self.handle.binder.bind(pod, node_name))
        return SUCCESS

    def begin_bind(self, pod: Pod, node_name: str, ended: BindingEnded) -> bool:
        self._log(pod, node_name)
        binder = as_sending(self.handle.binder)
        return binder is not None and binder.begin_bind(pod, node_name, ended)

    def _log(self, pod: Pod, node_name: str) -> None:
        logger = self.handle.logger
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("binding pod %s to node %s", pod.key, node_name)
