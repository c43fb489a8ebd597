"""The range of a plugin's score for one node."""

from __future__ import annotations

import numpy as np


class InvalidScoreError(Exception):
    """A plugin's ``score`` gave something other than an int within int64; the message names the node."""


def checked_score(score: object, node_name: str) -> int:
    """``score`` when it is an int within int64; raises InvalidScoreError if it is anything else."""
    if isinstance(score, bool) or not isinstance(score, int | np.integer):
        raise InvalidScoreError(f"score of node {node_name!r} is {_shortened(score)}, not an int")
    if not -(2**63) <= score < 2**63:
        raise InvalidScoreError(f"score of node {node_name!r} is {_shortened(score)}, outside int64")
    return int(score)


def _shortened(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"{value.bit_length()} bits long"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
