"""Follows one decision while plugins run: which one, where, and whether it may go on."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from mooring.framework import Code, Plugin
from mooring.framework.cycle_state import NotWrittenError
from mooring.framework.deadline import RUNNING
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.framework.view import NodesChangedError
from mooring.runtime.cycle.known_verdicts import KnownVerdicts
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.runtime.profiles.tracebacks import TRACEBACKS

T = TypeVar("T")
PluginT = TypeVar("PluginT", bound=Plugin[Any])

Seconds = defaultdict[str, float]
"""The seconds that each plugin took in one decision."""


class Observer:
    """Records measurements; this one drops them. Called from many threads."""

    def measures_plugins(self) -> bool:
        """Return whether to record how long each plugin runs; called once for each decision."""
        return False

    def plugin_duration(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        """Record how long a plugin ran."""

    def point_duration(
        self, extension_point: str, status: str, profile: str, seconds: float, count: int = 1
    ) -> None:
        """All plugins of an extension point ran for ``count`` pods, in ``seconds`` each."""

    def plugin_evaluated(self, plugin: str, extension_point: str, profile: str, count: int = 1) -> None:
        """Count ``count`` runs of a plugin."""

    def algorithm_duration(self, seconds: float, count: int = 1) -> None:
        """Record ``count`` pods that were filtered and scored, in ``seconds`` each."""

    def placements_generated(self, profile: str, count: int) -> None:
        """Count ``count`` placements that were found for a pod group."""

    def placements_evaluated(self, result: str, profile: str, seconds: float, count: int) -> None:
        """Record ``count`` placements in which a pod group was tried, in ``seconds`` each.

        They are ``feasible`` or ``infeasible``.
        """

    def plugin_raised(self, plugin: str, extension_point: str) -> None:
        """Count a plugin that raised."""

    def plugin_event(self, plugin: str, event: str) -> None:
        """Count an event of a plugin's own."""

    def self_checked(self, result: str) -> None:
        """Count a self-check by its result: ``same``, ``different`` or ``failed``."""


class Progress(Protocol):
    """Where a decision is. Written by the deciding thread, read by the one that waits for it.

    Attributes:
        plugin: The plugin that runs, "" between plugins.
        extension_point: Its point, for example ``Filter``.
        answered_by: Afterwards ``cache``, or ``full`` with the reason in brackets.
        may_call_plugins: Whether plugins may be called, which takes longer than some callers can wait.
    """

    plugin: str
    extension_point: str
    answered_by: str

    @property
    def may_call_plugins(self) -> bool: ...

    def check(self) -> None:
        """Raise DeadlineExceededError once the caller no longer waits. Plugins that loop call it, too."""
        ...


class NoDeadline:
    """The progress of a decision without a deadline."""

    def __init__(self, *, may_call_plugins: bool = True) -> None:
        self.may_call_plugins = may_call_plugins
        self.plugin = ""
        self.extension_point = ""
        self.answered_by = ""

    def check(self) -> None:
        """Go on."""


class NeedsPluginsError(Exception):
    """A plugin has to be called, and the caller allows none."""


def plugin_failure(plugin: str, point: str, message: str) -> PluginFailureError:
    """Return the error for a plugin that raised or broke the contract of its extension point."""
    return PluginFailureError(
        f"plugin {plugin!r} failed at {point}: {message}", plugin=plugin, extension_point=point
    )


