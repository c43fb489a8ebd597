"""The life of one pod: created, gated, woken, tried, rejected, placed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from enum import IntEnum, auto
from typing import NamedTuple

from mooring.decisions.journal import Numbered
from mooring.decisions.listed_pod import ListedPod
from mooring.decisions.records import DecisionKind, DecisionResult, Record
from mooring.framework import Pod

SWEEP = "UnschedulableTimeout"
"""The event of the sweep, as metrics name it."""

VICTIMS = 3
"""Preempted pods that are named."""

_TELLING = frozenset({DecisionKind.SCHEDULE, DecisionKind.BIND, DecisionKind.OBSERVE, DecisionKind.DRY_RUN})


class MomentKind(IntEnum):
    """A kind of moment; the numbers are those of the contract."""

    CREATED = auto()
    GATED = auto()
    WOKEN = auto()
    REJECTED = auto()
    FAILED = auto()
    PLACED = auto()
    WAITS = auto()


class PodMoment(NamedTuple):
    """A moment.

    Attributes:
        time: When it was, in seconds since the epoch.
        seq: The decision; 0 = none.
    """

    time: float
    kind: MomentKind
    text: str
    seq: int = 0


def created_at(pod: Pod) -> float:
    """Return when a pod was created, in seconds since the epoch; 0 = not known."""
    with suppress(ValueError):
        return datetime.fromisoformat(pod.metadata.creation_timestamp or "").timestamp()
    return 0.0


def life_of(decisions: Iterable[Numbered], pod: Pod | None, queued: ListedPod | None) -> list[PodMoment]:
    """Return the moments of a pod's life, the oldest first.

    Args:
        decisions: Those about it, the oldest first. The others of the newest one's UID only count.
        pod: The pod as it is now; None = it is not known.
        queued: Its place in the queue; None = it is in none.
    """
    known = [each for each in decisions if each[1].kind in _TELLING]
    uid = pod.metadata.uid if pod is not None else known[-1][1].uid if known else ""
    known = [each for each in known if each[1].uid == uid]
    about = pod or (known[-1][1].pod if known else None)
    moments: list[PodMoment] = []
    if about is not None and (created := created_at(about)):
        moments.append(PodMoment(created, MomentKind.CREATED, ""))
    gated = ""
    for seq, record in known:
        details = record.details
        if details.gated[0] != gated:
            gated = details.gated[0]
            moments.append(PodMoment(details.gated[1], MomentKind.GATED, gated))
        if details.woken[0]:
            moments.append(PodMoment(details.woken[1], MomentKind.WOKEN, waking_words(details.woken[0])))
        moments.append(_ending(seq, record))
    if queued is not None:
        moments.append(_waiting(queued))
    return sorted(moments, key=lambda moment: moment.time)


def waking_words(event: str) -> str:
    """Return an event that wakes pods, in words."""
    return "the sweep: no event woke it" if event == SWEEP else event


def _ending(seq: int, record: Record) -> PodMoment:
    why, details = record.why, record.details
    if details.result is DecisionResult.SCHEDULED:
        text = f"{record.node} by a dry run" if record.kind is DecisionKind.DRY_RUN else record.node
        return PodMoment(record.time, MomentKind.PLACED, text, seq)
    text = why.message if why is not None else ""
    if details.nominated:
        named = ", ".join(details.victims[:VICTIMS])
        more = len(details.victims) - VICTIMS
        others = f" and {more} more" if more > 0 else ""
        text = f"{text} It preempts {named}{others} on {details.nominated}.".strip()
    rejected = details.result is DecisionResult.UNSCHEDULABLE
    return PodMoment(record.time, MomentKind.REJECTED if rejected else MomentKind.FAILED, text, seq)


def _waiting(queued: ListedPod) -> PodMoment:
    """Return what a queued pod waits for."""
    if queued.place == "gated":
        return PodMoment(queued.placed, MomentKind.GATED, ", ".join(queued.wakes))
    if queued.place == "backoff":
        return PodMoment(queued.placed, MomentKind.WAITS, f"for its backoff until {clock(queued.ready)}")
    if queued.place != "unschedulable":
        return PodMoment(queued.placed, MomentKind.WAITS, "for its turn")
    events = "; ".join(f"{', '.join(names)} ({plugin})" for plugin, names in queued.wakes.items())
    sweep = f", or the sweep at {clock(queued.swept)}" if queued.swept else ""
    return PodMoment(queued.placed, MomentKind.WAITS, f"for {events or 'an event'}{sweep}")


def clock(moment: float) -> str:
    """Return the time of day in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%SZ")
