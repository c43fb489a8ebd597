"""The pods that have a node and are not bound yet, by UID, with a lock for each pod.

No clock ends a reservation. It ends with the binding, with its release, or with the pod; it stays while the
outcome of a binding is unknown.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import repeat
from typing import Any, NamedTuple

from msgspec.structs import replace

from mooring.framework import CycleState, Pod, PreBindPlugin
from mooring.runtime.commit.extension_points import Commit
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.profiles.profile import Enabled, Profile

_STEP = 0.1
"""Seconds between two checks of whether the caller still waits for a pod's lock."""


class Stage(Enum):
    """The stage of a reservation."""

    RESERVED = "reserved"
    """Nothing is under way: Bind or Unreserve will end it."""

    BINDING = "binding"
    """The pod is being bound."""

    UNKNOWN = "unknown"
    """A binding was sent, and it is unknown whether it took effect."""


@dataclass(slots=True, eq=False)
class Reservation:
    """A pod that keeps its place on a node.

    Attributes:
        commit: The pod, the node, the plugins and their cycle state.
        owner: The client that made it; "" = no owner, so any client may end it.
        busy: The plugins whose PreBind has something to do; None = not known yet.
        unknown_since: When the outcome of its binding became unknown, on the monotonic clock.
        batch: The batch that it was reserved in; None = it was reserved by itself.
        created: When it was made, in seconds since the epoch.
    """

    commit: Commit
    stage: Stage = Stage.BINDING
    owner: str = ""
    busy: Sequence[Enabled[PreBindPlugin[Any]]] | None = None
    unknown_since: float = 0.0
    batch: ReservedBatch | None = None
    created: float = field(default_factory=time.time)
    uid: str = field(init=False)

    def __post_init__(self) -> None:
        self.uid = self.commit.pod.metadata.uid

    def entry(self) -> ReservationEntry:
        """Return it as a list has it."""
        commit, meta = self.commit, self.commit.pod.metadata
        pod = self.uid, meta.namespace, meta.name, commit.node_name
        binding = self.stage is not Stage.RESERVED
        return ReservationEntry(*pod, commit.profile.name, self.owner, self.created, binding)

    @property
    def uids(self) -> Sequence[str]:
        """The same, as a ``ReservedBatch`` has it."""
        return (self.uid,)


class ReservationEntry(NamedTuple):
    """A reservation as a list has it: of the pod, its UID, namespace and name."""

    uid: str
    namespace: str
    name: str
    node_name: str
    profile: str
    owner: str
    created: float
    binding: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ReservedBatch:
    """Pods that got their places in one step; one entry per pod.

    Each gets a ``Reservation`` of its own at its first use: to make all takes as long as to decide, and the
    garbage collector would visit each.

    Attributes:
        templates: The pods that the others are copies of, and their profiles.
        indices: The template of each pod.
        node_names: The nodes.
        cycle_states: The notes of the scheduling cycle's plugins; each pod gets a copy.
        owner: As in ``Reservation``.
        created: As in ``Reservation``.
    """

    templates: Sequence[tuple[Pod, Profile]]
    indices: Sequence[int]
    names: Sequence[str]
    uids: Sequence[str]
    node_names: Sequence[str]
    cycle_states: Sequence[CycleState]
    owner: str
    created: float = field(default_factory=time.time)

    def reservation(self, uid: str) -> Reservation:
        """Return that of one pod."""
        at = self.uids.index(uid)
        template, profile = self.templates[self.indices[at]]
        pod = replace(template, metadata=replace(template.metadata, name=self.names[at], uid=uid))
        commit = Commit(profile, self.cycle_states[at], pod, self.node_names[at])
        return Reservation(commit, Stage.RESERVED, self.owner, batch=self, created=self.created)

    def entries(self) -> Iterator[ReservationEntry]:
        """Yield each as a list has it."""
        for index, name, uid, node_name in zip(
            self.indices, self.names, self.uids, self.node_names, strict=True
        ):
            pod, profile = self.templates[index]
            namespace = pod.metadata.namespace
            yield ReservationEntry(uid, namespace, name, node_name, profile.name, self.owner, self.created)


