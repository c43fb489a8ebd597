"""Pods without a node, grouped by controller and dominant reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mooring.decisions.journal import DecisionJournal
from mooring.decisions.records import (
    BatchRecord,
    DecisionKind,
    DecisionResult,
    NodeRejections,
    Owner,
    Record,
)
from mooring.framework.reason_codes import TEXTS, ReasonCode, code_of

SHOWN_SUBJECTS = 3
"""How many subjects the reason of a group names."""

STEPS = 12
"""Into how many parts the window is divided for the trend."""

_ASIDE = frozenset({DecisionKind.SCORE, DecisionKind.PREEMPT})
"""Results that leave open whether the pod gets a node."""


@dataclass(slots=True)
class UnplacedPod:
    """A pod without a node: its newest decision, and the time of its oldest one in the window.

    The number of a decision that is made now, and remembered nowhere, is 0.
    """

    seq: int
    newest: Record
    since: float


@dataclass(slots=True)
class ReasonGroup:
    """Pods of one origin whose dominant reason has the same code, the one that was decided about last first.

    Attributes:
        plugin: The plugin that rejects them.
        code: The cause; None if the words are a plugin's own, which then are the same for all.
        result: How their last attempts ended.
    """

    namespace: str
    owner: Owner
    plugin: str
    code: ReasonCode | None
    result: DecisionResult
    pods: list[UnplacedPod] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """The dominant reason; with the subjects of all pods, if they have several."""
        return worded(self.plugin, [dominant_of(pod.newest).reason for pod in self.pods])

    def trend(self, begin: float, end: float) -> list[int]:
        """Return how many of the pods had been without a node at the end of each part of the window."""
        step = (end - begin) / STEPS
        ends = [begin + step * number for number in range(1, STEPS)] + [end]
        return [sum(pod.since <= moment for pod in self.pods) for moment in ends]


@dataclass(frozen=True, slots=True)
class Summary:
    """The groups, those with the most pods first; the begin of the window, and the decisions read."""

    groups: list[ReasonGroup]
    begin: float
    decisions: int


def summarize(
    journal: DecisionJournal,
    begin: float,
    pending: Callable[[Record], bool],
    *,
    namespace: str = "",
    profile: str = "",
) -> Summary:
    """Return the pods that have had no node since their newest decision.

    Args:
        journal: Has the decisions.
        begin: The begin of the window, in seconds since the epoch.
        pending: Whether the pod of a decision is, by all that is known, still without a node.
        namespace: Only pods of this namespace; "" = all.
        profile: Only decisions of this profile; "" = all.
    """
    seen: set[str] = set()
    waiting: dict[str, UnplacedPod] = {}
    count, oldest = 0, begin
    for seq, entry in _newest_first(journal, begin):
        if isinstance(entry, BatchRecord):
            count += len(entry)
            seen.update(entry.uids)
            oldest = entry.time
            continue
        count += 1
        oldest = entry.time
        if entry.kind in _ASIDE:
            continue
        uid = entry.uid or f"{entry.namespace}/{entry.name}"
        known = waiting.get(uid)
        if known is not None:
            if entry.result is not DecisionResult.SCHEDULED:
                known.since = entry.time
        elif uid not in seen:
            seen.add(uid)
            wanted = namespace in ("", entry.namespace) and profile in ("", entry.profile)
            if wanted and entry.result is not DecisionResult.SCHEDULED and pending(entry):
                waiting[uid] = UnplacedPod(seq, entry, entry.time)
    return Summary(grouped(waiting.values()), max(begin, oldest), count)


def worded(plugin: str, reasons: Sequence[str]) -> str:
    """Return reasons of one plugin with the same code as one, for example ``Insufficient cpu, memory``."""
    distinct = list(dict.fromkeys(reasons))
    known = [code_of(plugin, reason) for reason in distinct[:SHOWN_SUBJECTS]]
    code, subjects = known[0][0] if known[0] else None, [each[1] for each in known if each]
    if code is None or len(distinct) == 1:
        return distinct[0]
    more = len(distinct) - len(subjects)
    named = ", ".join(subjects) + (f" and {more} more" if more else "")
    return TEXTS[code].replace("<subject>", named)


def dominant_of(record: Record) -> NodeRejections:
    """Return the dominant reason of a decision that found no node."""
    why = record.why
    if why is None:
        return NodeRejections("", "", 0)
    return why.dominant or NodeRejections(why.plugin, why.message, 0)


def grouped(pods: Iterable[UnplacedPod]) -> list[ReasonGroup]:
    """Return pods by owner and the code of their dominant reason, the largest groups first."""
    groups: dict[tuple[object, ...], ReasonGroup] = {}
    for pod in pods:
        record, reason = pod.newest, dominant_of(pod.newest)
        key = record.namespace, record.owner, reason.plugin, reason.cause, record.result
        group = groups.get(key)
        if group is None:
            group = groups[key] = ReasonGroup(
                record.namespace, record.owner, reason.plugin, reason.code, record.result
            )
        group.pods.append(pod)
    return sorted(groups.values(), key=lambda group: -len(group.pods))


def _newest_first(journal: DecisionJournal, begin: float) -> Iterator[tuple[int, Record | BatchRecord]]:
    for first, entry in journal.newest_entries():
        if entry.time < begin:
            return
        yield first, entry
