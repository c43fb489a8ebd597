"""Sessions: versions that a client works on, for as long as it uses them."""

from __future__ import annotations

import logging
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from mooring.framework.errors import (
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
)
from mooring.runtime.answers import Progress
from mooring.serving.shares import Shares, level_of
from mooring.sessions.blame import OtherRules, other_rules
from mooring.sessions.versions import CHANGE_BYTES, Policy, Version
from mooring.sessions.work_trees import Live, Work, WorkTrees

log = logging.getLogger(__name__)

LEASE_SECONDS = 60.0
"""How long a session lives after its last call, unless its caller wants another time,"""
MAX_LEASE_SECONDS = 600.0
"""and at most."""

_REAP_SECONDS = 1.0

OBJECT_BYTES = 8
"""The approximate most bytes in memory for a byte of an object in a change."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of sessions; clients share ``sessions`` and ``size`` (``Shares``).

    Attributes:
        sessions: How many there may be.
        changes: How many changes a session may have since the live state.
        size: Bytes that the changes and the policies of all sessions together may take.
        depth: How many sessions may have been opened from each other, and how many marks one may have.
    """

    sessions: int = 16_384
    changes: int = 500_000
    size: int = 1 << 30
    depth: int = 64


@dataclass(slots=True, eq=False)
class Session:
    """One session. Its version changes with the lock held.

    Attributes:
        id: Its name, which can't be guessed.
        owner: The client that may use it, "" = any.
        seed: Decides between nodes of equal totals where a call doesn't say.
        policy: The settings by which it decides; None = those in force.
        lease: Seconds that it lives after a call.
        version: The version that its next call finds.
        depth: How many sessions it was opened from, each from the next.
        marks: The versions to which it can go back, the oldest first.
        expires: When it ends, in seconds of ``time.monotonic``.
    """

    id: str
    owner: str
    seed: int
    lease: float
    version: Version
    client: Hashable = None
    policy: Policy | None = None
    depth: int = 0
    marks: list[Version] = field(default_factory=list)
    expires: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    opened: Version = field(init=False)
    """The version with which it was opened; others may share it."""

    def __post_init__(self) -> None:
        self.opened = self.version

    def renew(self) -> None:
        """Let its lease begin again."""
        self.expires = time.monotonic() + self.lease


