"""The answer of Schedule, as columns with one entry per pod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mooring.framework import SUCCESS, Status
from mooring.runtime.choice import Choice, ChoiceColumns
from mooring.service.backend import Backend
from mooring.service.batch import Batch
from mooring.service.node_names import names_of, rows_of
from mooring.service.objects import status_message
from mooring.v1 import scheduling_service_pb2 as pb


@dataclass(slots=True)
class AnswerColumns:
    """The answer while it grows; one entry per pod that had its turn."""

    statuses: dict[tuple[Status, str], int] = field(default_factory=lambda: {(SUCCESS, ""): 0})
    pod_statuses: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    tie_counts: list[int] = field(default_factory=list)
    ties: list[list[str]] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)
    feasible: list[int] = field(default_factory=list)
    outcomes: list[pb.BindOutcome.ValueType] = field(default_factory=list)

    def add(self, status: Status, message: str = "") -> None:
        """One more pod, for which nothing was chosen."""
        number = self.statuses.setdefault((status, message), len(self.statuses))
        self.pod_statuses.append(number)
        self.nodes.append("")
        self.ties.append([])
        for column in (self.totals, self.tie_counts, self.evaluated, self.feasible):
            column.append(0)
        self.outcomes.append(pb.BIND_OUTCOME_UNSPECIFIED)

    def settle(self, position: int, status: Status, message: str, outcome: pb.BindOutcome.ValueType) -> None:
        """What became of a pod that was added before."""
        self.pod_statuses[position] = self.statuses.setdefault((status, message), len(self.statuses))
        self.outcomes[position] = outcome

    def choose(self, choice: Choice, *, ties: bool) -> None:
        """What was chosen for the last pod."""
        self.nodes[-1] = choice.node_name or ""
        self.totals[-1] = choice.total
        self.tie_counts[-1] = choice.tie_count
        self.evaluated[-1] = choice.evaluated
        self.feasible[-1] = choice.feasible
        if ties:
            self.ties[-1] = names_of(choice.evaluation.snapshot.nodes, choice.ties)

    def response(
        self, backend: Backend, batch: Batch, version: int | None, *, include_ties: bool
    ) -> pb.ScheduleResponse:
        """The message; ``version`` is that of the state, None = as it is now."""
        state, selection = backend.engine.state, batch.selection
        # Indices and their epoch must be of one moment; a node that is gone by now has none.
        with state.lock:
            table = (selection.state or state).snapshot.nodes
            version = state.version if version is None else selection.version(version)
            if selection.state is None:
                selection.epoch = table.epoch
            rows = rows_of(table, self.nodes)
            tie_rows = [rows_of(table, names) for names in self.ties] if include_ties else []
        profile, warnings = _profile_and_warnings(batch)
        return pb.ScheduleResponse(
            provenance=backend.provenance(version, selection.epoch, profile),
            nodes=selection.node_list(self.nodes, rows),
            statuses=[status_message(status, message) for status, message in self.statuses],
            pod_statuses=self.pod_statuses,
            totals=self.totals,
            tie_counts=self.tie_counts,
            ties=[selection.node_list(names, at) for names, at in zip(self.ties, tie_rows, strict=False)],
            evaluated_counts=self.evaluated,
            feasible_counts=self.feasible,
            bind_outcomes=self.outcomes if batch.mode == pb.COMMIT_MODE_BIND else (),
            warnings=warnings,
        )


def chosen_response(backend: Backend, batch: Batch, chosen: ChoiceColumns) -> pb.ScheduleResponse:
    """The message when every pod has a node and nothing is committed."""
    selection = batch.selection
    selection.epoch = chosen.epoch
    profile, warnings = _profile_and_warnings(batch)
    response = pb.ScheduleResponse(
        provenance=backend.provenance(chosen.version, chosen.epoch, profile),
        statuses=_SUCCESS,
        pod_statuses=[0] * len(batch),
        totals=chosen.totals,
        tie_counts=chosen.tie_counts,
        evaluated_counts=chosen.evaluated,
        feasible_counts=chosen.feasible,
        warnings=warnings,
    )
    selection.fill(response.nodes, chosen.names, chosen.rows)
    return response


_SUCCESS = (status_message(SUCCESS),)


def _profile_and_warnings(batch: Batch) -> tuple[str, Sequence[str]]:
    """The profile's name, "" when there are several, and what the profiles warn of."""
    profiles = batch.profiles()
    if len(profiles) == 1:
        [profile] = profiles.values()
        return profile.name, profile.warnings
    return "", list(dict.fromkeys(warning for one in profiles.values() for warning in one.warnings))
