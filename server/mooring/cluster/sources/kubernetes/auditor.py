"""Looks for what watches can't know: whether the server still answers, and whether an event was lost.

Events do get lost, deletions above all, so kube-scheduler compares its cache as well
(pkg/scheduler/backend/cache/debugger/comparer.go), but only when it is told to.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from mooring.cluster.sources.kubernetes.reflector import Reflector
from mooring.cluster.sources.kubernetes.timers import Timers
from mooring.cluster.sources.kubernetes.wire import GoneError, decode_identity
from mooring.framework.errors import MooringError

log = logging.getLogger(__name__)


class _Count(NamedTuple):
    """What the server said: how many objects there were at a version, in which of the reflector's lists."""

    reflector: Reflector
    lists: int
    version: int
    objects: int


class Auditor:
    """One thread that makes one small request at a time. Safe from any thread.

    Each request asks how many objects a kind has, one kind after the other; the answer is compared at the
    next one, when the watch has had time to tell the same. Twice wrong in a row means that an event was lost.
    Now and then everything is compared with a fresh list, which finds lost changes as well.

    Args:
        reflectors: The reflectors to check.
        timers: How often.

    Attributes:
        answered_at: ``time.monotonic`` of the last answer.
    """

    def __init__(self, reflectors: Sequence[Reflector], timers: Timers) -> None:
        self.answered_at = time.monotonic()
        self._reflectors = reflectors
        self._timers = timers
        self._stopping = threading.Event()
        self._turn = 0
        self._compare_at = time.monotonic() + timers.compare
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopping.set()

    def join(self, longest: float) -> None:
        """Wait until it has, but no longer than ``longest`` seconds: a request may hang."""
        self._thread.join(longest)

    def _run(self) -> None:
        count: _Count | None = None
        doubted: Reflector | None = None
        while not self._stopping.wait(self._timers.probe):
            try:
                doubted = self._doubt(count, doubted)
                count = None
                if time.monotonic() >= self._compare_at:
                    self._compare_all()
                else:
                    count = self._count(doubted or self._next())
            except (MooringError, GoneError) as error:
                log.debug("no answer: %s", error)
            except Exception:  # the thread must outlive whatever a server can send
                log.exception("can't compare")

    def _doubt(self, count: _Count | None, doubted: Reflector | None) -> Reflector | None:
        """Return the kind to count again after a wrong count; the second one in a row means a new list."""
        if count is None or not _is_wrong(count):
            return None
        if doubted is not count.reflector:
            return count.reflector
        doubted.relist(f"{count.objects} objects at version {count.version} are not what is known")
        return None

    def _next(self) -> Reflector | None:
        """Return the next kind of those that are followed; None while there is none."""
        followed = [reflector for reflector in self._reflectors if reflector.lister.path]
        self._turn += 1
        return followed[self._turn % len(followed)] if followed else None

    def _count(self, reflector: Reflector | None) -> _Count | None:
        if reflector is None:
            return None
        lists = reflector.lists
        told = reflector.known.position
        page = reflector.lister.read_page("", 1, self._timers.probe_timeout)
        version = int(page.metadata.resource_version)
        if version < told:
            log.warning(
                "the API server is at version %d, behind %d, which was observed before", version, told
            )
            return None
        self.answered_at = time.monotonic()
        objects = len(page.items or ()) + page.metadata.remaining_item_count
        return _Count(reflector, lists, version, objects)

    def _compare_all(self) -> None:
        for reflector in self._reflectors:
            if reflector.synced and reflector.lister.path and not self._stopping.is_set():
                self._compare(reflector)
        self._compare_at = time.monotonic() + self._timers.compare

    def _compare(self, reflector: Reflector) -> None:
        lists, position, listed = reflector.lists, 0, {}
        for page in reflector.lister.read_pages(self._stopping.is_set):
            self.answered_at = time.monotonic()
            position = int(page.metadata.resource_version)
            for data in page.items or ():
                identity = decode_identity(data).metadata
                listed[identity.key] = identity.version
        if self._stopping.wait(self._timers.probe) or reflector.lists != lists:
            return
        difference = reflector.known.first_difference(listed, position)
        if difference:
            reflector.relist(difference)


def _is_wrong(count: _Count) -> bool:
    """Return whether what is known differs, with nothing to excuse it: no list since, and a watch that
    tells.
    """
    reflector = count.reflector
    return (
        reflector.lists == count.lists
        and reflector.synced
        and reflector.disconnected_at is None
        and reflector.known.count_at(count.version) != count.objects
    )
