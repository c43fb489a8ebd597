"""The resource that a reason is about."""

from __future__ import annotations

from mooring.framework.resources import PODS


def lacking_resource(reason: str) -> str:
    """Return the resource that a reason of NodeResourcesFit is about; "" for other reasons."""
    if reason == "Too many pods":
        return PODS
    word, _, name = reason.partition(" ")
    return name if word == "Insufficient" and " " not in name else ""
