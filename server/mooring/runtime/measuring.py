"""Keeps measured values of nodes in the object table, in the background: no decision waits for a source."""

from __future__ import annotations

import logging
import random
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from queue import Empty, SimpleQueue

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.framework import Handle, MeasurementSource
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.node_table import PODS_ROW
from mooring.framework.objects import Measurement, ObjectMeta
from mooring.framework.objects.measurement import MeasuredValue
from mooring.kernels.arrays import Int64s
from mooring.runtime.profiles.profile import Profile

log = logging.getLogger("mooring.measurements")

FIRST_SECONDS = 1.0
"""How long a start waits for the first values of its sources together."""

MAX_BACKOFF = 8
"""After failures, the pause is at most this many intervals."""

JITTER = 0.1
"""The share of a pause by which it is longer or shorter, so that processes don't ask at the same time."""

_random = random.Random()  # noqa: S311 - no secret
"""A state of its own: threads draw from it at any time, and others may count on theirs."""

Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeasurementStatus:
    """The status of one source.

    Attributes:
        age: Seconds since the values in use were measured; None = there are none.
        duration: Seconds that the last call took.
        failures: How many calls failed.
    """

    name: str
    age: float | None
    duration: float
    failures: int


class Measuring:
    """The sources that the profiles in force name, each with a thread. Safe from any thread.

    Args:
        handle: Shows the values to decisions, and has clock, pods and the count of events.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._wanted: Mapping[str, tuple[str, MeasurementSource]] = {}
        self._fillers: dict[str, Filler] = {}
        self._running = False

    def follow(self, profiles: Iterable[Profile]) -> None:
        """Keep the values that plugins of ``profiles`` name, and no others, once ``start`` was called. Raises
        InvalidArgumentError if a source has faults, or two that differ have one name.
        """
        wanted = sources_of(profiles)
        with self._lock:
            self._wanted = wanted
            if self._running:
                self._adapt()

    def start(self) -> None:
        """Begin to call the sources, unless they were stopped; the first values are waited for a moment.

        Call it when the state is complete: pods that come later count as too new to be measured.
        """
        with self._lock:
            self._running = True
            self._adapt()

    def stop(self) -> None:
        """Stop all sources."""
        with self._lock:
            self._wanted = {}
            self._adapt()

    def read_files(self) -> None:
        """Read the sources that are files once, for a process that does not run for long."""
        for plugin, source in self._wanted.values():
            if source.of_file:
                Filler(source, plugin, self._handle).refresh()

    def describe(self) -> Sequence[MeasurementStatus]:
        """Return the status of each source."""
        return [filler.status() for filler in tuple(self._fillers.values())]

    def _adapt(self) -> None:
        """Stop the sources that no plugin names, and start those that one does. The caller holds the lock."""
        for name, filler in tuple(self._fillers.items()):
            if name not in self._wanted or filler.source != self._wanted[name][1]:
                self._fillers.pop(name).stop()
        begun = []
        for name, (plugin, source) in self._wanted.items():
            if name not in self._fillers:
                filler = self._fillers[name] = Filler(source, plugin, self._handle)
                filler.start()
                begun.append(filler)
        end = self._handle.clock.monotonic() + FIRST_SECONDS
        for filler in begun:
            filler.tried.wait(max(0.0, end - self._handle.clock.monotonic()))


def sources_of(profiles: Iterable[Profile]) -> dict[str, tuple[str, MeasurementSource]]:
    """Return the sources that plugins of ``profiles`` name, by name, each with the first such plugin. Raises
    InvalidArgumentError if a source has faults, or two that differ have one name.
    """
    found: dict[str, tuple[str, MeasurementSource]] = {}
    faults: list[FieldError] = []
    for profile in profiles:
        for plugin, each in profile.plugins.items():
            for source in each.measures():
                where = f"profile {profile.name!r}: measurement {source.name!r} of {plugin}"
                faults += [FieldError(f"{where}: {fault.path}", fault.message) for fault in source.faults()]
                first, known = found.setdefault(source.name, (plugin, source))
                if known != source:
                    faults.append(FieldError(where, f"differs from that of {first}; give it another name"))
    InvalidArgumentError.raise_if_any(faults)
    return found


@dataclass(slots=True, eq=False)
class Filler:
    """Calls one source again and again, and shows its last good values while they are recent enough.

    Attributes:
        plugin: The plugin in the metric of events.
        handle: As in ``Measuring``.
        tried: Set once the source was called.
    """

    source: MeasurementSource
    plugin: str
    handle: Handle
    tried: threading.Event = field(default_factory=threading.Event, init=False)
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)
    _shown_at: float | None = field(default=None, init=False)
    _duration: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)
    _failed_in_a_row: int = field(default=0, init=False)
    _call: threading.Thread | None = field(default=None, init=False)
    _recent: RecentPods = field(init=False)

    def __post_init__(self) -> None:
        self._recent = RecentPods(self.source.window.total_seconds())

    def start(self) -> None:
        """Begin in a thread of its own."""
        threading.Thread(target=self._run, name=f"measuring {self.source.name}", daemon=True).start()

    def stop(self) -> None:
        """Call the source no more, and take its values back."""
        self._stopping.set()
        with self.handle.assumptions.lock:
            self._forget()

    def status(self) -> MeasurementStatus:
        """Return the status of the source."""
        shown_at = self._shown_at
        age = None if shown_at is None else self.handle.clock.monotonic() - shown_at
        return MeasurementStatus(self.source.name, age, self._duration, self._failures)

    def refresh(self) -> None:
        """Call the source now. One thread at a time."""
        clock, began = self.handle.clock, self.handle.clock.monotonic()
        # Before the source is called: a pod that comes meanwhile may be missing in its values.
        names, counts = self._pods()
        try:
            values = self._measure()
        except Exception as error:  # noqa: BLE001 - whatever a source fails with, scheduling goes on
            self._failed(error)
        else:
            self._show(values, names, counts, began)
        self._duration = clock.monotonic() - began
        self.tried.set()

    def expire(self) -> None:
        """Take the values back if they are too old."""
        with self.handle.assumptions.lock:
            if self._shown_at is None or self._left() > 0:
                return
            self._forget()
        self.handle.count(self.plugin, "expired")
        log.warning(
            "measurement %r: its values are older than %s, rules read None from now on",
            self.source.name,
            self.source.max_age,
        )

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.refresh()
            pause = self._pause()
            left = self._left()
            if 0 < left < pause:
                self._stopping.wait(left)
                pause -= left
            self.expire()
            self._stopping.wait(pause)

    def _pause(self) -> float:
        backoff = min(1 << self._failed_in_a_row, MAX_BACKOFF)
        jitter = 1 + _random.uniform(-JITTER, JITTER)
        return self.source.interval.total_seconds() * backoff * jitter

    def _left(self) -> float:
        """Return for how many seconds the values may still be used; 0 or less = there are none."""
        if self._shown_at is None:
            return 0.0
        return self._shown_at + self.source.max_age.total_seconds() - self.handle.clock.monotonic()

    def _pods(self) -> tuple[Sequence[str], Int64s]:
        """Return the name of each row's node, and int64[capacity], the pods on it."""
        if not self.source.window:
            return (), np.zeros(0, np.int64)
        with self.handle.assumptions.lock:
            nodes = self.handle.snapshot().nodes
            return tuple(nodes.names), nodes.requested[PODS_ROW].copy()

    def _measure(self) -> dict[str, int]:
        """Call the source in a thread that may be left behind; TimeoutError if it takes too long."""
        seconds = self.source.timeout.total_seconds()
        if self._call is not None and self._call.is_alive():
            raise TimeoutError("the call before this one has not ended")
        answers: SimpleQueue[Mapping[str, int] | Exception] = SimpleQueue()

        def call() -> None:
            try:
                answers.put(self.source.measure())
            except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
                answers.put(error)

        self._call = threading.Thread(target=call, name=f"measure {self.source.name}", daemon=True)
        self._call.start()
        with suppress(Empty):
            answer = answers.get(timeout=seconds)
            if isinstance(answer, Exception):
                raise answer
            return msgspec.convert(dict(answer), dict[str, MeasuredValue])
        raise TimeoutError(f"no answer within {seconds:g} s")

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self._failed_in_a_row += 1
        self.handle.count(self.plugin, "refresh_failed")
        # Once for each outage.
        level = logging.WARNING if self._failed_in_a_row == 1 else logging.DEBUG
        text = (
            "error getting measurement %r: %s. Its last values count until they are %s old; check its source"
        )
        log.log(level, text, self.source.name, error, self.source.max_age)

    def _show(self, values: dict[str, int], names: Sequence[str], counts: Int64s, began: float) -> None:
        highest = max(values.values(), default=0)
        window = self.source.window
        lacking = self._recent.lacking(began, counts) if window else counts
        measurement = Measurement(
            metadata=ObjectMeta(name=self.source.name),
            values=values,
            unmeasured=highest if self.source.unmeasured_as_highest else None,
            per_pod=sum(values.values()) / max(1, int(counts.sum())) if window else 0.0,
            pods={
                name: (count, missing)
                for name, count, missing in zip(names, counts.tolist(), lacking.tolist(), strict=False)
                if name and (count or missing)
            },
        )
        with self.handle.assumptions.lock:
            if self._stopping.is_set():
                return
            self.handle.assumptions.assume_object(measurement)
            self._shown_at = began
        if self._failed_in_a_row:
            log.info("measurement %r is back", self.source.name)
        self._failed_in_a_row = 0
        self.handle.count(self.plugin, "refreshed")

    def _forget(self) -> None:
        self._shown_at = None
        self.handle.assumptions.forget_object(Measurement, self.source.name)


@dataclass(slots=True)
class RecentPods:
    """How many pods each node had when its values were measured last. For one thread.

    Attributes:
        window: Seconds over which values are averaged.
    """

    window: float
    _counts: deque[tuple[float, Int64s]] = field(default_factory=deque, init=False)

    def lacking(self, now: float, counts: Int64s) -> Float64s:
        """float64[capacity]: how many of the pods on each row the values of ``now`` lack.

        A pod that came half the window ago is half in them. Remembers ``counts``, int64[capacity], the pods
        on each row.
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
