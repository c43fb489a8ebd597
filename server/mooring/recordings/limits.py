"""How large a recording may get, and what it says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordingLimits:
    """When a file ends, and how many are kept.

    Attributes:
        segment_bytes: A file ends when it is larger.
        segment_seconds: It ends when it is older.
        keep: How many files are kept, the newest ones; 0 = all.
        annotations: Write the values of all annotations, not just of those that scheduling may read.
    """

    segment_bytes: int = 128 << 20
    segment_seconds: float = 3600.0
    keep: int = 0
    annotations: bool = False
