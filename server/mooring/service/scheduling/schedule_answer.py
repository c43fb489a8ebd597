"""The answer of Schedule, as columns with one entry per pod."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec

from mooring.framework import SUCCESS, Status
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.memory import share_of_memory
from mooring.runtime.answers import Choice, ChoiceColumns, PlacedColumns
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.scheduling.batch import Batch
from mooring.service.wire.node_names import NO_ROW, names_of, rows_of
from mooring.service.wire.objects import status_message
from mooring_client.v1 import scheduling_service_pb2 as pb

_BEFORE_ANY_POD: dict[tuple[Status, str], int] = {(SUCCESS, ""): 0}
"""The statuses of a new answer; a copy spares the hash of one, which is Python code."""


class AnswerColumns(msgspec.Struct, kw_only=True, eq=False):
    """The answer while it grows; one entry per pod that had its turn. Thread-safe.

    A struct, as every call makes one: it is made in one step.

    Attributes:
        include_ties: Whether to return all nodes with the highest total.
        epoch: The node epoch of the live state before the first decision.
        version: The version of the state that the last pod was decided in; None = the newest.
        ties: By pod, their names; none unless they are requested.
    """

    include_ties: bool
    epoch: int
    version: int | None = None
    ties: list[list[str]] = []
    _statuses: dict[tuple[Status, str], int] = msgspec.field(default_factory=_BEFORE_ANY_POD.copy)
    _pod_verdicts: list[int] = []
    _nodes: list[str] = []
    _rows: list[int] = []
    _totals: list[int] = []
    _tie_counts: list[int] = []
    _evaluated: list[int] = []
    _feasible: list[int] = []
    _outcomes: list[pb.CommitOutcome.ValueType] = []
    _committed: bool = False
    _closed: bool = False
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def __len__(self) -> int:
        """How many pods had their turn."""
        return len(self._pod_verdicts)

    def add(
        self,
        status: Status,
        message: str = "",
        choice: Choice | None = None,
        outcome: pb.CommitOutcome.ValueType = pb.COMMIT_OUTCOME_UNSPECIFIED,
    ) -> None:
        """One more pod, and what was decided for it; nothing once closed."""
        with self._lock:
            if not self._closed:
                self._committed = self._committed or status.ok
                self._put(status, message, choice, outcome)

    def add_reserved(self, choices: PlacedColumns) -> None:
        """Add pods that got the selected nodes; does nothing once closed."""
        with self._lock:
            if self._closed:
                return
            self._committed = True
            self._pod_verdicts += [0] * len(choices)
            self._outcomes += [pb.COMMIT_OUTCOME_RESERVED] * len(choices)
            self._nodes += choices.names
            self._rows += choices.rows
            self._totals += choices.totals
            self._tie_counts += choices.tie_counts
            self._evaluated += choices.evaluated
            self._feasible += choices.feasible

    def add_held(
        self,
        node_name: str,
        row: int,
        outcome: pb.CommitOutcome.ValueType,
        status: Status = SUCCESS,
        message: str = "",
    ) -> None:
        """One more pod, which had its node before; nothing once closed."""
        with self._lock:
            if not self._closed:
                self._committed = self._committed or status.ok
                self._put(status, message, None, outcome)
                self._nodes[-1], self._rows[-1] = node_name, row

    def settle(
        self, position: int, status: Status, message: str, outcome: pb.CommitOutcome.ValueType
    ) -> None:
        """Set the outcome of a pod that was added before; ignored once closed."""
        with self._lock:
            if not self._closed:
                self._committed = self._committed or status.ok
                self._pod_verdicts[position] = self._number_of(status, message)
                self._outcomes[position] = outcome

    def close(self, count: int, status: Status) -> bool:
        """Take nothing more; the others of ``count`` pods get ``status``. Whether a pod was committed."""
        with self._lock:
            self._closed = True
            if self._committed:
                for _ in range(count - len(self)):
                    self._put(status, "", None, pb.COMMIT_OUTCOME_UNSPECIFIED)
            return self._committed

    def _number_of(self, status: Status, message: str) -> int:
        return self._statuses.setdefault((status, message), len(self._statuses))

    def _put(
        self, status: Status, message: str, choice: Choice | None, outcome: pb.CommitOutcome.ValueType
    ) -> None:
        self._pod_verdicts.append(self._number_of(status, message))
        self._outcomes.append(outcome)
        self._nodes.append(choice.node_name or "" if choice else "")
        self._rows.append(choice.row if choice else NO_ROW)
        self._totals.append(choice.total if choice else 0)
        self._tie_counts.append(choice.tie_count if choice else 0)
        self._evaluated.append(choice.evaluated if choice else 0)
        self._feasible.append(choice.feasible if choice else 0)
        if self.include_ties:
            self.ties.append(names_of(choice.evaluation.snapshot.nodes, choice.ties) if choice else [])

    def response(self, backend: Backend, batch: Batch) -> pb.ScheduleResponse:
        """Return the message."""
        state, selection = backend.engine.state, batch.selection
        # Indices and their epoch must be of one moment; a node that is gone by now has none.
        with state.lock:
            table = (selection.state or state).snapshot.nodes
            version = state.version if self.version is None else selection.version(self.version)
            if selection.state is None:
                selection.epoch = table.epoch
            # If no node was added or removed, the selected rows still belong to the same nodes.
            steady = selection.state is None and table.epoch == self.epoch
            rows = self._rows if steady else rows_of(table, self._nodes)
            tie_rows = [rows_of(table, names) for names in self.ties]
        profiles = batch.profiles()
        response = pb.ScheduleResponse(
            provenance=backend.provenance(version, selection.epoch, *profiles),
            verdicts=[status_message(status, message) for status, message in self._statuses],
            pod_verdicts=self._pod_verdicts,
            totals=self._totals,
            tie_counts=self._tie_counts,
            ties=[selection.node_list(names, at) for names, at in zip(self.ties, tie_rows, strict=True)],
            evaluated_counts=self._evaluated,
            feasible_counts=self._feasible,
            outcomes=self._outcomes if batch.commits else (),
            warnings=_warnings(profiles),
        )
        selection.fill(response.nodes, self._nodes, rows)
        return response


def columns_response(backend: Backend, batch: Batch, found: ChoiceColumns) -> pb.ScheduleResponse:
    """Return the response when every pod has a node and nothing is committed."""
    selection = batch.selection
    selection.epoch = found.epoch
    profiles = batch.profiles()
    response = pb.ScheduleResponse(
        provenance=backend.provenance(found.version, found.epoch, *profiles),
        verdicts=_SUCCESS,
        pod_verdicts=[0] * len(batch),
        totals=found.totals,
        tie_counts=found.tie_counts,
        evaluated_counts=found.evaluated,
        feasible_counts=found.feasible,
        warnings=_warnings(profiles),
    )
    selection.fill(response.nodes, found.names, found.rows)
    return response


_SUCCESS = (status_message(SUCCESS),)


def _warnings(profiles: Sequence[Profile]) -> Sequence[str]:
    """Return the profiles' warnings, each once."""
    if len(profiles) == 1:
        return profiles[0].warnings
    return list(dict.fromkeys(warning for profile in profiles for warning in profile.warnings))


