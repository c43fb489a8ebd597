"""Rules whose reads are declared, and that evaluate many combinations of values in one call.

Such a rule may be in another process, so it is called as rarely as possible: with all combinations that are
new, and with those to which the next pods will lead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.framework import (
    SUCCESS,
    CycleState,
    Dependencies,
    Int32s,
    Int64s,
    NodeView,
    Plugin,
    Pod,
    Status,
    Verdicts,
)
from mooring.framework.errors import PluginUnavailableError
from mooring.framework.pod_counter import PodCounter
from mooring.framework.view import NodesChangedError
from mooring.runtime.pure.answers import MAX_LEAVES, Answers, NotPureError, PodInState
from mooring.runtime.pure.declared import (
    NodeColumn,
    PodField,
    PodValue,
    Texts,
    column_of,
    declared_reads,
    distinct,
)
from mooring.runtime.pure.followed_plugin import FollowedPlugin, FollowedWay
from mooring.runtime.pure.reads import COUNTED, MEASURED, MEASUREMENTS, Reads

STATUS_BITS = 16
"""An answer is one number: the score, and in these lowest bits the number of its status."""

MAX_SCORE = 1 << 46
"""Raw scores are less, above and below 0."""

AHEAD_BELOW, AHEAD = 64, 8
"""With fewer new combinations than this, a call has those as well to which this many more pods like the pod
lead."""

REMEMBERED_BELOW = 1024
"""With more combinations than this their answers are kept by node alone: a call takes less time than finding
them by value."""

_UNKNOWN = int(np.iinfo(np.int64).min)


class Combinations(msgspec.Struct, frozen=True):
    """A question.

    Attributes:
        pod: One value for each of the rule's fields.
        numbers: int64[C, K], for each of its columns K numbers, or the numbers of texts.
        texts: For each column, its texts from number 1 on; None if it has numbers.
    """

    pod: tuple[PodValue, ...]
    numbers: Int64s
    texts: tuple[Sequence[str] | None, ...]


class BulkAnswer(msgspec.Struct, frozen=True):
    """The answer.

    Attributes:
        statuses: The distinct rejections.
        codes: uint8[K], 0 = Success, 1 = the first of ``statuses``.
        scores: int64[K], below ``MAX_SCORE``.
    """

    statuses: Sequence[Status]
    codes: npt.NDArray[np.uint8]
    scores: Int64s


class BulkRule(Plugin[Any], FollowedWay):
    """Base of such rules.

    Attributes:
        fields: The values of pods that the rule reads.
        columns: The values of nodes that it reads.
        changed: Called when earlier answers no longer count, or ``fields`` and ``columns`` have changed.
        passed_over: Whether all nodes score alike, since the rule can't be called and may be ignored.
    """

    fields: tuple[PodField, ...]
    columns: tuple[NodeColumn, ...]
    changed: Callable[[], None]
    passed_over: bool = False
    ignorable: bool = False

    @abstractmethod
    def evaluate(self, combinations: Combinations) -> BulkAnswer:
        """Filter and score.

        Raises:
            PluginFailureError: There is no answer, or a wrong one.
        """

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        """As of ``FilterPlugin``, without anything that is remembered."""
        answers = BulkAnswers(self, Reads())
        return answers.verdicts(answers.freshly(state, pod, nodes))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """As of ``ScorePlugin``, likewise."""
        if self.passed_over:
            return np.zeros(len(nodes), np.int64)
        return scores_of(BulkAnswers(self, Reads()).freshly(state, pod, nodes))


class _Memory:
    """Answers by the values of columns, for each combination of values of a pod; and the numbers of texts.

    Attributes:
        texts: For each column.
        by_pod: The answers.
        many: The last combinations that were too many to be remembered, by pod.
        sample: A combination that was answered, by pod.
    """

    def __init__(self, columns: int) -> None:
        self.texts = tuple([Texts() for _ in range(columns)])
        self.by_pod: dict[Hashable, dict[bytes, int]] = {}
        self.many: dict[Hashable, Int64s] = {}
        self.sample: dict[Hashable, tuple[Int64s, int]] = {}
        self.size = 0

    @property
    def full(self) -> bool:
        """Whether it holds as much as it may."""
        sizes = self.size, 16 * len(self.sample), *[len(each.values) for each in self.texts]
        return max(sizes) >= MAX_LEAVES


class BulkAnswers(Answers):
    """The answers of one rule, each a status and a score. Safe from any thread.

    Args:
        rule: The rule.
        reads: Its reads.
        begun_again: As of ``Answers``.
    """

    def __init__(self, rule: BulkRule, reads: Reads, begun_again: Callable[[], None] = lambda: None) -> None:
        super().__init__(_never, _never, reads, begun_again)
        self._rule = rule
        self._statuses: dict[Status, int] = {SUCCESS: 0}
        self._known = tuple(self._statuses)
        self._memory = _Memory(len(rule.columns))
        keys = [key for field in rule.fields for key in field.keys]
        counted = [column.key[1] for column in rule.columns if column.key[0] == COUNTED]
        self._counters: tuple[PodCounter, ...] = tuple(dict.fromkeys(counted))  # type: ignore[arg-type]
        keys += [("pod", "metadata", "labels", "[]", counter.label) for counter in self._counters]
        if any(column.key[0] == MEASURED for column in rule.columns):
            keys.append((MEASUREMENTS,))
        self._context = tuple(dict.fromkeys(keys))

    def forget(self) -> None:
        """As of ``Answers``."""
        super().forget()
        self._memory = _Memory(len(self._rule.columns))

    def freshly(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """int64[K]: as ``about``, without remembered answers."""
        return self._found(PodInState(state, pod, nodes.snapshot), nodes.rows)

    def verdicts(self, answers: Int64s) -> Verdicts:
        """Return the verdicts of ``answers`` (int64[K])."""
        codes = answers & ((1 << STATUS_BITS) - 1)
        if not codes.any():
            return Verdicts.passed(len(codes))
        present, which = np.unique(np.append(0, codes), return_inverse=True)
        return Verdicts(which[1:].astype(np.int32), tuple([self._known[each] for each in present.tolist()]))

    def _found(self, question: PodInState, rows: Int32s) -> Int64s:
        if self._memory.full:
            self._begin_again()
        memory, rule = self._memory, self._rule
        pod = tuple([field.value(question.pod) for field in rule.fields])
        if not len(rows):
            return np.zeros(0, np.int64)
        columns = [
            column_of(column, question.snapshot, rows, texts, question.counts)
            for column, texts in zip(rule.columns, memory.texts, strict=True)
        ]
        matrix = np.stack(columns) if columns else np.zeros((1, len(rows)), np.int64)
        first, which = distinct(matrix)
        return self._of_combinations(memory, question.pod, pod, matrix[:, first])[which]

    def _of_combinations(
        self, memory: _Memory, asker: Pod, pod: tuple[PodValue, ...], wanted: Int64s
    ) -> Int64s:
        """int64[U]: the answers about ``wanted`` (int64[C, U]), which differ from each other."""
        if wanted.shape[1] >= REMEMBERED_BELOW:
            # Those of one pod, because they take much memory.
            memory.many = {pod: wanted}
            return self._ask(memory, pod, wanted)
        known, keys = memory.by_pod.setdefault(pod, {}), _keys(wanted)
        answers = np.array([known.get(key, _UNKNOWN) for key in keys], np.int64)
        missing = np.flatnonzero(answers == _UNKNOWN)
        if len(missing):
            new = wanted[:, missing]
            ahead = self._ahead(memory, asker, pod, new)
            found = self._ask(memory, pod, np.concatenate([new, *ahead], axis=1))
            answers[missing] = found[: len(missing)]
            more = [key for part in ahead for key in _keys(part)]
            before = len(known)
            known.update(zip([*[keys[at] for at in missing.tolist()], *more], found.tolist(), strict=True))
            memory.size += len(known) - before
        return answers

    def _ahead(self, memory: _Memory, asker: Pod, pod: tuple[PodValue, ...], new: Int64s) -> list[Int64s]:
        """Return the combinations to which further pods like ``asker`` lead."""
        if new.shape[1] > AHEAD_BELOW:
            return []
        steps = np.array([column.step(asker) for column in self._rule.columns], np.int64)[:, np.newaxis]
        if not steps.any():
            return []
        ahead = [new + steps * count for count in range(1, AHEAD + 1)]
        many = memory.many.pop(pod, None)
        return ahead if many is None else [*ahead, many + steps]

    def _ask(self, memory: _Memory, pod: tuple[PodValue, ...], wanted: Int64s) -> Int64s:
        """int64[U]: the rule's answers. The call repeats a combination that is known."""
        sample = memory.sample.get(pod)
        asked = wanted if sample is None else np.concatenate([wanted, sample[0]], axis=1)
        columns = self._rule.columns
        texts = tuple(
            [
                None if column.value is None else each.values
                for column, each in zip(columns, memory.texts, strict=True)
            ]
        )
        said = self._rule.evaluate(Combinations(pod, asked[: len(columns)], texts))
        self.calls += 1
        numbers = np.array([0, *map(self._number_of, said.statuses)], np.int64)[said.codes]
        answers: Int64s = (np.where(numbers, 0, said.scores) << STATUS_BITS) | numbers
        if sample is not None and answers[-1] != sample[1] and memory is self._memory:
            raise NotPureError("gave two answers for equal values")
        memory.sample[pod] = wanted[:, -1:], int(answers[wanted.shape[1] - 1])
        return answers[: wanted.shape[1]]

    def _number_of(self, status: Status) -> int:
        number = self._statuses.get(status)
        if number is None:
            with self._lock:
                if len(self._statuses) >= MAX_LEAVES:
                    raise NotPureError(f"gives more than {MAX_LEAVES} different answers")
                number = self._statuses.setdefault(status, len(self._statuses))
                self._known = tuple(self._statuses)
        return number

    def _check(self, question: PodInState, nodes: NodeView, versions: Int64s, answers: Int64s) -> None:
        """Each question already asks again about something that is known."""


