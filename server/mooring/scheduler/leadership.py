"""Which of several replicas schedules: the one that holds a Lease of coordination.k8s.io.

Mirrors ``k8s.io/client-go/tools/leaderelection``. A Lease is not a lock: a leader that is paused can't
know that another one took over. So it counts only on its own monotonic clock, from the moment at which the
last renewal that succeeded was sent, and stops well before the others may begin.
"""

from __future__ import annotations

import logging
import math
import random
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mooring.framework import Clock
from mooring.framework.errors import AbortedError, MooringError, NotFoundError
from mooring.scheduler.messages import micro_time

log = logging.getLogger(__name__)

JITTER = 1.2
"""Replicas that wait for the lease spread their attempts by up to this share of the retry period."""

Document = dict[str, Any]
"""A Lease as JSON values."""


class LeaseStore(Protocol):
    """One Lease at the API server. Each call blocks until it is answered or times out.

    Every method raises MooringErrors.
    """

    def read_lease(self) -> Document | None:
        """Return the Lease; None when there is none."""
        ...

    def create_lease(self, spec: Document) -> Document:
        """Make the Lease; AbortedError when another client did."""
        ...

    def replace_lease(self, lease: Document) -> Document:
        """Write the Lease; AbortedError when its ``resourceVersion`` has changed."""
        ...


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """In seconds, as ``leaderElection`` of the configuration has them.

    Attributes:
        lease_duration: How long the others wait after the last renewal that they saw.
        renew_deadline: How long the leader leads after its last renewal; shorter than the former.
        retry_period: Between two attempts.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


def new_identity(address: str = "") -> str:
    """Return a name that no other process has. It begins with ``address`` or the host's name."""
    return f"{address or socket.gethostname()}_{uuid.uuid4()}"


class LeaderElection:
    """Takes part in an election; implements ``Leadership``. Safe from any thread. ``lost`` is called once
    when this process has led and no longer does.
    """

    def __init__(
        self,
        store: LeaseStore,
        identity: str,
        times: LeaseTimes,
        clock: Clock,
        lost: Callable[[], None],
    ) -> None:
        self.identity = identity
        self._store = store
        self._times = times
        self._clock = clock
        self._lost = lost
        self._lease: Document | None = None
        self._seen_at = -math.inf
        self._leads_until = -math.inf
        self._has_led = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leader-election", daemon=True)

    def is_leader(self) -> bool:
        return self._clock.monotonic() < self._leads_until

    def leader(self) -> str:
        return _holder(self._lease) if self._lease else ""

    def start(self) -> None:
        """Take part."""
        self._thread.start()

    def stop(self, *, release: bool = True) -> None:
        """Take part no more. With ``release`` the others need not wait for the end of the lease."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if release and self.is_leader() and self._lease is not None:
            self._leads_until = -math.inf
            self._release(self._lease)

    def try_to_lead(self) -> bool:
        """Try once to take or renew the lease; True when this process leads now."""
        sent_at = self._clock.monotonic()
        try:
            held = self._try()
        except MooringError as error:
            log.warning("the lease could not be taken or renewed: %s", error)
            held = False
        except Exception:  # the thread must outlive whatever a server can send
            log.exception("the lease could not be taken or renewed")
            held = False
        if held:
            self._leads_until = sent_at + self._times.renew_deadline
            if not self._has_led:
                self._has_led = True
                log.info("successfully acquired the lease as %s", self.identity)
        return held

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.try_to_lead()
            if self._has_led and not self.is_leader():
                log.error("leaderelection lost")
                self._lost()
                return
            spread = 0.0 if self._has_led else random.uniform(0, JITTER)  # noqa: S311 - a pause
            self._stopping.wait(self._times.retry_period * (1 + spread))

    def _try(self) -> bool:
        if self._lease is not None and _holder(self._lease) == self.identity:
            try:
                self._see(self._store.replace_lease({**self._lease, "spec": self._spec(self._lease)}))
            except (AbortedError, NotFoundError):
                log.warning("lease was updated concurrently; reading it again")
            else:
                return True
        return self._take(self._store.read_lease())

    def _take(self, lease: Document | None) -> bool:
        if lease is None:
            self._see(self._store.create_lease(self._spec(None)))
            return True
        if self._lease is None or _version(lease) != _version(self._lease):
            self._see(lease)
        if _holder(lease) not in ("", self.identity):
            self._leads_until = -math.inf
            if self._clock.monotonic() < self._seen_at + _duration(lease):
                return False
        self._see(self._store.replace_lease({**lease, "spec": self._spec(lease)}))
        return True

    def _see(self, lease: Document) -> None:
        self._lease = lease
        self._seen_at = self._clock.monotonic()

    def _spec(self, lease: Document | None) -> Document:
        """Return what the Lease says once this process holds it."""
        now = micro_time(self._clock.now())
        before: Document = (lease or {}).get("spec") or {}
        renewed = lease is not None and _holder(lease) == self.identity
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            **before,
            "holderIdentity": self.identity,
            # Whole seconds: rounded up, so that no replica comes too early.
            "leaseDurationSeconds": math.ceil(self._times.lease_duration),
            "acquireTime": before.get("acquireTime", now) if renewed else now,
            "renewTime": now,
            "leaseTransitions": transitions if renewed or lease is None else transitions + 1,
        }

    def _release(self, lease: Document) -> None:
        now = micro_time(self._clock.now())
        spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now}
        try:
            self._store.replace_lease({**lease, "spec": spec})
        except MooringError as error:
            log.warning("the lease was not released; others wait for its end: %s", error)


def _holder(lease: Document) -> str:
    return (lease.get("spec") or {}).get("holderIdentity") or ""


def _version(lease: Document) -> str:
    return str(lease["metadata"].get("resourceVersion", ""))


def _duration(lease: Document) -> float:
    return float((lease.get("spec") or {}).get("leaseDurationSeconds") or 0)