class Sessions:
    """All sessions of a process. Thread-safe."""

    def __init__(self, live: Live, quota: Quota | None = None, most_trees: int = 2) -> None:
        self.quota = quota or Quota()
        self._live = live
        self._trees = WorkTrees(live, most_trees)
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._count = Shares("sessions", self.quota.sessions)
        self._bytes = Shares("bytes of sessions", self.quota.size)
        self.shares = (self._count, self._bytes)
        self._freed: deque[tuple[Hashable, int]] = deque()
        """The bytes of dropped versions and policies that are not given back yet."""
        self._asking = 0
        self._reaping = False

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sessions)

    @property
    def size(self) -> int:
        """Bytes that their changes and policies take."""
        with self._lock:
            self._give_back()
            return self._bytes.taken

    def policy(
        self,
        progress: Progress,
        kube_version: str = "",
        feature_gates: Mapping[str, bool] | None = None,
        source: str = "",
        origin: Session | None = None,
    ) -> Policy | None:
        """Return the settings of a session opened from ``origin``; None = those in force.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            InvalidArgumentError: There is no such release, or the configuration's text has faults.
        """
        base = origin.policy if origin is not None else None
        if not (kube_version or feature_gates or source):
            return base
        return self._live.policy(kube_version, feature_gates or {}, source, base, progress)

    def open(
        self,
        owner: str = "",
        *,
        client: Hashable = None,
        origin: Session | None = None,
        policy: Policy | None = None,
        seed: int = 0,
        lease: float = LEASE_SECONDS,
    ) -> Session:
        """Begin one with the current live state, or with another session's current version.

        When there are as many as may be, it takes the place of the one that the client with most of them
        opened first, if that client has more than this one would have.

        Args:
            owner: The client that may use it, "" = any.
            client: Whose share it takes.
            origin: The other session; None = none.
            policy: The settings by which it decides; None = those in force.
            seed: As in ``Session``.
            lease: As in ``Session``; 0 or less is the default.

        Raises:
            FailedPreconditionError: There are too many, or too many opened from each other (SESSION_QUOTA).
        """
        depth = origin.depth + 1 if origin is not None else 0
        if depth > self.quota.depth:
            raise FailedPreconditionError(
                f"{depth} sessions were opened from each other; {self.quota.depth} may be",
                reason="SESSION_QUOTA",
            )
        with self._lock:
            self._require_place(client)
            if policy is not None and (origin is None or policy is not origin.policy):
                self._charge(client, policy, policy.size)
            version = origin.version if origin is not None else self._live.now()
            session = Session(
                secrets.token_urlsafe(16), owner, seed, _lease(lease), version, client, policy, depth
            )
            session.renew()
            self._sessions[session.id] = session
            self._count.take(client)
            self._begin_to_reap()
        return session

    def find(self, session_id: str, owner: str = "") -> Session:
        """Return the session, whose lease begins again.

        Raises:
            NotFoundError: There is none, or its lease has ended (SESSION_NOT_FOUND).
            PermissionDeniedError: It belongs to another client.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise NotFoundError(
                "there is no such session; its lease may have ended: open another one",
                reason="SESSION_NOT_FOUND",
            )
        if session.owner not in ("", owner):
            raise PermissionDeniedError("the session belongs to another client")
        session.renew()
        return session

    def close(self, session: Session) -> None:
        """End a session; sessions that were opened from it go on."""
        with self._lock:
            self._forget(session)

    def other_rules(
        self, kube_version: str, gates: Mapping[str, bool], work: Work, progress: Progress
    ) -> list[OtherRules]:
        """As the function of that name."""
        return other_rules(self._live, work, kube_version, gates, progress)

    @contextmanager
    def asking(self, progress: Progress) -> Iterator[Work]:
        """Work on the live state as it is now, without a session; otherwise as ``trying``."""
        with self._lock:
            self._asking += 1
            version = self._live.now()
            self._begin_to_reap()
        try:
            with self._lent(version, None, 0, progress) as work:
                yield work
        finally:
            with self._lock:
                self._asking -= 1

    @contextmanager
    def working(self, session: Session, progress: Progress, brought: int = 0) -> Iterator[Work]:
        """Work on a session: what is changed in the block is its next version, or nothing if it raises.
        ``brought`` counts the bytes of the objects that came with the changes.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            FailedPreconditionError: It began too long ago (SESSION_EXPIRED), or has become too large
                (SESSION_QUOTA); nothing is changed.
        """
        with self._one_at_a_time(session, progress), self.trying(session, progress) as work:
            yield work
            kept = work.keep()
            if kept is not session.version:
                self._check_changes(kept)
                with self._lock:
                    self._charge(session.client, kept, _bytes_since(session.version, kept, brought))
                session.version = kept

    @contextmanager
    def trying(self, session: Session, progress: Progress) -> Iterator[Work]:
        """Work on a session whose version stays; otherwise as ``working``."""
        with self._lent(session.version, session.policy, session.seed, progress) as work:
            yield work

    @contextmanager
    def _lent(self, version: Version, policy: Policy | None, seed: int, progress: Progress) -> Iterator[Work]:
        with self._trees.at(version, progress) as work, work.deciding(policy, seed, self._live):
            yield work

    def mark(self, session: Session) -> int:
        """Remember the version; return how many marks there are. Raises FailedPreconditionError if there are
        too many (SESSION_QUOTA).
        """
        with session.lock:
            if len(session.marks) >= self.quota.depth:
                raise FailedPreconditionError(
                    f"the session has {len(session.marks)} marks, the limit", reason="SESSION_QUOTA"
                )
            session.marks.append(session.version)
            return len(session.marks)

    def revert(self, session: Session, mark: int) -> None:
        """Go back to a mark; it and later ones are dropped. 0 = to the version with which the session was
        opened. Raises NotFoundError if there is no such mark (MARK_NOT_FOUND).
        """
        with session.lock:
            session.version = self._marked(session, mark)
            del session.marks[max(0, mark - 1) :]

    def commit(self, session: Session, mark: int) -> None:
        """Forget a mark and later ones; what was changed since stays. Raises NotFoundError if there is no
        such mark (MARK_NOT_FOUND).
        """
        with session.lock:
            self._marked(session, mark)
            del session.marks[max(0, mark - 1) :]

    def _marked(self, session: Session, mark: int) -> Version:
        if mark == 0:
            return session.opened
        if not 0 < mark <= len(session.marks):
            raise NotFoundError(
                f"the session has {len(session.marks)} marks, no mark {mark}", reason="MARK_NOT_FOUND"
            )
        return session.marks[mark - 1]

    @contextmanager
    def _one_at_a_time(self, session: Session, progress: Progress) -> Iterator[None]:
        while not session.lock.acquire(timeout=0.05):
            progress.check()
        try:
            yield
        finally:
            session.lock.release()

    def _check_changes(self, kept: Version) -> None:
        if kept.change_count > self.quota.changes:
            raise FailedPreconditionError(
                f"the session would have {kept.change_count} changes of at most {self.quota.changes}; "
                "open another one, or make fewer changes",
                reason="SESSION_QUOTA",
            )

    def _require_place(self, client: Hashable) -> None:
        """Make a place for a client's session. The lock is held."""
        count, greediest = self._count, self._count.greediest()
        if count.taken == count.total and count.of(greediest) > count.of(client) + 1:
            self._forget(next(each for each in self._sessions.values() if each.client == greediest))
        if not count.has_room(client):
            count.rejections[level_of(client)] += 1
            raise FailedPreconditionError(
                f"there are {count.taken} sessions of at most {count.total}, {count.of(client)} of them this "
                f"client's, which may have {count.most}; close some, or wait for their leases to end",
                reason="SESSION_QUOTA",
            )

    def _charge(self, client: Hashable, taken: Version | Policy, size: int) -> None:
        """Count bytes for a client until nothing refers to their owner. The lock is held."""
        self._give_back()
        held = self._bytes
        if not held.has_room(client, size):
            held.rejections[level_of(client)] += 1
            raise FailedPreconditionError(
                f"sessions would take {held.taken + size} bytes of at most {held.total}, "
                f"{held.of(client) + size} of them this client's, which may have {held.most}; close some, or "
                "make smaller changes",
                reason="SESSION_QUOTA",
            )
        held.take(client, size)
        weakref.finalize(taken, self._freed.append, (client, size)).atexit = False

    def _give_back(self) -> None:
        """Give back what is gone: that is noted without the lock, since it may be held then."""
        while self._freed:
            client, size = self._freed.popleft()
            self._bytes.take(client, -size)

    def _forget(self, session: Session) -> None:
        if self._sessions.pop(session.id, None) is not None:
            self._count.take(session.client, -1)

    def _begin_to_reap(self) -> None:
        if not self._reaping:
            self._reaping = True
            threading.Thread(target=self._reap, name="session-leases", daemon=True).start()

    def _reap(self) -> None:
        """End sessions whose lease has ended; and once there are none, everything that was kept for them."""
        while True:
            time.sleep(_REAP_SECONDS)
            now = time.monotonic()
            with self._lock:
                for session in [each for each in self._sessions.values() if each.expires <= now]:
                    self._forget(session)
                if not (self._sessions or self._asking):
                    self._trees.drop()
                    self._live.rest()
                    self._reaping = False
                    return


def _lease(seconds: float) -> float:
    return min(seconds, MAX_LEASE_SECONDS) if seconds > 0 else LEASE_SECONDS


def _bytes_since(before: Version, kept: Version, brought: int) -> int:
    """Return what ``kept`` takes that ``before`` doesn't."""
    changes = kept.change_count - before.change_count
    return CHANGE_BYTES * changes + OBJECT_BYTES * brought
