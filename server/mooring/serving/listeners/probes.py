"""The conditions behind every probe: is the process alive, is it ready, is it draining?"""

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


class Probes:
    """Liveness and readiness for the health listeners. Thread-safe, and never waits for a call.

    A change of liveness is logged once, however many probes see it.

    Args:
        fault: Why only a restart helps, as one phrase; "" while none is needed.
        ready: Why no decisions can be made yet, as one phrase; "" once they can.

    Attributes:
        draining: Readiness has ended for good.
    """

    def __init__(self, fault: Callable[[], str], ready: Callable[[], str]) -> None:
        self._fault = fault
        self._ready = ready
        self._lock = threading.Lock()
        self._alive = True
        self.draining = False

    def drain(self) -> None:
        """End readiness for good."""
        self.draining = True

    def not_alive(self) -> str:
        """Why the process should be restarted; "" if it should not."""
        fault = self._fault()
        with self._lock:
            changed, self._alive = self._alive == bool(fault), not fault
        if changed and fault:
            log.error("liveness fails: %s; restart this process, then mend what it names", fault)
        elif changed:
            log.info("liveness is back")
        return fault

    def not_ready(self) -> str:
        """Why no calls should be sent here; "" if they should."""
        if self.draining:
            return "shutting down"
        return self.not_alive() or self._ready()