class BulkPlugin(FollowedPlugin):
    """Stands for such a rule in the engine. Safe from any thread."""

    def __init__(self, rule: BulkRule) -> None:
        super().__init__(rule)
        self.bulk_rule = rule
        self._declare()
        rule.changed = self._change

    def dependencies(self, pod: Pod) -> Dependencies:
        """Return what is declared."""
        return self.found.dependencies(pod)

    def verdicts(self, answers: Answers, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        """As of ``FollowedPlugin``."""
        return self._bulk.verdicts(answers.about(state, pod, nodes))

    def scores(self, answers: Answers, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """As of ``FollowedPlugin``."""
        rule = self.bulk_rule
        try:
            if not rule.passed_over:
                return scores_of(answers.about(state, pod, nodes))
        except PluginUnavailableError:
            if not rule.ignorable:
                raise
            # The decision begins again, so that its nodes all score alike.
            raise NodesChangedError from None
        return np.zeros(len(nodes), np.int64)

    def _change(self) -> None:
        """Forget all answers, and read the rule's declaration again."""
        if self.found.followed:
            self._declare()

    def _declare(self) -> None:
        rule, before = self.bulk_rule, self.found.number
        reads = declared_reads(rule.fields, rule.columns)
        reads.number += before
        self._bulk = BulkAnswers(rule, reads, self.begin_again)
        self.found = reads
        self.filtering = self._bulk if self.filtering is not None or hasattr(self, "filter_nodes") else None
        self.scoring = self._bulk if hasattr(self, "score_nodes") else None


BulkRule.follower = BulkPlugin


def scores_of(answers: Int64s) -> Int64s:
    """int64[K]: the scores of ``answers`` (int64[K])."""
    return answers >> STATUS_BITS


def _keys(combinations: Int64s) -> list[bytes]:
    """Return each of ``combinations`` (int64[C, U]) as one value."""
    width, content = 8 * len(combinations), combinations.T.tobytes()
    return [content[at : at + width] for at in range(0, len(content), width)]


def _never(*_: object) -> Any:
    raise AssertionError("such a rule has no method for one node")
