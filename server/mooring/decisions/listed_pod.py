"""A pod in the queue of a scheduler, as people are shown it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mooring.framework import Pod


@dataclass(frozen=True, slots=True)
class ListedPod:
    """A pod that waits. Times are in seconds since the epoch, 0 = none.

    Attributes:
        place: ``active``, ``backoff``, ``unschedulable`` or ``gated``.
        attempts: How often it was tried.
        added: When it was first ready to be tried, or came.
        placed: When it came, or came back, from its last attempt.
        ready: When its backoff ends.
        wakes: By plugin that rejected it, the changes of the cluster that the plugin wants to hear of.
        swept: When the sweep may try it again although nothing woke it.
    """

    pod: Pod
    place: str
    attempts: int
    added: float
    placed: float
    ready: float = 0.0
    wakes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    swept: float = 0.0