class PluginCalls:
    """Calls plugins for one decision of one profile: reports progress, measures, and attributes failures.

    Args:
        profile: The profile's name.
        final: Whether a failure is the plugin's. It isn't while the tables change under it, and needs no
            report where the pod is evaluated again.
        known: Earlier verdicts of Filter plugins that need not be called again; None = nothing.
        seconds: Gets the seconds that each plugin takes; None = the decision is not measured.
    """

    __slots__ = ("_allowed", "_check", "_final", "_observer", "_profile", "_progress", "known", "seconds")

    def __init__(
        self,
        profile: str,
        progress: Progress,
        observer: Observer,
        final: Callable[[], bool] = lambda: True,
        known: KnownVerdicts | None = None,
        seconds: Seconds | None = None,
    ) -> None:
        self.known = known or KnownVerdicts()
        self.seconds = seconds
        self._allowed = progress.may_call_plugins
        self._profile = profile
        self._progress = progress
        self._check = progress.check
        self._observer = observer
        self._final = final

    def check(self) -> None:
        """Go on only if the caller still waits; raises DeadlineExceededError otherwise."""
        self._check()

    def require_plugins(self) -> None:
        """Go on only if plugins may be called: before a step that can't be left half done. Raises
        NeedsPluginsError otherwise.
        """
        if not self._allowed:
            raise NeedsPluginsError

    def call(self, plugin: str, point: str, function: Callable[..., T], *args: object) -> T:
        """``function(*args)``, as ``plugin`` at ``point``.

        Raises:
            PluginFailureError: It raised; the message carries what.
            NeedsPluginsError: No plugin may be called.
            DeadlineExceededError: The caller no longer waits.
        """
        check, progress = self._check, self._progress
        if not self._allowed:
            raise NeedsPluginsError
        check()
        # A plugin that seeks victims calls other plugins on its way.
        caller, its_point, before = progress.plugin, progress.extension_point, RUNNING.check
        RUNNING.check = check
        progress.plugin, progress.extension_point = plugin, point
        try:
            if self.seconds is None:
                return function(*args)
            return self._timed(self.seconds, plugin, point, function, args)
        except (MooringError, NodesChangedError):
            raise
        except NotWrittenError as error:
            # The profile's doing, not the plugin's: a traceback would add nothing.
            raise plugin_failure(plugin, point, str(error)) from error
        except Exception as error:
            if self._final():
                TRACEBACKS.tell(plugin, point, error)
                self._observer.plugin_raised(plugin, point)
            raise plugin_failure(plugin, point, f"{type(error).__name__}: {error}") from error
        finally:
            progress.plugin, progress.extension_point, RUNNING.check = caller, its_point, before
            self._observer.plugin_evaluated(plugin, point, self._profile)

    def pass_over(self, plugin: str, point: str, count: int) -> None:
        """Count ``count`` pods for which ``plugin`` has nothing to do at ``point``, as if it had said so."""
        self._observer.plugin_evaluated(plugin, point, self._profile, count)

    def pass_point(self, point: str, plugins: Iterable[Enabled[PluginT]], status: Code, count: int) -> None:
        """Count ``count`` pods for which all ``plugins`` of ``point``, which ends so, have nothing to do."""
        self._observer.point_duration(point, status.label, self._profile, 0.0, count)
        for enabled in plugins:
            self.pass_over(enabled.name, point, count)

    def point(self, point: str) -> PointTimer:
        """Return what measures an extension point."""
        return PointTimer(point, self._profile, self._observer)

    def placements_generated(self, count: int) -> None:
        """Count the placements that were found for a pod group."""
        self._observer.placements_generated(self._profile, count)

    def placements_evaluated(self, fitting: int, count: int, seconds: float) -> None:
        """Record how long a pod group was tried in all its placements, and how many of them it fits."""
        for result, some in ("feasible", fitting), ("infeasible", count - fitting):
            if some:
                self._observer.placements_evaluated(result, self._profile, seconds / count, some)

    def _timed(
        self,
        seconds: Seconds,
        plugin: str,
        point: str,
        function: Callable[..., T],
        args: tuple[object, ...],
    ) -> T:
        began = time.perf_counter()
        status = Code.ERROR
        try:
            answer = function(*args)
            code = getattr(answer, "code", None)
            status = code if isinstance(code, Code) else Code.SUCCESS
            return answer
        finally:
            took = time.perf_counter() - began
            seconds[plugin] += took
            self._observer.plugin_duration(plugin, point, status.label, took)


class PointTimer:
    """Measures an extension point from when this is made to the end of its ``with`` block.

    A class of its own, because every decision enters several and ``contextmanager`` costs more.

    Attributes:
        status: The point's status; set by the block when it isn't Success.
    """

    __slots__ = ("_began", "_observer", "_point", "_profile", "status")

    def __init__(self, point: str, profile: str, observer: Observer) -> None:
        self._point = point
        self._profile = profile
        self._observer = observer
        self._began = time.perf_counter()
        self.status = Code.SUCCESS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._began
        status = Code.ERROR if isinstance(error, MooringError) else self.status
        self._observer.point_duration(self._point, status.label, self._profile, seconds)


class PluginAccess:
    """Gives the way to call the plugins of any profile in one decision.

    Args:
        known: Earlier verdicts of Filter plugins.
        progress: Where the decision is; None = it has no deadline.
        final: As in ``PluginCalls``.

    Attributes:
        seconds: The seconds that each plugin took so far; None = the decision is not measured.
    """

    __slots__ = ("_final", "_known", "_observer", "progress", "seconds")

    def __init__(
        self,
        observer: Observer,
        known: KnownVerdicts,
        progress: Progress | None = None,
        final: Callable[[], bool] = lambda: True,
    ) -> None:
        self.progress = progress or NoDeadline()
        self.seconds = seconds_of(observer)
        self._observer = observer
        self._known = known
        self._final = final

    def of(self, profile: Profile) -> PluginCalls:
        """Return the calls of the plugins of ``profile``."""
        return PluginCalls(
            profile.name, self.progress, self._observer, self._final, self._known, self.seconds
        )


def seconds_of(observer: Observer) -> Seconds | None:
    """Return what gets the seconds of plugins in one decision; None if it is not to be measured."""
    return defaultdict(float) if observer.measures_plugins() else None
