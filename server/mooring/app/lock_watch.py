"""Whether the state's lock can be had: what keeps it stops every writer and every decision."""

from __future__ import annotations

import math
import re
import threading
import time
from typing import Final, Self

LONGEST_SECONDS: Final = 60.0
"""When the lock can't be had for longer, only a restart helps."""

LOOK_SECONDS: Final = 1.0


class LockWatch:
    """Takes the lock again and again, in a thread of its own, while the context lasts. Any thread may ask."""

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
        held = time.monotonic() - (self._waiting_since or math.inf)
        return (
            f"the state's lock has been held for {held:.0f} s{self._by()}" if held > LONGEST_SECONDS else ""
        )

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            self._waiting_since = time.monotonic()
            with self._lock:
                self._waiting_since = None

    def _by(self) -> str:
        """Return the thread that holds the lock; CPython shows it nowhere else."""
        owner = re.search(r"owner=(\d+)", repr(self._lock))
        threads = (each for each in threading.enumerate() if owner and each.ident == int(owner[1]))
        return next((f", by thread {each.name}" for each in threads), "")
