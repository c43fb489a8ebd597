"""Whether the state's lock can be had: what keeps it stops every writer and every decision."""

from __future__ import annotations

import re
import threading
import time
from typing import Final, Self

LONGEST_SECONDS: Final = 60.0
"""When the lock can't be had for longer, only a restart helps."""

LOOK_SECONDS: Final = 1.0
"""Between two looks."""


class LockWatch:
    """Takes the lock and gives it back, again and again, in a thread of its own, for which no probe waits.

    A context manager, which looks while it lasts. Safe from any thread.

    Args:
        lock: The state's lock.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._waiting_since: float | None = None
        self._stopping = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="lock-watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()

    def fault(self) -> str:
        """Return why only a restart helps: the lock has been held for a minute; "" otherwise."""
        since = self._waiting_since
        seconds = 0.0 if since is None else time.monotonic() - since
        return (
            f"the state's lock has been held for {seconds:.0f} s{self._by()}"
            if seconds > LONGEST_SECONDS
            else ""
        )

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            self._waiting_since = time.monotonic()
            with self._lock:
                self._waiting_since = None

    def _by(self) -> str:
        """Return which thread holds the lock, which CPython tells nowhere else."""
        owner = re.search(r"owner=(\d+)", repr(self._lock))
        ident = int(owner[1]) if owner else 0
        name = next((thread.name for thread in threading.enumerate() if thread.ident == ident), "")
        return f", by thread {name}" if name else ""
