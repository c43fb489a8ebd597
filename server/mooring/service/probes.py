"""The conditions behind every probe: is the process alive, is it ready, is it draining?"""

from collections.abc import Callable


class Probes:
    """Answers what health listeners ask. Thread-safe, and never waits for a call.

    Args:
        alive: False once only a restart helps.
        ready: Why no decisions can be made yet, as one phrase; "" once they can.

    Attributes:
        draining: Readiness has ended for good.
    """

    def __init__(self, alive: Callable[[], bool], ready: Callable[[], str]) -> None:
        self._alive = alive
        self._ready = ready
        self.draining = False

    def drain(self) -> None:
        """Ends readiness for good."""
        self.draining = True

    def not_alive(self) -> str:
        """Why the process should be restarted; "" if it should not."""
        return "" if self._alive() else "too many workers are stuck in plugins"

    def not_ready(self) -> str:
        """Why no calls should be sent here; "" if they should."""
        if self.draining:
            return "shutting down"
        return self.not_alive() or self._ready()
