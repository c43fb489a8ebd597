"""Checks what a watch can't show: whether the server still answers, and whether an event was lost.

Events do get lost, deletions above all, so kube-scheduler compares its cache as well
(pkg/scheduler/backend/cache/debugger/comparer.go), but only on a signal.
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
    """The server's number of objects at a version, and the reflector's list at that time."""

    reflector: Reflector
    lists: int
    version: int
    objects: int


class Auditor:
    """One thread that makes one small request at a time. Safe from any thread.

    Each request reads the number of objects of a kind, one kind after the other, but at once for kinds whose
    watch was opened since. The answer is compared a while later, when the watch has had time to catch up. Two
    differences in a row mean that an event was lost, or that the known objects are of another history. Now
    and then everything is compared with a fresh list, which finds lost changes as well.

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
        self._watches: dict[Reflector, int] = {}
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
        counts: list[_Count] = []
        doubted: list[Reflector] = []
        while not self._stopping.wait(self._timers.probe):
            try:
                doubted, counts = self._doubt(counts, doubted), []
                if time.monotonic() >= self._compare_at:
                    self._compare_all()
                else:
                    counts = [
                        count for reflector in doubted or self._next() if (count := self._count(reflector))
                    ]
            except (MooringError, GoneError) as error:
                log.debug("no answer: %s", error)
            except Exception:  # the thread must outlive whatever a server can send
                log.exception("can't compare")

    def _doubt(self, counts: Sequence[_Count], doubted: Sequence[Reflector]) -> list[Reflector]:
        """Return the kinds to count again after a wrong count. After the second one in a row all kinds that
        were counted together are listed: one of another history may have as many objects by chance.
        """
        wrong, asked = list(filter(_is_wrong, counts)), [count.reflector for count in counts]
        if not any(count.reflector in doubted for count in wrong):
            return asked if wrong else []
        found = ", ".join(
            f"{count.objects} {count.reflector.resource.plural} at version {count.version}" for count in wrong
        )
        for reflector in asked:
            reflector.relist(f"{found} differ from the known ones")
        return []

    def _next(self) -> list[Reflector]:
        """Return the kinds whose watch was opened since they were counted, else the next one, if any."""
        followed = [reflector for reflector in self._reflectors if reflector.lister.path]
        opened = [each for each in followed if each.watches != self._watches.get(each)]
        self._turn += not opened
        return opened or followed[self._turn % len(followed) :][:1] if followed else []

    def _count(self, reflector: Reflector) -> _Count | None:
        lists, self._watches[reflector] = reflector.lists, reflector.watches
        told = reflector.known.position
        page = reflector.lister.read_page("", 1, self._timers.probe_timeout)
        version = int(page.metadata.resource_version)
        if version < told:
            reflector.doubt(version)
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
    """Return whether the number differs though the watch works and no list came since."""
    reflector = count.reflector
    return (
        reflector.lists == count.lists
        and reflector.synced
        and reflector.disconnected_at is None
        and reflector.known.count_at(count.version) != count.objects
    )
