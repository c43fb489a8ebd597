"""Sessions over the live state: work trees of it, with engines like its own."""

from __future__ import annotations

from mooring.app.engine import Core
from mooring.app.options import EngineOptions
from mooring.cluster.binding import LocalBinder
from mooring.cluster.work_tree import WorkTree
from mooring.runtime.assembly import build_engine
from mooring.sessions.versions import Version
from mooring.sessions.work_trees import Work


class LiveState:
    """Implements ``mooring.sessions.work_trees.Live``.

    Args:
        core: The engine whose state it is.
        options: What that engine follows.
        changes: How many changes of the state are noted at least, all the time; 0 = only while there are
            sessions.
    """

    def __init__(self, core: Core, options: EngineOptions, changes: int = 0) -> None:
        self._core = core
        self._options = options
        self._keeps = changes > 0
        if self._keeps:
            with core.state.lock:
                core.state.journal(changes)

    @property
    def configuration(self) -> str:
        """The hash of the configuration in force."""
        return self._core.engine.profiles.configuration

    def now(self) -> Version:
        """Return the version that it is now; its changes are noted from the first call on."""
        state = self._core.state
        with state.lock:
            return Version(state.journal().end, state.version)

    def at(self, version: int) -> Version | None:
        """Return what it was at a version of the state; None when that is too long ago."""
        state = self._core.state
        with state.lock:
            position = state.journal().position_at(version)
        return None if position is None else Version(position, version)

    def work(self) -> Work:
        """Return a new work tree that is ``now()``; its plugins know no API server."""
        core, options = self._core, self._options
        with core.state.lock:
            tree, version = WorkTree(core.state), self.now()
        engine = build_engine(
            core.configuration,
            core.registry,
            tree,
            LocalBinder(tree),
            kube_version=options.kube_version,
            feature_gates=options.feature_gates,
        )
        return Work(tree, engine, version)

    def rest(self) -> None:
        """Note no changes any more, unless they are noted all the time."""
        if not self._keeps:
            self._core.state.end_journal()
