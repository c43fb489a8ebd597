"""Signals that end a command that serves."""

from __future__ import annotations

import logging
import signal
import threading

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5


def stop_signal() -> threading.Event:
    """Set by SIGTERM or SIGINT.

    SIGHUP, which many send for a reload, only says that there is none: the files that are read again are read
    when they change.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    signal.signal(signal.SIGHUP, lambda *_: _say_that_nothing_is_reloaded())
    return stop


def wait_for_signal(stop: threading.Event) -> None:
    """Wait until ``stop`` is set, in the main thread.

    A signal that comes just before the thread begins to wait does not end the wait: Python calls the handler
    when this thread runs next, so it has to run now and then.
    """
    while not stop.wait(_LOOK_SECONDS):
        pass


def _say_that_nothing_is_reloaded() -> None:
    log.warning(
        "SIGHUP changes nothing: flags and configuration are read at the start, so restart to change them"
    )
