"""How much of an answer of Schedule its ties may take."""

from __future__ import annotations

from mooring.framework.errors import InvalidArgumentError
from mooring.framework.memory import share_of_memory
from mooring.service.backend import Backend
from mooring.service.scheduling.batch import Batch
from mooring.service.scheduling.schedule_answer import AnswerColumns

MAX_TIE_BYTES = share_of_memory(16, 64 << 20)
"""The most bytes of a call's ties on the wire; in memory they take several times as much."""


class TieLimit:
    """Rejects a request once its ties can no longer fit into one message. For one thread."""

    def __init__(self, backend: Backend, batch: Batch) -> None:
        self._backend = backend
        self._batch = batch
        self._bytes = 0

    def check(self, answer: AnswerColumns) -> None:
        """Count the ties that were added last.

        Raises:
            InvalidArgumentError: All together take too much.
        """
        if self._batch.include_ties:
            self._bytes += self._batch.selection.least_bytes(answer.ties[-1])
            self._reject(len(answer), self._bytes)

    def check_worst(self) -> None:
        """As if all nodes tied for every pod.

        Raises:
            InvalidArgumentError: They would take too much.
        """
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
