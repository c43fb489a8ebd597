"""Answers as decisions that are remembered."""

from __future__ import annotations

from time import time

from mooring.decisions.decisions import why_of_error, write_choice, write_member, write_why
from mooring.decisions.reasons import why_of, why_of_status
from mooring.decisions.records import BatchRecord, DecisionKind, DecisionResult, Placed, Record
from mooring.framework import Pod, PodGroupInfo, Status
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.runtime.answers import (
    Choice,
    ChoiceColumns,
    Evaluation,
    Found,
    GroupDecision,
    PlacedColumns,
    no_choice,
)
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.scheduling.batch import Batch
from mooring.service.wire.selection import Selection
from mooring.tracing.spans import current_span


class DecisionRecorder:
    """Notes the decisions of one call, if decisions are remembered. For one thread."""

    def __init__(self, backend: Backend, kind: DecisionKind, seed: int = 0) -> None:
        self._decisions = backend.decisions
        self._state = backend.engine.state
        self._kind = kind
        self._seed = seed
        self._began = time()

    def looked(
        self, pod: Pod, profile: Profile, selection: Selection, evaluation: Evaluation, version: int
    ) -> None:
        """Note the verdicts on the nodes of ``selection``, none of which is selected."""
        decisions = self._decisions
        if decisions is None:
            return
        record = self._record(pod, profile, selection, version)
        record.evaluated, record.feasible = evaluation.evaluated, evaluation.feasible_count
        if not record.feasible and self._kind is not DecisionKind.SCORE:
            write_why(record, why_of(evaluation))
        decisions.add(record, None if evaluation.of_totals else no_choice(evaluation, version))

    def chose(
        self, pod: Pod, profile: Profile, choice: Choice, selection: Selection, placed: Placed = ()
    ) -> Record | None:
        """Note the choice for a pod; ``placed`` grows by those that the same dry run has placed."""
        decisions = self._decisions
        if decisions is None:
            return None
        record = self._record(pod, profile, selection, choice.state_version)
        write_choice(record, choice)
        if profile.samples and not self._kind.dry:
            record.own_details().repeatable = False
        if placed:
            details = record.own_details()
            details.earlier, details.placed = len(placed), placed
        decisions.add(record, choice)
        return record

    def made_room(
        self, pod: Pod, profile: Profile, selection: Selection, found: Found, node_name: str
    ) -> None:
        """Note that pods may go from a node, "" = from none, so that it takes ``pod``."""
        decisions, (evaluation, version) = self._decisions, found
        if decisions is None:
            return
        record = self._record(pod, profile, selection, version)
        record.evaluated, record.feasible = evaluation.evaluated, evaluation.feasible_count
        if node_name:
            record.own_details().nominated = node_name
        else:
            write_why(record, why_of(evaluation))
        decisions.add(record, no_choice(evaluation, version))

    def ended(self, pod: Pod, profile: Profile, node_name: str, end: Status | MooringError) -> Record | None:
        """Note how placing a pod ended, on the node that was selected before, "" = on none yet."""
        decisions = self._decisions
        if decisions is None:
            return None
        record = self._about(pod, profile)
        record.node = node_name
        if isinstance(end, MooringError):
            write_why(record, why_of_error(end))
            if isinstance(end, PluginFailureError):
                record.own_details().result = DecisionResult.FAILED
        elif not end.ok:
            write_why(record, why_of_status(end))
        record.own_details().repeatable = False
        decisions.add(record)
        return record

    def grouped(
        self, group: PodGroupInfo, decision: GroupDecision, profile: Profile, placed: Placed = ()
    ) -> list[Record]:
        """Note what was decided for each pod of a group; ``placed`` as in ``chose``."""
        decisions, records = self._decisions, list[Record]()
        if decisions is None:
            return records
        for member in decision.members:
            record = self._about(member.pod, profile)
            record.state_version = decision.state_version
            write_member(record, member, decision)
            details = record.own_details()
            details.group, details.earlier, details.placed = group, len(placed), placed
            decisions.add(record)
            records.append(record)
        return records

    def chose_columns(self, batch: Batch, found: ChoiceColumns) -> None:
        """Note the choices of a dry run in which every pod has a node."""
        decisions = self._decisions
        if decisions is None:
            return
        if len(found.names) > 1:
            decisions.add_batch(self._batch_of_columns(batch, found))
            return
        pod, profile = batch.templates[batch.indices[0]]
        record = Record(
            time(),
            self._began,
            self._kind,
            self._seed,
            pod,
            profile.key,
            batch.names[0],
            batch.uids[0],
            found.epoch,
            found.version,
            found.names[0],
            found.totals[0],
            found.tie_counts[0],
            found.evaluated[0],
            found.feasible[0],
        )
        if current_span() is None:
            # The shortest way, since the whole call takes 40 microseconds.
            decisions.journal.add(record)
        else:
            decisions.add(record)

    def chose_many(
        self, batch: Batch, first: int, choices: PlacedColumns, placed: Placed | None = None
    ) -> BatchRecord | None:
        """Note the choices for the pods of the batch from position ``first`` on.

        ``placed`` has the pods that the same dry run placed until now, over its private copy; None if they
        are placed in the live state.
        """
        if self._decisions is None or not choices:
            return None
        some = slice(first, first + len(choices))
        dry = placed is not None
        record = BatchRecord(
            time=time(),
            began=self._began,
            kind=self._kind,
            seed=self._seed,
            templates=batch.templates,
            indices=batch.indices[some],
            names=batch.names[some],
            uids=batch.uids[some],
            nodes=choices.names,
            totals=choices.totals,
            ties=choices.tie_counts,
            evaluated=choices.evaluated,
            feasible=choices.feasible,
            versions=(batch.selection.version(0),) if dry else choices.versions,
            node_epoch=self._state.snapshot.nodes.epoch,
            repeatable=_is_live(batch.selection),
        )
        if placed is not None:
            record.earlier, record.placed = len(placed) - len(choices), placed
        self._decisions.add_batch(record)
        return record

    def _batch_of_columns(self, batch: Batch, found: ChoiceColumns) -> BatchRecord:
        return BatchRecord(
            time(),
            self._began,
            self._kind,
            self._seed,
            batch.templates,
            batch.indices,
            batch.names,
            batch.uids,
            found.names,
            found.totals,
            found.tie_counts,
            found.evaluated,
            found.feasible,
            (found.version,),
            found.epoch,
        )

    def _record(self, pod: Pod, profile: Profile, selection: Selection, version: int) -> Record:
        """Return the record of a decision about the nodes of ``selection`` in that version."""
        record = self._about(pod, profile)
        # A private copy has versions of its own.
        record.state_version = version if selection.state is None else selection.version(version)
        if not _is_live(selection):
            record.own_details().repeatable = False
        return record

    def _about(self, pod: Pod, profile: Profile) -> Record:
        metadata = pod.metadata
        return Record(
            time(),
            self._began,
            self._kind,
            self._seed,
            pod,
            profile.key,
            metadata.name,
            metadata.uid,
            self._state.snapshot.nodes.epoch,
        )


def _is_live(selection: Selection) -> bool:
    """Return whether all nodes of the live state are in question."""
    return selection.covers_all and not selection.hypothetical
