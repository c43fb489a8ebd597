"""Whether the API server still tells the history that was observed, or etcd went back to an older copy."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mooring.cluster.sources.kubernetes.reflector import Reflector

log = logging.getLogger(__name__)


class History:
    """What the kinds of one source believe together. Safe from any thread.

    Attributes:
        reflectors: Follow one kind each.
        rollbacks: How often etcd went back; a kind that was listed before the last time is listed again.
        went_back: Called with a reason each time.
    """

    def __init__(self) -> None:
        self.reflectors: list[Reflector] = []
        self.rollbacks = 0
        self.went_back: Callable[[str], None] = lambda _: None
        self._doubts: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def doubt(self) -> str:
        """Why what is known may be of a history that ended; "" = it is not."""
        return next(iter(self._doubts.copy().values()), "") if self._doubts else ""

    def doubts(self, kind: str) -> bool:
        """Return whether the kind has to be compared, or listed, before its events count."""
        return kind in self._doubts

    def doubt_kind(self, kind: str, why: str) -> None:
        """Note that an answer about the kind contradicts what was observed of it."""
        if not self._doubts:
            log.warning("%s: %s", kind, why)
        self._doubts[kind] = why

    def trust_kind(self, kind: str) -> None:
        """Note that what is known of the kind is of the history that the API server tells."""
        self._doubts.pop(kind, None)

    def roll_back(self, rollbacks: int, why: str) -> None:
        """Have every kind listed again; ``rollbacks`` are those that the caller knows of, who may be late."""
        with self._lock:
            if rollbacks != self.rollbacks:
                return
            self.rollbacks += 1
            available = [reflector for reflector in self.reflectors if not reflector.unavailable]
            self._doubts.update((reflector.resource.kind, why) for reflector in available)
        log.error("etcd went back, as by being restored from a backup: %s; everything is listed again", why)
        for reflector in available:
            reflector.interrupt()
        self.went_back(why)
