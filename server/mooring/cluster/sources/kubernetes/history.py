"""Detects that etcd went back to an older copy, so that the API server no longer has the observed history."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mooring.cluster.sources.kubernetes.reflector import Reflector

log = logging.getLogger(__name__)


class History:
    """The observations of all kinds of one source. Safe from any thread.

    Attributes:
        reflectors: Follow one kind each.
        doubts: By kind, why the known objects may be of a history that ended; such a kind is compared, or
            listed, before its events count.
        rollbacks: How often etcd went back; a kind that was listed before the last time is listed again.
        went_back: Called with a reason each time.
    """

    def __init__(self) -> None:
        self.reflectors: list[Reflector] = []
        self.doubts: dict[str, str] = {}
        self.rollbacks = 0
        self.went_back: Callable[[str], None] = lambda _: None
        self._lock = threading.Lock()

    @property
    def doubt(self) -> str:
        """Why the known objects may be of a history that ended; "" = it is not."""
        return next(iter(self.doubts.copy().values()), "") if self.doubts else ""

    def roll_back(self, rollbacks: int, why: str) -> None:
        """Have every kind listed again; ``rollbacks`` are those that the caller knows, which may be late."""
        with self._lock:
            if rollbacks != self.rollbacks:
                return
            self.rollbacks += 1
            available = [reflector for reflector in self.reflectors if not reflector.unavailable]
            self.doubts.update((reflector.resource.kind, why) for reflector in available)
        log.error(
            "etcd went back to an older version, such as a restored backup: %s; listing everything again", why
        )
        for reflector in available:
            reflector.interrupt()
        self.went_back(why)
