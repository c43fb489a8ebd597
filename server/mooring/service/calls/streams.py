"""Streams that last: how they wait for news, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import grpc

from mooring.framework.errors import UnavailableError
from mooring.serving.calls.threads import waiting

LOOK_SECONDS: Final = 0.1
"""Seconds between two looks for news: no decision has to wake the streams."""


class EndOfStreams:
    """Ends the streams of a server when that drains. Thread-safe."""

    def __init__(self) -> None:
        self._ended = threading.Event()

    def end(self) -> None:
        """End all streams, now and later."""
        self._ended.set()

    def wait(self, news: Callable[[], bool], context: grpc.ServicerContext) -> bool:
        """Wait for ``news``; return False if the caller left instead. Raises UnavailableError if the server
        is shutting down (DRAINING).
        """
        with waiting():
            while context.is_active():
                if self._ended.is_set():
                    raise UnavailableError(
                        "this server is shutting down; go on at another replica", reason="DRAINING"
                    )
                if news():
                    return True
                self._ended.wait(LOOK_SECONDS)
        return False
