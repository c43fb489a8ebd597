"""Every attempt as a decision that is remembered."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.decisions.decisions import Decisions, record_of
from mooring.decisions.records import Circumstances, DecisionKind, DecisionResult, NodeRejections, Why
from mooring.framework import Clock, Code
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.engine import Engine
from mooring.scheduler.attempt import Attempt
from mooring.scheduler.queue import QueuedPod
from mooring.scheduler.scheduling_failure import SchedulingFailure
from mooring.tracing.spans import current_trace_id


@dataclass(frozen=True, slots=True)
class AttemptLog:
    """Notes attempts. Safe from any thread.

    Attributes:
        decisions: Where they are noted; None = nowhere.
        engine: Decides.
        clock: The time.
    """

    decisions: Decisions | None
    engine: Engine
    clock: Clock

    def selected(self, attempt: Attempt, choice: Choice) -> None:
        """Note that the pod of ``attempt`` has got a node, to which it is being bound."""
        if self.decisions is not None:
            self._add(attempt, choice, self._about(attempt, DecisionKind.SCHEDULE))

    def failed(self, attempt: Attempt, failure: SchedulingFailure) -> None:
        """Note that the pod of ``attempt`` has got no node, or that it could not be bound to it."""
        if self.decisions is None:
            return
        kind = DecisionKind.BIND if failure.node else DecisionKind.SCHEDULE
        result = None
        if not failure.rejected:
            result = DecisionResult.FAILED if failure.plugin else DecisionResult.ERROR
        self._add(
            attempt,
            failure.choice,
            self._about(attempt, kind),
            why=None if failure.choice is not None else _why(failure),
            result=result,
            node=failure.node,
            nominated=failure.nominated or "",
        )

    def skipped(self, item: QueuedPod, note: str) -> None:
        """Note that a pod is not tried."""
        if self.decisions is not None:
            about = Circumstances(
                time=self.clock.now(),
                kind=DecisionKind.SCHEDULE,
                profile=item.pod.spec.scheduler_name,
                configuration=self.engine.profiles.configuration,
                repeatable=False,
            )
            record = record_of(
                about,
                item.pod,
                None,
                why=Why(Code.ERROR, reasons=(note,), message=note),
                attempt=item.attempts,
            )
            self.decisions.add(record, item.pod)

    def _add(
        self,
        attempt: Attempt,
        choice: Choice | None,
        about: Circumstances,
        *,
        why: Why | None = None,
        result: DecisionResult | None = None,
        node: str = "",
        nominated: str = "",
    ) -> None:
        assert self.decisions is not None  # noqa: S101 - the callers have looked
        item = attempt.item
        record = record_of(
            about,
            item.pod,
            choice,
            node_epoch=self.engine.state.snapshot.nodes.epoch,
            why=why,
            result=result,
            node=node,
            nominated=nominated,
            attempt=item.attempts,
            queue_wait=max(0.0, about.time - item.queued_at),
            duration=self.clock.monotonic() - attempt.began,
        )
        self.decisions.add(record, item.pod, choice)

    def _about(self, attempt: Attempt, kind: DecisionKind) -> Circumstances:
        assert self.decisions is not None  # noqa: S101 - the callers have looked
        alone = attempt.start is not None and not attempt.profile.extenders_for(attempt.pod)
        return Circumstances(
            time=self.clock.now(),
            kind=kind,
            profile=attempt.profile.name,
            configuration=attempt.profile.configuration,
            start=attempt.start or 0,
            repeatable=alone,
            trace_id=current_trace_id(),
        )


def _why(failure: SchedulingFailure) -> Why:
    plugins = tuple(sorted(failure.rejection.rejectors | ({failure.plugin} if failure.plugin else set())))
    plugin = plugins[0] if len(plugins) == 1 else ""
    return Why(
        Code.UNSCHEDULABLE if failure.rejected else Code.ERROR,
        plugin,
        (failure.message,),
        failure.message,
        plugins,
        NodeRejections(plugin, failure.message, 0),
    )
