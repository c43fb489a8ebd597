"""Files that others write, read as what they may turn out to be."""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike
from pathlib import Path
from typing import Final

FILE_BYTES: Final = 4 << 20
"""The most bytes of a configuration, certificate or token file. etcd stores no object above 1.5 MiB."""


def seen(path: str | PathLike[str], most: int = FILE_BYTES) -> os.stat_result:
    """Return the status of a file, or of the file to which it links.

    Raises:
        OSError: It can't be seen, is not a regular file, or has more than ``most`` bytes.
    """
    return _checked(Path(path).stat(), path, most)


def read_file(path: str | PathLike[str], most: int = FILE_BYTES, *, pipe: bool = False) -> bytes:
    """Return what a file has, or what it links to. It doesn't wait, which for a pipe could be forever.

    Args:
        path: The file.
        most: Bytes that it may have.
        pipe: Accept a pipe or a terminal, too, and wait for its bytes; for a file that is read once.

    Raises:
        OSError: It can't be read, is not a regular file, or has more than ``most`` bytes.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | (0 if pipe else os.O_NONBLOCK)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not pipe:
            _checked(os.fstat(file.fileno()), path, most)
        data = file.read(most + 1)
    if len(data) > most:
        raise _too_large(path, most)
    return data


def _checked(status: os.stat_result, path: str | PathLike[str], most: int) -> os.stat_result:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    if status.st_size > most:
        raise _too_large(path, most)
    return status


def _too_large(path: str | PathLike[str], most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {most} bytes", os.fspath(path))