class Reservations:
    """All reservations. Safe from any thread.

    A pod is locked before its reservation is read in order to change it, so that concurrent calls about
    one pod each see what the one before did.
    """

    def __init__(self) -> None:
        self._reservations: dict[str, Reservation | ReservedBatch] = {}
        self._locked: set[str] = set()
        self._lock = threading.Lock()
        self._unlocked = threading.Condition(self._lock)
        self._waiting = 0
        """How many calls wait for a pod's lock: mostly none, and then none is notified."""

    def __len__(self) -> int:
        """Return how many pods have a reservation."""
        return len(self._reservations)

    def __contains__(self, uid: str) -> bool:
        """Return whether the pod with this UID has a reservation."""
        return uid in self._reservations

    def find_reservation(self, uid: str) -> Reservation | None:
        """Return the reservation of the pod with this UID."""
        with self._lock:
            found = self._reservations.get(uid)
            if isinstance(found, ReservedBatch):
                found = self._reservations[uid] = found.reservation(uid)
            return found

    def add_reservation(self, reservation: Reservation) -> None:
        """Store it. The caller has locked the pod."""
        with self._lock:
            self._reservations[reservation.uid] = reservation

    def add_reservations(self, reservations: Sequence[Reservation]) -> None:
        """Store several. The caller has locked their pods."""
        with self._lock:
            self._reservations |= {one.uid: one for one in reservations}

    def add_batch(self, batch: ReservedBatch) -> None:
        """Store the reservations of all its pods, which the caller has locked."""
        with self._lock:
            self._reservations.update(zip(batch.uids, repeat(batch)))

    def remove_reservation(self, reservation: Reservation) -> None:
        """Drop it, since it has ended. The caller has locked the pod."""
        with self._lock:
            self._reservations.pop(reservation.uid, None)

    def count_by_stage(self) -> Counter[Stage]:
        """Return how many reservations are in each stage."""
        with self._lock:
            return Counter(
                Stage.RESERVED if isinstance(found, ReservedBatch) else found.stage
                for found in self._reservations.values()
            )

    def entries(self, owner: str) -> list[ReservationEntry]:
        """Return the reservations of ``owner``, and those without an owner, by UID."""
        with self._lock:
            kept = dict(self._reservations)
        found: list[ReservationEntry] = []
        for one in dict.fromkeys(kept.values()):
            if one.owner not in ("", owner):
                continue
            if isinstance(one, ReservedBatch):
                # Some of them may have ended, or have a reservation of their own by now.
                found += (entry for entry in one.entries() if kept.get(entry.uid) is one)
            else:
                found.append(one.entry())
        return sorted(found)

    def lock_pod(self, uid: str, progress: Progress) -> None:
        """Wait for the pod's lock and take it. Any thread may unlock the pod. Raises DeadlineExceededError if
        the caller no longer waits.
        """
        with self._lock:
            while uid in self._locked:
                self._waiting += 1
                try:
                    self._unlocked.wait(_STEP)
                finally:
                    self._waiting -= 1
                progress.check()
            # A call that was given up must not take effect after the next one of its caller.
            progress.check()
            self._locked.add(uid)

    def try_lock_pod(self, uid: str) -> bool:
        """Lock the pod if it is free; return whether that worked."""
        with self._lock:
            free = uid not in self._locked
            self._locked.add(uid)
            return free

    def try_lock_pods(self, uids: Sequence[str]) -> int:
        """Lock the first of ``uids``, up to one that is locked already; return how many."""
        with self._lock:
            count = len(uids)
            if not self._locked.isdisjoint(uids):
                count = next(at for at, uid in enumerate(uids) if uid in self._locked)
            self._locked.update(uids[:count])
            return count

    def unlock_pods(self, uids: Sequence[str]) -> None:
        """Release the locks of these pods."""
        with self._lock:
            self._locked.difference_update(uids)
            if self._waiting:
                self._unlocked.notify_all()

    def unlock_pod(self, uid: str) -> None:
        """Release the lock of this pod."""
        with self._lock:
            self._locked.discard(uid)
            if self._waiting:
                self._unlocked.notify_all()

    @contextmanager
    def locked_pod(self, uid: str, progress: Progress) -> Iterator[None]:
        """Lock the pod for the block; raises DeadlineExceededError if the caller no longer waits."""
        self.lock_pod(uid, progress)
        try:
            yield
        finally:
            self.unlock_pod(uid)
