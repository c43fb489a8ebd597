"""Measurements of the nodes' network, refreshed in the background and never waited for."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from mooring.framework import Clock

REFRESH_SECONDS = 15.0
"""How long after a refresh the next one follows."""

FRESH_SECONDS = 300.0
"""How long the last good values stand when the source fails."""

Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class BandwidthSource(Protocol):
    """Where measurements come from."""

    def measure(self) -> Mapping[str, int]:
        """Bytes by node name, for the nodes that have a measurement.

        Raises:
            Exception: They can't be had now; the text says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class BandwidthFile:
    """A YAML or JSON file of node name to bytes, 0 or more."""

    path: Path

    def measure(self) -> Mapping[str, int]:
        return msgspec.yaml.decode(self.path.read_bytes(), type=dict[str, Bytes])


@dataclass(frozen=True, slots=True)
class NoBandwidth:
    """No source: no node has a measurement."""

    def measure(self) -> Mapping[str, int]:
        return {}


@dataclass
class BandwidthMonitor:
    """The latest good measurements of a source. Safe from any thread.

    A daemon thread refreshes them for as long as the monitor is in use; readers get what is there. Only
    the first read waits for the source, so that the first decision has values.

    Attributes:
        source: Where they come from.
        clock: Tells how old they are.
        logger: Told when the source fails.
        refresh_seconds: Time between refreshes.
        fresh_seconds: Older values are not used.
    """

    source: BandwidthSource
    clock: Clock
    logger: logging.Logger
    refresh_seconds: float = REFRESH_SECONDS
    fresh_seconds: float = FRESH_SECONDS
    _values: Mapping[str, int] = field(default_factory=dict, init=False)
    _measured: float = field(default=float("-inf"), init=False)
    _started: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def latest(self) -> Mapping[str, int]:
        """Bytes by node name; empty when the source has failed for too long."""
        with self._lock:
            if not self._started:
                self._started = True
                self.refresh()
                self._keep_refreshing()
        if self.clock.monotonic() - self._measured > self.fresh_seconds:
            return {}
        return self._values

    def refresh(self) -> None:
        """Ask the source now. When it fails, the last good values stay."""
        try:
            values = self.source.measure()
        except Exception as error:  # noqa: BLE001 - whatever a source fails with, scheduling goes on
            self.logger.warning("error getting node bandwidth measure: %s", error)
            return
        self._values, self._measured = values, self.clock.monotonic()

    def _keep_refreshing(self) -> None:
        stop = threading.Event()
        weakref.finalize(self, stop.set)
        threading.Thread(
            target=_refresh_until, args=(stop, weakref.ref(self)), name="bandwidth", daemon=True
        ).start()


def _refresh_until(stop: threading.Event, reference: weakref.ref[BandwidthMonitor]) -> None:
    """The background thread: ends when nobody uses the monitor any more."""
    monitor = reference()
    while monitor is not None:
        pause = monitor.refresh_seconds
        del monitor
        if stop.wait(pause):
            return
        monitor = reference()
        if monitor is not None:
            monitor.refresh()
