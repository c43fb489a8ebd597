"""How much memory this process may use; what is remembered has a share of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_LIMIT_FILES: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def memory_bytes(files: tuple[Path, ...] = ()) -> int:
    """How much memory this process may use: its container's limit, at most what the machine has."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in files or _LIMIT_FILES:
        # No such file, or the word max: this hierarchy sets no limit.
        with suppress(OSError, ValueError):
            return min(int(file.read_text()), physical)
    return physical


def share_of_memory(part: int, most: int) -> int:
    """One of ``part`` equal parts of it, ``most`` bytes at most."""
    return min(memory_bytes() // part, most)
