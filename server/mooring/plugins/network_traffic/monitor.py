"""Measurements of the nodes' network, refreshed in the background and never waited for.

Pods that came while a rate was averaged are not in it yet, and are added.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from mooring.framework import Handle, Int64s, NodeView
from mooring.framework.node_table import PODS_ROW
from mooring.kernels.arrays import Float64s
from mooring.plugins.network_traffic.sources import BandwidthSource

FIRST_SECONDS = 1.0
"""How long the first decision waits for the first measurement; no later one waits."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurements of one refresh. Immutable.

    Attributes:
        bandwidth: Bytes per second by node name or node address.
        counts: int64[capacity], the pods on each row then.
        missing: float64[capacity], the pods on each row whose traffic ``bandwidth`` lacks.
        at: When, on the monotonic clock.
    """

    bandwidth: Mapping[str, int]
    counts: Int64s
    missing: Float64s
    at: float

    @property
    def busiest(self) -> int:
        """The highest bandwidth of all, 0 when nothing is known."""
        return max(self.bandwidth.values(), default=0)

    @property
    def per_pod(self) -> float:
        """The traffic assumed for a pod without measurements: the mean."""
        return sum(self.bandwidth.values()) / max(1, int(self.counts.sum()))

    def recent(self, nodes: NodeView) -> Int64s:
        """int64[K]: the traffic that is likely to come from pods too new to be measured."""
        since: Float64s = arrived(self.counts, nodes.table.requested[PODS_ROW]).astype(np.float64)
        width = min(len(since), len(self.missing))
        since[:width] += self.missing[:width]
        return np.asarray(nodes.take(since) * self.per_pod, np.int64)


@dataclass
class BandwidthMonitor:
    """The latest good measurement of a source. Safe from any thread.

    A daemon thread refreshes it for as long as the monitor is in use; readers get what is there.

    Attributes:
        source: The source of the measurements.
        handle: Provides clock and pods, and gets the source's failures.
        plugin: The plugin's name in the metric of events.
        window: Seconds over which traffic is averaged.
        refresh_period: Seconds between refreshes.
        max_age: An older measurement is not used, in seconds.
        failure: What the source failed with, "" when it last succeeded.
    """

    source: BandwidthSource
    handle: Handle
    plugin: str
    window: float
    refresh_period: float
    max_age: float
    failure: str = field(default="", init=False)
    _latest: Measurement | None = field(default=None, init=False)
    _tried: threading.Event = field(default_factory=threading.Event, init=False)
    _started: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self._recent = RecentPods(self.window)

    def latest(self) -> Measurement | None:
        """Return the last good measurement; None when there is none, or it is too old."""
        with self._lock:
            if not self._started:
                self._started = True
                self._keep_refreshing()
        self._tried.wait(FIRST_SECONDS)
        found = self._latest
        if found is None or self.handle.clock.monotonic() - found.at > self.max_age:
            return None
        return found

    def refresh(self) -> None:
        """Ask the source now; for one thread. When it fails, the last good measurement stays."""
        began = self.handle.clock.monotonic()
        # Before the source is asked: a pod that comes meanwhile may be missing in its answer.
        counts = self.handle.snapshot().nodes.requested[PODS_ROW].copy()
        try:
            bandwidth = self.source.measure()
        except Exception as error:  # noqa: BLE001 - whatever a source fails with, scheduling goes on
            self.failure = str(error)
            self.handle.count(self.plugin, "refresh_failed")
            self.handle.logger.warning("error getting node bandwidth measure: %s", error)
        else:
            self._latest = Measurement(bandwidth, counts, self._recent.missing(began, counts), began)
            self.failure = ""
            self.handle.count(self.plugin, "refreshed")
        self._tried.set()

    def _keep_refreshing(self) -> None:
        stop = threading.Event()
        weakref.finalize(self, stop.set)
        threading.Thread(
            target=_refresh_until, args=(stop, weakref.ref(self)), name="bandwidth", daemon=True
        ).start()


def _refresh_until(stop: threading.Event, reference: weakref.ref[BandwidthMonitor]) -> None:
    """Run the background thread; it ends once the monitor is no longer used."""
    while (monitor := reference()) is not None:
        monitor.refresh()
        pause = monitor.refresh_period
        del monitor
        if stop.wait(pause):
            return


@dataclass(slots=True)
class RecentPods:
    """How many pods each node had at the refreshes of the last minutes. For one thread.

    Attributes:
        window: Seconds over which traffic is averaged.
    """

    window: float
    _counts: deque[tuple[float, Int64s]] = field(default_factory=deque, init=False)

    def missing(self, now: float, counts: Int64s) -> Float64s:
        """float64[capacity]: the pods on each row whose traffic a measurement of ``now`` lacks.

        A pod that came half the window ago lacks half of its traffic. Remembers ``counts``, int64[capacity],
        the pods on each row.
        """
        while len(self._counts) > 1 and self._counts[1][0] <= now - self.window:
            self._counts.popleft()
        self._counts.append((now, counts))
        total = np.zeros(len(counts), np.float64)
        for (_, before), (at, after) in pairwise(self._counts):
            share = 1 - (now - at) / self.window
            total[: len(after)] += share * arrived(before, after)
        return total


def arrived(before: Int64s, after: Int64s) -> Int64s:
    """int64[capacity]: by how much each row grew; rows that ``before`` lacks had nothing."""
    known = np.zeros(len(after), np.int64)
    width = min(len(before), len(after))
    known[:width] = before[:width]
    grown: Int64s = np.maximum(after - known, 0)
    return grown
