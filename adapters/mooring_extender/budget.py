"""How much memory all request bodies together may take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
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
        self.left = total


class Share:
    """What one body takes of ``budget``, until the end of the context that it manages."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._taken = 0

    def __enter__(self) -> Callable[[int], bool]:
        """Return what says whether the body may grow to a number of bytes."""
        return self._grow_to

    def __exit__(self, *_: object) -> None:
        """Give all back."""
        self._budget.left += self._taken

    def _grow_to(self, size: int) -> bool:
        more = size - FREE_BYTES - self._taken
        if more > self._budget.left:
            return False
        if more > 0:
            self._budget.left -= more
            self._taken += more
        return True
