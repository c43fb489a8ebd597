"""Tracebacks of plugins, for their authors: one in the log for each place."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from types import TracebackType

_OURS = ("mooring.runtime.", "mooring.framework.", "mooring.scheduler.")
"""The packages whose frames lie between a decision and the plugin's code."""


class Tracebacks:
    """Logs what plugins raise. Safe from any thread.

    A plugin that raises does so in every decision. So the log gets the traceback when a line raises for the
    first time, and afterwards how often it has, whenever that number has grown tenfold.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._lock = threading.Lock()

    def tell(self, plugin: str, extension_point: str, error: Exception) -> None:
        """Log that ``plugin`` raised ``error``; called in the ``except`` clause."""
        trace = _from_the_plugin_on(error.__traceback__)
        file, line = _innermost(trace)
        with self._lock:
            self._counts[plugin, file, line] += 1
            count = self._counts[plugin, file, line]
        log = logging.getLogger(f"mooring.plugins.{plugin}")
        said = f"{type(error).__name__}: {error}"
        if count == 1:
            exception = type(error), error, trace
            log.error("plugin %s failed at %s: %s", plugin, extension_point, said, exc_info=exception)
        elif str(count).strip("0") == "1":
            log.error(
                "plugin %s failed at %s, for the %dth time at %s:%d: %s",
                plugin,
                extension_point,
                count,
                file,
                line,
                said,
            )


def _from_the_plugin_on(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins in the plugin's code; None when it was not reached."""
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(_OURS):
        trace = trace.tb_next
    return trace


def _innermost(trace: TracebackType | None) -> tuple[str, int]:
    """File and line that raised."""
    place = "", 0
    while trace is not None:
        place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return place


TRACEBACKS = Tracebacks()
"""One for the whole process, as there is one log."""
