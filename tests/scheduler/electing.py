"""Replicas that elect a leader over one Lease, each with a clock of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from mooring.framework.errors import AbortedError, UnavailableError
from mooring.scheduler.leadership import Document, LeaderElection, LeaseTimes

from .fakes import FakeClock

TIMES = LeaseTimes(lease_duration=15, renew_deadline=10, retry_period=2)


class FakeStore:
    """A Lease with optimistic concurrency, as the API server has it."""

    def __init__(self) -> None:
        self.lease: Document | None = None
        self.fault: Callable[[], None] = lambda: None

    def read_lease(self) -> Document | None:
        self.fault()
        return copy.deepcopy(self.lease)

    def create_lease(self, spec: Document) -> Document:
        self.fault()
        if self.lease is not None:
            raise AbortedError("there is one", reason="OBJECT_CHANGED")
        return self._write({"metadata": {"resourceVersion": "0"}, "spec": spec})

    def replace_lease(self, lease: Document) -> Document:
        self.fault()
        if self.lease is None or lease["metadata"] != self.lease["metadata"]:
            raise AbortedError("it changed", reason="OBJECT_CHANGED")
        return self._write(lease)

    def _write(self, lease: Document) -> Document:
        version = int(lease["metadata"]["resourceVersion"]) + 1
        self.lease = copy.deepcopy({**lease, "metadata": {"resourceVersion": str(version)}})
        return copy.deepcopy(self.lease)

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec


class SkewedClock:
    """Runs at ``rate`` times the true clock, with its date off by ``skew`` seconds."""

    def __init__(self, true: FakeClock, rate: float = 1.0, skew: float = 0.0) -> None:
        self.true, self.rate, self.skew, self.began = true, rate, skew, true.time

    def now(self) -> float:
        return self.true.time + self.skew

    def monotonic(self) -> float:
        return (self.true.time - self.began) * self.rate


def election(store: FakeStore, name: str, clock: FakeClock | SkewedClock) -> LeaderElection:
    return LeaderElection(store, name, TIMES, clock, lambda: None)


def unavailable() -> None:
    raise UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")
