"""Where every decision is noted, whichever part made it."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.decisions.explanations import Explanations
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.reasons import why_of
from mooring.decisions.records import (
    NOBODY,
    BatchRecord,
    Circumstances,
    DecisionResult,
    Placed,
    Record,
    Why,
    owner_of,
)
from mooring.decisions.repeating import KeptPods
from mooring.framework import Code, Pod
from mooring.framework.errors import PluginFailureError
from mooring.runtime.cycle.choice import Choice, ChoiceColumns
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.tracing.spans import Attributes, current_span


class Decisions:
    """The decisions of one process. Safe from any thread; noting one never waits.

    Args:
        journal: Where they are noted.
        explanations: Keeps some of their explanations; None = none.
        pods: Keeps the pods, to make decisions again; None = they are not made again.
    """

    def __init__(
        self,
        journal: DecisionJournal,
        explanations: Explanations | None = None,
        pods: KeptPods | None = None,
    ) -> None:
        self.journal = journal
        self.explanations = explanations
        self.pods = pods

    def add(self, record: Record, pod: Pod, choice: Choice | None = None) -> int:
        """Note a decision about ``pod``, on the span that is worked on as well; returns its number."""
        span = current_span()
        if span is not None:
            span.set_attributes(_attributes(record))
        seq = self.journal.add(record)
        if self.pods is not None:
            self.pods.put(seq, pod)
        if choice is not None and self.explanations is not None:
            self.explanations.offer(seq, record, choice)
        return seq

    def add_batch(self, batch: BatchRecord) -> None:
        """Note the decisions of a call that all found a node."""
        self.journal.add(batch)


def record_of(  # noqa: PLR0913 - what a decision has beside its choice
    about: Circumstances,
    pod: Pod,
    choice: Choice | None,
    *,
    node_epoch: int = 0,
    why: Why | None = None,
    result: DecisionResult | None = None,
    node: str = "",
    nominated: str = "",
    attempt: int = 0,
    queue_wait: float = 0.0,
    duration: float = 0.0,
    placed: Placed = (),
) -> Record:
    """Return the record of a decision about ``pod``.

    Args:
        about: When, with what and what for.
        pod: The pod.
        choice: What was decided; None when the attempt ended before that.
        node_epoch: As in ``Record``.
        why: Why there is no node; None = as ``choice`` says.
        result: How it ended; None = as ``why`` and ``choice`` say.
        node: The node that the pod had before; "" = what ``choice`` says.
        nominated: As in ``Record``, like what follows.
        attempt: As there.
        queue_wait: As there.
        duration: As there.
        placed: The pods that the same dry run has placed before, by itself or on a private copy of the state.
    """
    metadata = pod.metadata
    if why is None and choice is not None and choice.node_name is None and about.kind.selects:
        why = why_of(choice.evaluation)
    runner_up, runner_up_total = ("", 0) if choice is None else _runner_up(choice)
    return Record(
        about=about,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        owner=owner_of(pod),
        state_version=choice.state_version if choice is not None else 0,
        node_epoch=node_epoch,
        result=result or _result_of(why),
        node=node or ((choice.node_name or "") if choice is not None else ""),
        nominated=nominated,
        total=choice.total if choice is not None else 0,
        runner_up=runner_up,
        runner_up_total=runner_up_total,
        ties=choice.tie_count if choice is not None else 0,
        evaluated=choice.evaluated if choice is not None else 0,
        feasible=choice.feasible if choice is not None else 0,
        why=why,
        attempt=attempt,
        queue_wait=queue_wait,
        duration=duration,
        earlier=len(placed),
        placed=placed,
    )


def record_from_cache(
    about: Circumstances, pod: Pod, choice: Choice, node_epoch: int, duration: float
) -> Record:
    """As ``record_of`` for a choice from a cached evaluation, of which there are many, in less time."""
    metadata = pod.metadata
    return Record(
        about=about,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        owner=owner_of(pod) if metadata.owner_references else NOBODY,
        state_version=choice.state_version,
        node_epoch=node_epoch,
        result=DecisionResult.SCHEDULED,
        node=choice.node_name or "",
        total=choice.total,
        ties=choice.tie_count,
        evaluated=choice.evaluated,
        feasible=choice.feasible,
        duration=duration,
    )


def batch_of_columns(
    about: Sequence[Circumstances],
    pods: tuple[Sequence[Pod], Sequence[int], Sequence[str], Sequence[str]],
    found: ChoiceColumns,
    duration: float,
) -> BatchRecord:
    """Return the record of a dry run: of ``pods``, given as templates, indices, names and UIDs."""
    templates, indices, names, uids = pods
    return BatchRecord(
        about=about,
        templates=templates,
        indices=indices,
        names=names,
        uids=uids,
        nodes=found.names,
        totals=found.totals,
        ties=found.tie_counts,
        evaluated=found.evaluated,
        feasible=found.feasible,
        versions=() if not found.names else (found.version,),
        node_epoch=found.epoch,
        duration=duration,
    )


def batch_of_choices(
    about: Sequence[Circumstances],
    pods: tuple[Sequence[Pod], Sequence[int], Sequence[str], Sequence[str]],
    choices: Sequence[Choice],
    node_epoch: int,
    duration: float,
) -> BatchRecord:
    """Return the record of pods that were placed one after the other, each given as ``batch_of_columns``."""
    templates, indices, names, uids = pods
    return BatchRecord(
        about=about,
        templates=templates,
        indices=indices,
        names=names,
        uids=uids,
        nodes=[choice.node_name or "" for choice in choices],
        totals=[choice.total for choice in choices],
        ties=[choice.tie_count for choice in choices],
        evaluated=[choice.evaluated for choice in choices],
        feasible=[choice.feasible for choice in choices],
        versions=[choice.state_version for choice in choices],
        node_epoch=node_epoch,
        duration=duration,
    )


def why_of_error(error: Exception) -> Why:
    """Return why an attempt ended without a decision."""
    plugin = ""
    if isinstance(error, PluginFailureError):
        plugin = error.metadata.get("plugin", "")
    return Why(Code.ERROR, plugin, (str(error),), str(error), (plugin,) if plugin else ())


def _result_of(why: Why | None) -> DecisionResult:
    if why is None:
        return DecisionResult.SCHEDULED
    return DecisionResult.ERROR if why.code is Code.ERROR else DecisionResult.UNSCHEDULABLE


def _runner_up(choice: Choice) -> tuple[str, int]:
    """Return the node with the next lower total, and that; "" where it isn't known or there is none."""
    source = choice.source
    if not isinstance(source, Evaluation) or source.scores is None or choice.node_name is None:
        return "", 0
    totals = source.scores.totals
    lower = totals[totals < choice.total]
    if not len(lower):
        return "", 0
    total = int(lower.max())
    position = source.feasible[int((totals == total).argmax())]
    return source.names[source.rows[position]], total


def _attributes(record: Record) -> Attributes:
    """Return what a span says of a decision, by OpenTelemetry's names where there are any."""
    return {
        "k8s.namespace.name": record.namespace,
        "k8s.pod.name": record.name,
        "k8s.pod.uid": record.uid,
        "k8s.node.name": record.node,
        "mooring.profile": record.about.profile,
        "mooring.result": record.result.name.lower(),
        "mooring.nodes.evaluated": record.evaluated,
        "mooring.nodes.feasible": record.feasible,
    }
