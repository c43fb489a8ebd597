"""Follows one decision while plugins run: which one, where, and whether it may go on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from mooring.framework import Code
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.framework.view import NodesChangedError

T = TypeVar("T")

SAMPLED_CYCLES = 0.1
"""The share of decisions whose plugin durations are measured; kube-scheduler's own."""


class Observer(Protocol):
    """Takes measurements. Called from many threads."""

    def plugin_duration(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        """A plugin ran; called for a sample of the decisions."""
        ...

    def point_duration(self, extension_point: str, status: str, profile: str, seconds: float) -> None:
        """All plugins of an extension point ran for one pod."""
        ...

    def plugin_evaluated(self, plugin: str, extension_point: str, profile: str) -> None:
        """A plugin ran."""
        ...

    def algorithm_duration(self, seconds: float) -> None:
        """A pod was filtered and scored."""
        ...


class NullObserver:
    """Measures nothing."""

    def plugin_duration(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        """Drop it."""

    def point_duration(self, extension_point: str, status: str, profile: str, seconds: float) -> None:
        """Drop it."""

    def plugin_evaluated(self, plugin: str, extension_point: str, profile: str) -> None:
        """Drop it."""

    def algorithm_duration(self, seconds: float) -> None:
        """Drop it."""


class Progress(Protocol):
    """The position of one decision. Written by the thread that decides, read by the one that waits for it.

    Attributes:
        plugin: The plugin that runs, "" between plugins.
        extension_point: Where it runs, for example ``Filter``.
    """

    plugin: str
    extension_point: str

    def check(self) -> None:
        """Called between plugins.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        ...


class Unhurried:
    """The progress of a decision whose caller waits for as long as it takes."""

    def __init__(self) -> None:
        self.plugin = ""
        self.extension_point = ""

    def check(self) -> None:
        """Go on."""


def plugin_failure(plugin: str, point: str, message: str) -> PluginFailureError:
    """The error for a plugin that raised or broke the contract of its extension point."""
    return PluginFailureError(
        f"plugin {plugin!r} failed at {point}: {message}", plugin=plugin, extension_point=point
    )


class PluginCalls:
    """Calls plugins for one decision of one profile: reports where it is, times, and names failures."""

    def __init__(self, profile: str, progress: Progress, observer: Observer) -> None:
        self._profile = profile
        self._progress = progress
        self._observer = observer
        self._sampled = random.random() < SAMPLED_CYCLES  # noqa: S311 - a sample of measurements

    def check(self) -> None:
        """Go on only if somebody still waits.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        self._progress.check()

    def call(self, plugin: str, point: str, function: Callable[..., T], *args: object) -> T:
        """``function(*args)``, as ``plugin`` at ``point``.

        Raises:
            PluginFailureError: It raised; the message carries what.
            DeadlineExceededError: The caller no longer waits.
        """
        progress = self._progress
        progress.check()
        progress.plugin, progress.extension_point = plugin, point
        began = time.perf_counter() if self._sampled else 0.0
        status = Code.SUCCESS.label
        try:
            answer = function(*args)
            code = getattr(answer, "code", None)
            status = code.label if isinstance(code, Code) else status
        except (MooringError, NodesChangedError):
            status = Code.ERROR.label
            raise
        except Exception as error:
            status = Code.ERROR.label
            raise plugin_failure(plugin, point, f"{type(error).__name__}: {error}") from error
        else:
            return answer
        finally:
            progress.plugin = ""
            self._observer.plugin_evaluated(plugin, point, self._profile)
            if self._sampled:
                self._observer.plugin_duration(plugin, point, status, time.perf_counter() - began)

    @contextmanager
    def point(self, point: str) -> Iterator[PointResult]:
        """Times an extension point; set ``status`` on the result when it isn't Success."""
        result = PointResult()
        began = time.perf_counter()
        try:
            yield result
        except MooringError:
            result.status = Code.ERROR
            raise
        finally:
            seconds = time.perf_counter() - began
            self._observer.point_duration(point, result.status.label, self._profile, seconds)


class PointResult:
    """How an extension point ended."""

    def __init__(self) -> None:
        self.status = Code.SUCCESS
