"""Why pods have no node: DecisionService.SummarizeReasons."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import partial

import grpc

from mooring.decisions.asking import UndecidedPods
from mooring.decisions.journal import DecisionJournal
from mooring.decisions.records import DecisionResult, Record
from mooring.decisions.summary import ReasonGroup, UnplacedPod, grouped, summarize
from mooring.framework import Pod
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PluginFailureError,
)
from mooring.framework.label_selector import LabelMatcher
from mooring.framework.state import ClusterState
from mooring.runtime.answers import Progress
from mooring.service.backend import Backend
from mooring.service.calls.pages import list_limit
from mooring.service.calls.slots import SlotProgress
from mooring.service.change_answer import option_message
from mooring.service.wire.decision_messages import duration, reference, result_message, timestamp
from mooring.service.wire.findings import code_value
from mooring.service.wire.objects import label_matcher
from mooring.sessions.change.advice import SECONDS, Advisor
from mooring.sessions.work_trees import Work
from mooring_client.v1 import decision_service_pb2 as pb

EXAMPLES = 3
ADVISING_SECONDS = 1.0
"""How long SummarizeReasons looks for advice at most."""


class PendingReasons:
    """Groups the pods without a node by their reasons. Safe from any thread. It reads the backend's journal;
    pods that are decided about now run in the slots of sessions.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._asking = UndecidedPods(backend.engine)

    def summarize(
        self, journal: DecisionJournal, request: pb.SummarizeReasonsRequest, context: grpc.ServicerContext
    ) -> pb.SummarizeReasonsResponse:
        """Answer SummarizeReasons. Raises InvalidArgumentError if the limit, the window or the label selector
        can't be used.
        """
        limit = list_limit(request.limit)
        window = request.window.ToNanoseconds() / 1e9
        if window < 0:
            raise InvalidArgumentError.at("window", "must be 0 or more")
        matcher = label_matcher(request.label_selector, "label_selector")
        state, now = self._backend.engine.state, time.time()
        begin = now - window if window else 0.0
        pending = partial(still_pending, state)
        if not matcher.empty:
            pending = partial(_pending_with, state, matcher)
        found = summarize(journal, begin, pending, namespace=request.namespace, profile=request.profile)
        first = found.begin or now
        remembered = [pod for group in found.groups for pod in group.pods]
        unexplained = self._unexplained(request, matcher, {pod.newest.uid for pod in remembered})
        asked: list[UnplacedPod] = []
        if unexplained and request.ask_now:
            asked = self._backend.in_session_slot(context, partial(self._asking.ask, unexplained))
        groups = grouped([*remembered, *asked])
        messages = [group_message(group, first, now) for group in groups[:limit]]
        if request.advise and groups:
            about = list(zip(groups, messages, strict=False))
            self._backend.in_session_slot(context, partial(self._advise, about))
        return pb.SummarizeReasonsResponse(
            groups=messages,
            group_count=len(groups),
            pod_count=len(remembered) + len(asked),
            decision_count=found.decisions,
            window=duration(max(0.0, now - first)),
            asked_count=len(asked),
            unexplained_count=len(unexplained) - len(asked),
        )

    def _advise(self, groups: Sequence[tuple[ReasonGroup, pb.ReasonGroup]], progress: SlotProgress) -> None:
        """Add to each group what would help its first pod, as far as the time suffices."""
        end = time.monotonic() + ADVISING_SECONDS
        with self._backend.sessions.asking(progress) as work:
            for group, message in groups:
                seconds = min(SECONDS, end - time.monotonic())
                advise(self._backend.advisor, work, group, message, progress, seconds=seconds)

    def _unexplained(
        self, request: pb.SummarizeReasonsRequest, matcher: LabelMatcher, known: Collection[str]
    ) -> list[Pod]:
        """Return the wanted pods of the state that have no node and are not among the known ones."""
        return [
            pod
            for pod in self._backend.engine.state.snapshot.pods.pending()
            if pod.metadata.uid not in known
            and request.namespace in ("", pod.metadata.namespace)
            and request.profile in ("", pod.spec.scheduler_name)
            and matcher.matches(pod.metadata.labels)
        ]


def still_pending(state: ClusterState, record: Record) -> bool:
    """Return whether the pod of a decision has no node in the state."""
    known = state.snapshot.pods.get(record.uid)
    if known is None:
        # One that came with a call is not in the state; one from the queue is gone.
        return not record.details.attempt
    return not known.node_name


def _pending_with(state: ClusterState, matcher: LabelMatcher, record: Record) -> bool:
    """Return whether the state has the pod of a decision with such labels, and without a node."""
    known = state.snapshot.pods.get(record.uid)
    return known is not None and not known.node_name and matcher.matches(known.pod.metadata.labels)


def group_message(group: ReasonGroup, begin: float, end: float) -> pb.ReasonGroup:
    """Encode a group of pods, with its trend from ``begin`` to ``end``."""
    newest = group.pods[0]
    why = newest.newest.why
    dominant = why.dominant if why is not None else None
    message = pb.ReasonGroup(
        namespace=group.namespace,
        controller_kind=group.owner[0],
        controller_name=group.owner[1],
        reason=pb.NodeRejections(
            plugin=group.plugin,
            reason=group.reason,
            node_count=dominant.count if dominant else 0,
            code=code_value(group.code),
        ),
        result=result_message(group.result),
        pod_count=len(group.pods),
        examples=[reference(pod.newest) for pod in group.pods[:EXAMPLES]],
        newest_time=timestamp(newest.newest.time),
        last_seq=newest.seq,
        trend=group.trend(begin, end),
        message=why.message if why is not None else "",
        nominated_count=sum(bool(pod.newest.details.nominated) for pod in group.pods),
    )
    if known := [pod.since for pod in group.pods if pod.since]:
        message.oldest_time.CopyFrom(timestamp(min(known)))
    return message


def advise(
    advisor: Advisor,
    work: Work,
    group: ReasonGroup,
    message: pb.ReasonGroup,
    progress: Progress,
    *,
    seconds: float = SECONDS,
) -> None:
    """Add what would help the first pod of a group, unless preemption will.

    With no ``seconds`` left, only what is remembered is added.
    """
    newest = group.pods[0].newest
    if newest.details.nominated or newest.why is None or group.result is DecisionResult.SCHEDULED:
        return
    try:
        found = advisor.advise(work, newest.subject().on_node(""), newest.profile, progress, seconds=seconds)
    except (NotFoundError, FailedPreconditionError, PluginFailureError):
        return
    message.advice_partial = not found.complete
    if found.options and found.options[0].steps:
        message.advice.CopyFrom(option_message(found.options[0]))
