"""The files of the audit log: appended to, rotated by size, and read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Final, Protocol

MODE: Final = 0o600
"""The log names everybody's pods: only its owner reads it."""


class AuditTarget(Protocol):
    """Takes the lines of the log. For one thread."""

    def append(self, lines: bytes) -> None:
        """Write whole lines, or none of them. Raises OSError if they can't be written."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class StandardOutput:
    """The standard output as the log."""

    def append(self, lines: bytes) -> None:
        """Write lines and flush them."""
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Leave it open."""


def _open(path: Path) -> FileIO:
    """Open a regular file to append to. Raises OSError if it can't be opened, or is something else, such as a
    pipe, which could block.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK, MODE)

    file = FileIO(path, "a+", opener=opener)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("is not a regular file")
    return file


class RotatingFile:
    """A file that becomes FILE.1 when it is full, and FILE.1 becomes FILE.2. For one thread.

    A file that something else has moved away or deleted is made again.

    Args:
        path: The file.
        max_bytes: How long it may get; a line is never split.
        keep: How many full files are kept.
        opened: Opens the file to append to.

    Raises:
        OSError: It can't be opened.
    """

    def __init__(
        self, path: Path, max_bytes: int, keep: int, opened: Callable[[Path], FileIO] = _open
    ) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._opened = opened
        self._file: FileIO | None = None
        self._current()

    def append(self, lines: bytes) -> None:
        """Write whole lines, or none of them. Raises OSError if they can't be written, such as on a full
        disk.
        """
        file = self._current()
        size = file.seek(0, os.SEEK_END)
        if size and size + len(lines) > self._max_bytes:
            self._rotate(file)
            file, size = self._current(), 0
        left = memoryview(lines)
        try:
            while left:
                left = left[file.write(left) :]
        except OSError:
            file.truncate(size)
            raise

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _current(self) -> FileIO:
        """Return the file that has the path; it ends with a whole line."""
        if self._file is not None and not self._is_at_path(self._file):
            self.close()
        if self._file is None:
            self._file = file = self._opened(self._path)
            size = file.seek(0, os.SEEK_END)
            # A process that was killed may have left a part of a line.
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                file.write(b"\n")
        return self._file

    def _is_at_path(self, file: FileIO) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self, file: FileIO) -> None:
        if not self._keep:
            file.truncate(0)
            return
        for number in range(self._keep - 1, 0, -1):
            older = rotated(self._path, number)
            if older.exists():
                older.replace(rotated(self._path, number + 1))
        self._path.replace(rotated(self._path, 1))
        self.close()


def rotated(path: Path, number: int) -> Path:
    """Return the name of a file that is full; 1 = the last one."""
    return path.with_name(f"{path.name}.{number}")


def with_rotated(path: Path) -> list[Path]:
    """Return the full files of a log and the log itself, the oldest first."""
    numbers = [each.name.removeprefix(f"{path.name}.") for each in path.parent.glob(f"{path.name}.*")]
    older = sorted((int(number) for number in numbers if number.isdecimal()), reverse=True)
    return [*(rotated(path, number) for number in older), *([path] if path.exists() else [])]
