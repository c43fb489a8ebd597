"""Texts and times as the scheduler writes them to the API server."""

from __future__ import annotations

from datetime import UTC, datetime

NOTE_LIMIT = 1024
"""The longest note of an Event, in bytes: the API server rejects longer ones."""

CONDITION_LIMIT = 32 * 1024
"""The longest message of a condition, in bytes: what the API server allows for those of PodGroups.

For those of pods it allows more, but a list of 30,000 resources that no node has is 2 MB, which no one
reads and etcd rejects. kube-scheduler cuts only notes.
"""

_ENDING = b" ..."


def shortened(text: str, limit: int) -> str:
    """Return ``text``, cut to ``limit`` bytes of UTF-8 where it is longer, with dots at its end."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return (encoded[: limit - len(_ENDING)] + _ENDING).decode(errors="ignore")


def seconds_time(now: float) -> str:
    """Return ``now``, in seconds since 1970, as a ``metav1.Time``."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(now: float) -> str:
    """Return ``now``, in seconds since 1970, as a ``metav1.MicroTime``."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
