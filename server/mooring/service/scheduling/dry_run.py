"""A dry run of Schedule: every pod sees the ones before it placed, and the live state none."""

from __future__ import annotations

from mooring.decisions.records import DecisionKind
from mooring.framework import SUCCESS, CycleState, Pod, Status
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.runtime.answers import Choice, ForkReserve, NeedsPlugins, Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import Batch
from mooring.service.scheduling.commit_mode import CommitMode
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.scheduling.schedule_answer import AnswerColumns, TieLimit, columns_response
from mooring.service.wire.objects import node_of
from mooring.service.wire.outcomes import result_of
from mooring_client.v1 import scheduling_service_pb2 as pb


class DryRun(CommitMode):
    """Decides the pods of a batch. For one thread."""

    _kind: DecisionKind
    _engine: Engine
    _ties: TieLimit
    _placed: list[tuple[Pod, str]]
    _reserves: dict[str, ForkReserve]

    def __init__(self, backend: Backend, batch: Batch, answer: AnswerColumns, seed: int) -> None:
        self._backend = backend
        self._batch = batch
        self._answer = answer
        self._seed = seed
        observed = batch.mode == pb.COMMIT_MODE_OBSERVE
        self._kind = DecisionKind.OBSERVE if observed else DecisionKind.DRY_RUN

    def decide_at_once(self, progress: Progress) -> pb.ScheduleResponse | None:
        """Decide on top of the live state, without an object per pod; None when that can't be done."""
        batch = self._batch
        if not self._is_plain() or (len(batch) == 1 and progress.may_call_plugins):
            # With plugins, one pod is decided by ``_decide_one``, which asks the cache as well.
            return None
        recorder = self._recorder()
        found = self._backend.engine.decide_batch(
            batch.templates, batch.indices, batch.uids, seed=self._seed, progress=progress
        )
        if found is None or isinstance(found, NeedsPlugins):
            return None
        for profile, count in batch.counts():
            self._count("scheduled", profile, count)
        recorder.chose_columns(batch, found)
        return columns_response(self._backend, batch, found)

    def _begin(self) -> None:
        """Several pods are decided on a copy of the state, since they have to see each other."""
        engine = self._backend.engine
        self._engine = engine.over(self._batch.selection.private()) if len(self._batch) > 1 else engine
        self._ties = TieLimit(self._backend, self._batch)
        self._placed, self._reserves = [], {}

    def _decide_some(self, some: slice, progress: Progress) -> int:
        batch = self._batch
        samples = any(profile.samples for _, profile in batch.templates)
        if samples or len(batch) == 1 or not batch.candidates.everything:
            return 0
        pods = batch.templates, batch.indices[some], batch.names[some], batch.uids[some]
        recorder = self._recorder()
        try:
            choices = self._engine.place_batch(*pods, seed=self._seed, progress=progress)
        except DeadlineExceededError:
            return 0
        for index, choice in zip(batch.indices[some], choices, strict=False):
            self._add(choice, batch.templates[index][1])
        if self._backend.decisions is not None:
            nodes = (choice.node_name or "" for choice in choices)
            self._placed += ((batch.pod(some.start + at)[0], node) for at, node in enumerate(nodes))
            recorder.chose_many(batch, some.start, choices, self._placed)
        return len(choices)

    def _decide_one(self, at: int, progress: SlotProgress) -> None:
        batch, selection = self._batch, self._batch.selection
        pod, profile = batch.pod(at)
        progress.about(pod.metadata.uid)
        selection.leave_out(pod)
        recorder = self._recorder()
        engine = self._engine
        if selection.state is not None and engine.state is not selection.state:
            engine = engine.over(selection.state)
        try:
            choice = engine.decide(pod, profile, batch.candidates, seed=self._seed, progress=progress)
        except MooringError as error:
            self._count("error", profile)
            recorder.ended(pod, profile, "", error)
            raise
        recorder.chose(pod, profile, choice, selection, self._placed)
        status = choice.status
        if choice.node_name is not None and selection.state is not None and len(batch) > 1:
            status = self._placed_on(choice.node_name, pod, profile, choice.written, progress)
            if not status.ok:
                recorder.ended(pod, profile, choice.node_name, status)
        self._add(choice, profile, status)

    def _placed_on(
        self, node_name: str, pod: Pod, profile: Profile, written: CycleState, progress: SlotProgress
    ) -> Status:
        """Let the pods after it see the pod, and the claims and volumes that it takes; or return why not."""
        state, calls = self._batch.selection.private(), self._engine.calls(profile, progress)
        reserve = self._reserves.get(profile.name)
        if reserve is None:
            reserve = self._reserves[profile.name] = ForkReserve(profile, state)
        state.assume(pod, node_name)
        status = reserve.keep(pod, node_name, written, calls)
        if status.ok:
            self._placed.append((pod, node_name))
        else:
            state.forget(pod.metadata.uid)
        return status

    def _recorder(self) -> DecisionRecorder:
        return DecisionRecorder(self._backend, self._kind, self._seed)

    def _is_plain(self) -> bool:
        """Return whether all nodes of the live state are in question, for pods that are on none of them."""
        batch, state = self._batch, self._backend.engine.state
        if not len(batch) or not batch.candidates.everything or batch.selection.state is not None:
            return False
        if state.snapshot.pods.records.keys().isdisjoint(batch.uids):
            return True
        return not any(node_of(state, uid) for uid in batch.uids)

    def _add(self, choice: Choice, profile: Profile, status: Status = SUCCESS) -> None:
        self._answer.version = choice.state_version
        self._answer.add(status, choice.message, choice)
        self._count(result_of(status), profile)
        self._ties.check(self._answer)

    def _count(self, result: str, profile: Profile, count: int = 1) -> None:
        self._backend.metrics.dry_runs.labels(result, profile.name).inc(count)
