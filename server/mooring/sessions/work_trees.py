"""The few copies of the state that become one version after another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from mooring.framework import Int32s, Int64s
from mooring.framework.errors import FailedPreconditionError
from mooring.framework.objects import Object
from mooring.framework.pod_requests import PodUsage
from mooring.framework.state import ClusterState
from mooring.runtime.answers import Progress
from mooring.runtime.engine import Engine
from mooring.sessions.versions import Policy, Version, way_between

MOST_ENGINES = 8
"""Policies of sessions for which a work tree keeps an engine, with its evaluations."""

WAIT_SECONDS = 0.05
"""Between two looks whether the caller of a call that waits for a work tree is still there."""


class SessionState(ClusterState, Protocol):
    """A private copy of the state that can become any version. For one thread at a time."""

    def follow(self, position: int) -> None:
        """Become what the live state was at ``position`` of its journal. Raises FailedPreconditionError if
        that is too long ago (SESSION_EXPIRED).
        """
        ...

    def redo(self, changes: Sequence[Any]) -> None:
        """Make changes again, over the version in which they were made."""
        ...

    def undo(self, changes: Sequence[Any]) -> None:
        """Take the last changes back."""
        ...

    def take_changes(self) -> Sequence[Any]:
        """Return the changes since the last call; afterwards nothing is assumed."""
        ...

    def apply_changes(self, changes: Sequence[Any]) -> None:
        """Put and remove objects. Raises InvalidArgumentError if one can't be used, or isn't there; some may
        have taken effect.
        """
        ...

    def fuller(self, usage: PodUsage, rows: Int32s, counts: Int64s) -> AbstractContextManager[None]:
        """Show ``rows`` (int32[K]) as if each had ``counts`` (int64[K]) more pods, as far as requests go.

        Nothing may be written in the block.
        """
        ...

    def put_objects(self, objects: Sequence[Object]) -> None:
        """Add objects, or replace those of the same name. Raises InvalidArgumentError if a quantity can't be
        used.
        """
        ...

    def remove_node(self, name: str) -> None:
        """Remove a node that is there; its pods wait for one of that name."""
        ...


class Live(Protocol):
    """The live state, as sessions need it. Safe from any thread."""

    @property
    def configuration(self) -> str:
        """The hash of the configuration in force."""
        ...

    def now(self) -> Version:
        """Return the version that it is now; its changes are noted from the first call on."""
        ...

    def work(self) -> Work:
        """Return a new work tree that is ``now()``."""
        ...

    def policy(
        self,
        kube_version: str,
        feature_gates: Mapping[str, bool],
        source: str,
        base: Policy | None,
        progress: Progress,
    ) -> Policy:
        """Return the settings of a session; empty fields take the value of ``base``, or the one in force.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            InvalidArgumentError: There is no such release, or the configuration's text is too long, or has
                faults, too many profiles, or arguments that are the server's to give.
        """
        ...

    def engine(self, tree: SessionState, policy: Policy) -> Engine:
        """Return an engine over a work tree that decides by ``policy``. Raises InvalidArgumentError if a
        plugin can't be made.
        """
        ...

    def rest(self) -> None:
        """Stop noting changes: no version is in use."""
        ...


@dataclass(slots=True)
class Work:
    """A work tree that is at a version, for the thread that has it.

    Attributes:
        version: Its version at the last ``keep``; later changes are taken back in the end.
        seed: Decides between nodes of equal totals where a call doesn't say.
    """

    tree: SessionState
    engine: Engine
    version: Version
    seed: int = 0
    busy: bool = field(default=False, repr=False)
    _engines: dict[Policy, Engine] = field(default_factory=dict, repr=False)
    _aside: list[Sequence[Any]] = field(default_factory=list, repr=False)

    @contextmanager
    def deciding(self, policy: Policy | None, seed: int, live: Live) -> Iterator[None]:
        """Decide by another policy in the block, over the same tables; None = by the one in force. Raises
        InvalidArgumentError if a plugin can't be made.
        """
        in_force = self.engine
        if policy is not None:
            known = policy in self._engines
            self.engine = self._engines.pop(policy) if known else live.engine(self.tree, policy)
            self._engines[policy] = self.engine
            if len(self._engines) > MOST_ENGINES:
                del self._engines[next(iter(self._engines))]
        self.seed = seed
        try:
            yield
        finally:
            self.engine, self.seed = in_force, 0

    def keep(self) -> Version:
        """Return the version that it is now."""
        for changes in (*self._aside, self.tree.take_changes()):
            self.version = self.version.with_changes(changes)
        self._aside.clear()
        return self.version

    def go_back(self) -> None:
        """Take back what was changed since the last ``keep``."""
        self.drop()
        while self._aside:
            self.tree.undo(self._aside.pop())

    def set_aside(self) -> None:
        """Let ``drop`` leave what was changed up to now."""
        self._aside.append(self.tree.take_changes())

    def drop(self) -> None:
        """Take back what was changed since the last ``keep`` or ``set_aside``."""
        self.tree.undo(self.tree.take_changes())

    def become(self, version: Version) -> None:
        """Go to ``version``. Raises FailedPreconditionError if it began too long ago (SESSION_EXPIRED)."""
        way = way_between(self.version, version)
        for each in way.undone:
            self.tree.undo(each.changes)
            self.version = each.parent or each
        if way.follows:
            self.tree.follow(version.position)
            self.version = Version(version.position, version.live_version)
        for each in way.redone:
            self.tree.redo(each.changes)
            self.version = each
        self.version = version


class WorkTrees:
    """Lends work trees. Thread-safe.

    Args:
        most: How many there may be, 1 or more. More help where versions that began at different times are
            in use at once; a tree takes some 100 bytes a pod and 300 bytes a node.
    """

    def __init__(self, live: Live, most: int = 2) -> None:
        self._live = live
        self._most = most
        self._lock = threading.Condition()
        self._works: list[Work] = []

    @contextmanager
    def at(self, version: Version, progress: Progress) -> Iterator[Work]:
        """Lend the work tree that is nearest to ``version``, at it; waits while others have all of them.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            FailedPreconditionError: The version began too long ago (SESSION_EXPIRED).
        """
        work = self._borrow(version, progress.check)
        try:
            work = self._brought(work, version)
            try:
                yield work
            finally:
                self._take_back(work)
        finally:
            with self._lock:
                work.busy = False
                self._lock.notify()

    def drop(self) -> None:
        """Give back the memory of the trees; one that is lent goes when it is returned."""
        with self._lock:
            self._works.clear()

    def _brought(self, work: Work, version: Version) -> Work:
        """Return ``work`` at ``version``; a new one if it can't get there from its present version."""
        try:
            work.become(version)
        except FailedPreconditionError:
            with self._lock:
                self._remove(work)
                work = self._made()
                work.busy = True
            work.become(version)
        return work

    def _take_back(self, work: Work) -> None:
        """Undo what no version keeps; a tree with which that fails is not lent again."""
        try:
            work.go_back()
        except Exception:
            with self._lock:
                self._remove(work)
            raise

    def _remove(self, work: Work) -> None:
        self._works = [each for each in self._works if each is not work]

    def _borrow(self, version: Version, check: Callable[[], None]) -> Work:
        with self._lock:
            while True:
                self._drop_outdated()
                free = [work for work in self._works if not work.busy]
                near = min(free, key=lambda work: _distance(work.version, version), default=None)
                if near is None and len(self._works) < self._most:
                    near = self._made()
                if near is not None:
                    near.busy = True
                    return near
                self._lock.wait(WAIT_SECONDS)
                check()

    def _drop_outdated(self) -> None:
        """Lend no tree again whose engine decides by a configuration that is no longer in force."""
        now = self._live.configuration
        self._works = [each for each in self._works if each.busy or each.engine.profiles.configuration == now]

    def _made(self) -> Work:
        work = self._live.work()
        self._works.append(work)
        return work


def _distance(here: Version, there: Version) -> int:
    """Return about how many changes lie between two versions."""
    return abs(here.position - there.position) + way_between(here, there).length
