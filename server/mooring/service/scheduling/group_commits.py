"""Groups that are reserved or bound. A repeated call finds the places that an earlier one took."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

from mooring.audit.event import AuditedPod
from mooring.decisions.records import DecisionKind, Record
from mooring.framework import SUCCESS, Pod
from mooring.framework.errors import MooringError
from mooring.runtime.answers import Progress
from mooring.runtime.commit.asked_group import AskedGroup, asked_group, nothing_to_do
from mooring.runtime.commit.group_commit import GroupCommitter, PlacedGroup
from mooring.runtime.commit.placement import HeldPlace
from mooring.runtime.commit.preconditions import current_pod
from mooring.service.backend import Backend
from mooring.service.calls.audit import CommitAudit, outcome_of_status
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.wire.groups import group_answer
from mooring.service.wire.objects import pod_reference, status_message
from mooring.service.wire.outcomes import failed_status, held_outcome, outcome_of, outcome_word
from mooring.serving.access.access import asking_client
from mooring_client.v1 import scheduling_service_pb2 as pb

_WORDS: Final = {
    pb.COMMIT_MODE_BIND: "ScheduleGroups+Bind",
    pb.COMMIT_MODE_RESERVE: "ScheduleGroups+Reserve",
}
"""The audit's name of a call that commits."""


class GroupCommits:
    """Commits the groups of one call, one after the other. For one thread. The mode says whether pods are
    reserved or bound.
    """

    def __init__(self, backend: Backend, mode: pb.CommitMode.ValueType, seed: int) -> None:
        self._backend = backend
        self._mode = mode
        self._owner = asking_client().name
        self._seed = seed
        self._audit = CommitAudit(backend.audit, _WORDS[mode], backend.engine.state)
        self._groups = GroupCommitter(backend.engine, backend.committer)

    def commit(self, asked: AskedGroup, progress: Progress) -> pb.ScheduledGroup:
        """Give the group's pods places, as far as they have none. Calls about one group take turns. Raises
        MooringError if the decision failed, or another process leads; nothing is left of it.
        """
        progress.check()
        committer = self._backend.committer
        committer.require_may_commit()
        with committer.reservations.locked_pod(f"group {'/'.join(asked.group.key)}", progress):
            asked = self._current(asked, progress)
            recorder = DecisionRecorder(self._backend, DecisionKind.SCHEDULE, self._seed)
            placed = self._place(asked, progress)
            members = placed.decision.members
            records = recorder.grouped(asked.group, placed.decision, asked.profile)
            for member, record in zip_longest(members, records):
                if member.node_name:
                    self._tell(asked, member.pod, member.node_name, outcome_of_status(member.status), record)
            answer = group_answer(asked, placed)
            answer.pods.extend(self._held(pod, asked, placed, progress) for pod in asked.placed)
        return answer

    def _current(self, asked: AskedGroup, progress: Progress) -> AskedGroup:
        """Return the group as it is now: a call before this one may have placed its pods."""
        pods = [*asked.group.pods, *(pod for pod, _ in asked.gated), *asked.placed]
        now = [current_pod(self._backend.engine.state, pod) for pod in pods]
        return asked_group(self._backend.engine, asked.group.group, now, asked.profile, progress)

    def _place(self, asked: AskedGroup, progress: Progress) -> PlacedGroup:
        if not asked.group.pods:
            return PlacedGroup(nothing_to_do(asked.group, self._backend.engine.state))
        bind = self._mode == pb.COMMIT_MODE_BIND
        return self._groups.place_group(
            asked.group, asked.profile, seed=self._seed, owner=self._owner, bind=bind, progress=progress
        )

    def _held(self, pod: Pod, asked: AskedGroup, placed: PlacedGroup, progress: Progress) -> pb.GroupPod:
        """Answer about a pod that has a place already, and bind it there if all are to be bound."""
        node, committer = pod.spec.node_name, self._backend.committer
        bound = pod.metadata.uid not in committer.reservations
        outcome = held_outcome(HeldPlace(node, bound))
        answer = pb.GroupPod(pod=pod_reference(pod), node=node, verdict=status_message(SUCCESS))
        if not bound and placed.decision.status.ok and self._mode == pb.COMMIT_MODE_BIND:
            try:
                committed = committer.bind_pod(pod, node, asked.profile, progress=progress)
                status, message, outcome = committed.status, committed.status.message, outcome_of(committed)
            except MooringError as error:
                status, message = failed_status(error), error.message
                outcome = pb.COMMIT_OUTCOME_UNSPECIFIED
            answer.verdict.CopyFrom(status_message(status, message))
        answer.outcome = outcome
        self._tell(asked, pod, node, (outcome_word(outcome), ""))
        return answer

    def _tell(
        self, asked: AskedGroup, pod: Pod, node: str, end: tuple[str, str], record: Record | None = None
    ) -> None:
        """Record what became of a pod with a node: the outcome and the message."""
        self._audit.record((AuditedPod.of(pod, node),), asked.profile.key, *end, record)
