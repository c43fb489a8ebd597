"""Logging: klog's levels on the standard library's."""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from typing import TextIO

from mooring.serving.logs import formatter


def configure(verbosity: int, format_name: str = "text") -> None:
    """Log to standard error; level N of klog is ``logging.INFO - N``, so 10 is DEBUG."""
    handler = SharedWriter(sys.stderr)
    handler.setFormatter(formatter(format_name))
    logging.basicConfig(level=logging.INFO - verbosity, handlers=[handler], force=True)
    for level in range(1, 11):
        if level != logging.DEBUG:
            logging.addLevelName(logging.INFO - level, f"V{level}")


class SharedWriter(logging.Handler):
    """Writes lines; a thread that comes while another one writes leaves its line to that one.

    ``logging.StreamHandler`` makes it wait instead, and each write costs the writer its turn in the
    interpreter: 16 threads that logged a line per binding waited 40 % of their time for each other.

    Args:
        stream: The lines' destination.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: deque[str] = deque()
        self._writing = threading.Lock()

    def createLock(self) -> None:  # noqa: N802 - the base class's name
        """None: no thread waits for another one."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Handle a record without the base class's lock, which Python 3.13 takes even if there is none."""
        passes = bool(self.filter(record))
        if passes:
            self.emit(record)
        return passes

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, or leave it to the thread that is writing."""
        try:
            self._lines.append(self.format(record))
            # Who writes looks again after it let go: a line that came meanwhile is written, too.
            while self._lines and self._writing.acquire(blocking=False):
                try:
                    self._write()
                finally:
                    self._writing.release()
        except Exception:  # noqa: BLE001 - logging must not stop the program
            self.handleError(record)

    def _write(self) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()
