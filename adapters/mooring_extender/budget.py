"""How much memory all request bodies together may take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

FREE_BYTES: Final = 256 * 2**10
"""This much of each body is not counted: a list of 5,000 names is read however many megabytes others hold."""

_LIMIT_FILES: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_MAX_BYTES: Final = 512 * 2**20
_SHARE: Final = 8
"""A call takes several times its body: what was decoded, the message to mooring, the answer."""


def default_budget_bytes(files: tuple[Path, ...] = ()) -> int:
    """Return a share of the memory that the container may use, or the machine has, 512 MiB at most."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in files or _LIMIT_FILES:
        # No such file, or the word max: this hierarchy sets no limit.
        with contextlib.suppress(OSError, ValueError):
            memory = min(memory, int(file.read_text()))
    return min(memory // _SHARE, _MAX_BYTES)


class Budget:
    """Bytes that bodies share. For one event loop.

    Args:
        total: How many bytes there are, beside FREE_BYTES for each body.
    """

    def __init__(self, total: int) -> None:
        self._left = total

    @contextlib.contextmanager
    def share(self) -> Iterator[Callable[[int], bool]]:
        """Yield what says whether a body may grow to a number of bytes; all are given back at the end."""
        taken = 0

        def grow_to(size: int) -> bool:
            nonlocal taken
            more = size - FREE_BYTES - taken
            if more > self._left:
                return False
            if more > 0:
                self._left -= more
                taken += more
            return True

        try:
            yield grow_to
        finally:
            self._left += taken
