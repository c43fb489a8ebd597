"""The last hours in spans: how many decisions, how long they took, and which pods were pending why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mooring.decisions.journal import DecisionJournal, Entry
from mooring.decisions.records import BatchRecord, DecisionKind, DecisionResult, Record
from mooring.decisions.summary import dominant_of
from mooring.framework import ReasonCode

Cause = tuple[str, ReasonCode | str]
"""A plugin, and the code of its reason, or its own words."""

_PLACING = frozenset({DecisionKind.SCHEDULE, DecisionKind.BIND, DecisionKind.OBSERVE})
_TELLING = _PLACING | {DecisionKind.DRY_RUN}
"""Kinds that say why a pod is pending."""


@dataclass(slots=True)
class TimeSpan:
    """A span of time.

    Attributes:
        begin: When it begins, in seconds since the epoch.
        decided: How many decisions to place a pod there were.
        placed: How many of them placed one.
        durations: How many seconds each decision took.
        waits: How many seconds the placed pods had been ready.
        pending: The reasons of the pods that had no node at its end, by cause; the largest cause first.
    """

    begin: float
    decided: int = 0
    placed: int = 0
    durations: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    pending: dict[Cause, list[str]] = field(default_factory=dict)


def time_line(
    journal: DecisionJournal,
    begin: float,
    end: float,
    count: int,
    *,
    known: Callable[[Record], bool] = lambda _: True,
    namespace: str = "",
    profile: str = "",
) -> list[TimeSpan]:
    """Return spans of equal length.

    A pod is pending from a decision without a node to one with a node; dry runs count for that alone. Pods
    that are gone now, and never got one, are pending up to the end of the span of their last decision.

    Args:
        journal: Has the decisions.
        begin: When the first span begins, in seconds since the epoch.
        end: When the last span ends.
        count: How many spans there are; 1 or more.
        known: Whether the pod of a decision is still without a node by all that is known.
        namespace: Only pods of this namespace; "" = all.
        profile: Only decisions of this profile; "" = all.
    """
    step = (end - begin) / count
    spans = [TimeSpan(begin + step * number) for number in range(count)]
    placed = {uid for _, entry in journal.entries_after(0) for uid in _placed(entry)}

    def lasting(record: Record) -> bool:
        return record.uid in placed or known(record)

    pending: dict[str, Record] = {}
    at = 0
    for entry in _wanted(journal, namespace, profile):
        while at < count and entry.time >= begin + step * (at + 1):
            _close(spans[at], pending, lasting)
            at += 1
        if at == count:
            break
        inside = spans[at] if entry.time >= begin else TimeSpan(0.0)
        _count(inside, entry, pending)
    for span in spans[at:]:
        _close(span, pending, lasting)
    return spans


def _wanted(journal: DecisionJournal, namespace: str, profile: str) -> Iterator[Entry]:
    """Yield what says whether pods are pending, the oldest first."""
    for _, entry in journal.entries_after(0):
        if entry.kind not in _TELLING:
            continue
        if not (namespace or profile):
            yield entry
            continue
        for record in entry.records() if isinstance(entry, BatchRecord) else (entry,):
            if namespace in ("", record.namespace) and profile in ("", record.profile):
                yield record


def _placed(entry: Entry) -> Sequence[str]:
    if entry.kind not in _PLACING:
        return ()
    if isinstance(entry, BatchRecord):
        return entry.uids
    return (entry.uid,) if entry.result is DecisionResult.SCHEDULED else ()


def _count(span: TimeSpan, entry: Entry, pending: dict[str, Record]) -> None:
    if isinstance(entry, BatchRecord):
        if entry.kind in _PLACING:
            span.decided += len(entry)
            span.placed += len(entry)
            span.durations += [(entry.time - entry.began) / len(entry)] * len(entry)
        for uid in entry.uids:
            pending.pop(uid, None)
        return
    if entry.result is DecisionResult.SCHEDULED:
        pending.pop(entry.uid, None)
    else:
        pending[entry.uid] = entry
    if entry.kind not in _PLACING:
        return
    span.decided += entry.kind is not DecisionKind.BIND
    span.durations.append(entry.duration)
    if entry.result is DecisionResult.SCHEDULED:
        span.placed += entry.kind is not DecisionKind.BIND
        if entry.details.attempt:
            span.waits.append(entry.details.queue_wait)


def _close(span: TimeSpan, pending: dict[str, Record], known: Callable[[Record], bool]) -> None:
    """Count the pods that are pending at the end of a span, and forget those that are gone."""
    found: dict[Cause, list[str]] = {}
    for record in pending.values():
        reason = dominant_of(record)
        found.setdefault((reason.plugin, reason.cause), []).append(reason.reason)
    span.pending = dict(sorted(found.items(), key=lambda cause: -len(cause[1])))
    for uid in [uid for uid, record in pending.items() if not known(record)]:
        del pending[uid]


def percentile(values: list[float], percent: float) -> float:
    """Return a percentile of one or more values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