MAX_TIE_BYTES = share_of_memory(16, 64 << 20)
"""The most bytes of a call's ties on the wire; in memory they take several times as much."""


class TieLimit:
    """Rejects a request once its ties can no longer fit into one message. For one thread."""

    def __init__(self, backend: Backend, batch: Batch) -> None:
        self._backend = backend
        self._batch = batch
        self._bytes = 0

    def check(self, answer: AnswerColumns) -> None:
        """Count the ties that were added last. Raises InvalidArgumentError if all together take too much."""
        if self._batch.include_ties:
            self._bytes += self._batch.selection.least_bytes(answer.ties[-1])
            self._reject(len(answer), self._bytes)

    def check_worst(self) -> None:
        """As if all nodes tied for every pod. Raises InvalidArgumentError if they would take too much."""
        if self._batch.include_ties:
            most = self._batch.selection.all_bytes(self._backend.engine.state)
            self._reject(len(self._batch), len(self._batch) * most)

    def _reject(self, count: int, size: int) -> None:
        most = min(self._backend.limits.max_message_bytes, MAX_TIE_BYTES)
        if size > most:
            raise InvalidArgumentError.at(
                "include_ties",
                f"the ties of {count} pods take more than the {most} bytes that there is room for; send "
                "fewer pods in one call, or ask for indices",
            )
