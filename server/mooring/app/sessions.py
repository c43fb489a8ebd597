"""Sessions over the live state: work trees of it, with engines like its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from mooring.app.engine import Core, read_text
from mooring.app.options import EngineOptions
from mooring.cluster.binding import LocalBinder
from mooring.cluster.journal import Entry, happening, subject_of
from mooring.cluster.work_tree import WorkTree
from mooring.config import ConfigError, Configuration, default, from_document
from mooring.config.documents import read_configuration
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.pod_requests import ResourceRules
from mooring.plugins.in_tree import UPSTREAM
from mooring.runtime.answers import Progress
from mooring.runtime.assembly import build_engine
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import RegistryError
from mooring.sessions.versions import Policy, Version
from mooring.sessions.work_trees import SessionState, Work

_RESIZED = "pods that are being resized count as in the server's own release"
"""Which is so because a session shares the server's tables."""

LONGEST_SOURCE = 1 << 16
"""Bytes of a session's configuration, and of the names of its feature gates,"""
MORE_PROFILES = 16
"""and how many more profiles it may have than the server's."""


class LiveState:
    """Implements ``mooring.sessions.work_trees.Live``.

    Args:
        core: The engine whose state it is.
        options: The release and gates of that engine.
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
        return self._core.engine.profiles.configuration

    def now(self) -> Version:
        state = self._core.state
        with state.lock:
            return Version(state.journal().end, state.version)

    def at(self, version: int) -> Version | None:
        """Return what it was at a version of the state; None when that is too long ago."""
        state = self._core.state
        with state.lock:
            position = state.journal().position_at(version)
        return None if position is None else Version(position, version)

    def happened_since(self, version: int) -> Counter[str]:
        state = self._core.state
        with state.lock:
            journal = state.journal()
            position = journal.position_at(version)
            entries = () if position is None else tuple(journal.since(position))
        return Counter(filter(None, map(happening, entries)))

    def changed_between(self, first: int, second: int) -> dict[str, list[Entry]]:
        state, changed = self._core.state, dict[str, list[Entry]]()
        with state.lock:
            journal = state.journal()
            begin, end = journal.position_at(min(first, second)), journal.position_at(max(first, second))
            entries = journal.between(begin, end) if begin is not None and end is not None else None
            for entry in entries or ():
                changed.setdefault(subject_of(entry), []).append(entry)
        return changed

    def work(self) -> Work:
        core, options = self._core, self._options
        with core.state.lock:
            tree, version = WorkTree(core.state), self.now()
        engine = self._engine(tree, core.configuration, options.kube_version, options.feature_gates)
        return Work(tree, engine, version)

    def policy(
        self,
        kube_version: str,
        feature_gates: Mapping[str, bool],
        source: str,
        base: Policy | None,
        progress: Progress,
    ) -> Policy:
        _check_length(source, feature_gates)
        given, registry = self._options, self._core.registry
        own = source or (base.source if base else "")
        options = replace(
            given,
            kube_version=kube_version or (base.kube_version if base else given.kube_version),
            feature_gates=feature_gates or (base.feature_gates if base else given.feature_gates),
        )
        followed: Any = {"kube_version": options.kube_version, "feature_gates": options.feature_gates}
        try:
            gates = options.gates
        except ValueError as error:
            raise InvalidArgumentError.at("kube_version", str(error)) from None
        try:
            if own or given.config:
                document = read_configuration(own or read_text(given.config))
                progress.check()
                if own:
                    self._check_profiles(document)
                found = from_document(document, registry.catalog(), stubs=given.stubs, **followed)
            else:
                found = default(registry.catalog(), **followed)
        except ConfigError as error:
            faults = (FieldError(f"configuration: {each.path}", each.message) for each in error.errors)
            raise InvalidArgumentError(faults) from None
        progress.check()
        _check_arguments(found, self._core.configuration)
        warnings = tuple(found.warnings)
        if ResourceRules.of(gates) != ResourceRules.of(given.gates):
            warnings += (_RESIZED,)
        return Policy(options.kube_version, options.feature_gates, own, found, warnings)

    def engine(self, tree: SessionState, policy: Policy) -> Engine:
        own = cast("WorkTree", tree)
        try:
            return self._engine(own, policy.configuration, policy.kube_version, policy.feature_gates)
        except RegistryError as error:
            raise InvalidArgumentError.at("configuration", str(error)) from None

    def rest(self) -> None:
        """Stop noting changes, unless they are always noted."""
        if not self._keeps:
            self._core.state.end_journal()

    def _check_profiles(self, document: Any) -> None:
        """Reject a session's configuration with too many profiles: each takes a millisecond to read."""
        most = len(self._core.configuration.profiles) + MORE_PROFILES
        profiles = document.get("profiles") if isinstance(document, dict) else None
        if isinstance(profiles, list) and len(profiles) > most:
            raise InvalidArgumentError.at(
                "configuration: profiles", f"has {len(profiles)} entries; here it may have {most}"
            )

    def _engine(
        self,
        tree: WorkTree,
        configuration: Configuration,
        kube_version: str,
        feature_gates: Mapping[str, bool],
    ) -> Engine:
        """Return an engine over a work tree, whose plugins know no API server."""
        return build_engine(
            configuration,
            self._core.registry,
            tree,
            LocalBinder(tree),
            kube_version=kube_version,
            feature_gates=feature_gates,
        )


def _check_length(source: str, feature_gates: Mapping[str, bool]) -> None:
    """Reject settings of a session that are too long."""
    for path, text in (("configuration", source), ("feature_gates", "".join(feature_gates))):
        if len(text.encode()) > LONGEST_SOURCE:
            raise InvalidArgumentError.at(path, f"has more than {LONGEST_SOURCE} bytes")


def _check_arguments(asked: Configuration, in_force: Configuration) -> None:
    """Check that only kube-scheduler's plugins get arguments of the caller's.

    Others' may name files and addresses, which this process would read and call on a stranger's behalf.
    Raises InvalidArgumentError if another plugin does.
    """
    for index, profile in enumerate(asked.profiles):
        for name, args in profile.args.items():
            if name in UPSTREAM or any(own.args.get(name) == args for own in in_force.profiles):
                continue
            with suppress(TypeError):
                if args == type(args)():
                    continue
            raise InvalidArgumentError.at(
                f"configuration: profiles[{index}].pluginConfig",
                f"a session can't give arguments to {name}, which is not a kube-scheduler plugin; "
                "leave them out, or give those of the server",
            )
