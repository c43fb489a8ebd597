"""Files with the reasons why cases cannot pass with any scheduler."""

from __future__ import annotations

from pathlib import Path


def read_reasons(file: Path) -> dict[str, str]:
    """By case the reason: the line with ``# `` that is last before it."""
    reasons, reason = {}, ""
    for line in file.read_text().splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            reasons[line] = reason
    return reasons
