"""A plugin that promises to be ``Pure`` as the engine calls it.

It notes what the author's plugin, the rule, reads, and asks it only about combinations of values that it has
not seen. If what a rule does can't be followed, it is called for each node, and no answer of its profile is
cached.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from mooring.framework import (
    EVERY_EVENT,
    SUCCESS,
    Aspect,
    CacheablePlugin,
    CycleState,
    Dependencies,
    FilterPlugin,
    Finding,
    HintedEvent,
    Int64s,
    NodeInfo,
    NodeView,
    Part,
    PlacementFeasiblePlugin,
    Plugin,
    Pod,
    Pure,
    ScorePlugin,
    Status,
    SubjectKind,
    Verdicts,
)
from mooring.framework.batch import BatchPlugin
from mooring.framework.cycle_state import NotWrittenError
from mooring.framework.errors import MooringError
from mooring.framework.groups import GroupOnly
from mooring.framework.points import POINTS, calls_of, points_of
from mooring.framework.scores import InvalidScoreError, checked_score
from mooring.framework.view import NodesChangedError
from mooring.runtime.pure.answers import MAX_LEAVES, Answers, SpotChecks
from mooring.runtime.pure.changes import hint
from mooring.runtime.pure.node_views import NodeInfoView, NodesView, count_by_row
from mooring.runtime.pure.reads import OBJECTS, POD, NotFollowedError, Reads, written
from mooring.runtime.pure.views import ReadOnlyError, Seen, StateView, pod_view

T = TypeVar("T")

_THE_RULES_OWN = (MooringError, NodesChangedError, NotWrittenError, InvalidScoreError, ReadOnlyError)
"""Errors that calling the rule again with the real objects would only repeat, or that it must not."""

_AT_NODES: dict[str, Part] = {
    "pre_enqueue": Part.NONE,
    "pre_filter": Part.OTHER_NODES,
    "add_pod": Part.OTHER_NODES,
    "remove_pod": Part.OTHER_NODES,
    "filter_nodes": Part.NONE,
    "pre_score": Part.OTHER_NODES | Part.FEASIBLE,
    "score_nodes": Part.NONE,
    "normalize_score": Part.NONE,
}
"""The methods that are called each time, and the parts that they read besides those of the nodes."""


class FollowedPlugin(CacheablePlugin):
    """Base of the classes that stand for rules. Safe from any thread.

    Attributes:
        rule: The author's plugin.
        found: All that it was seen to read.
        filtering: Its answers at Filter; None without any.
        scoring: Its scores; None without any.
    """

    name: str

    def __init__(self, rule: Plugin[Any]) -> None:
        self.rule = rule
        self.args, self.handle = rule.args, rule.handle
        self.found = Reads()
        self._statuses: list[Status] = [SUCCESS]
        self._numbers: dict[object, int] = {SUCCESS: 0}
        self._lock = threading.Lock()
        self._checks = SpotChecks()
        self._begun_again = False
        self.filtering = self.scoring = None
        if isinstance(rule, FilterPlugin) and type(rule).filter is not FilterPlugin.filter:
            self.filtering = Answers(rule.filter, self._number, self.found, self.begin_again)
        if isinstance(rule, ScorePlugin) and type(rule).score is not ScorePlugin.score:
            self.scoring = Answers(rule.score, checked_score, self.found, self.begin_again)

    @property
    def aspects(self) -> Aspect:  # type: ignore[override] # it grows with what is seen
        """The aspects of pods that the rule was seen to read."""
        return self.found.aspects if self.found.followed else Aspect.ALL

    @property
    def labels(self) -> frozenset[str]:  # type: ignore[override] # as ``aspects``
        """The keys of labels of pods that the rule was seen to read."""
        return self.found.labels

    def dependencies(self, pod: Pod) -> Dependencies:
        """Return what the answers about ``pod`` depend on, as far as the rule was seen to read."""
        return self.found.dependencies(pod)

    def events_to_register(self) -> Sequence[HintedEvent]:
        """Return those of the rule; by default all changes of its reads."""
        if type(self.rule).events_to_register is not Plugin.events_to_register:
            return self.rule.events_to_register()
        return (HintedEvent(EVERY_EVENT.event, partial(hint, self.found)),)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        """Return the findings of the rule, or else one for each value of the node that it reads."""
        if type(self.rule).explain is not Plugin.explain or node is None:
            return self.rule.explain(state, pod, node, status)
        if self.filtering is None or not isinstance(self.rule, FilterPlugin) or not self.found.followed:
            return ()
        seen: Seen = {}
        snapshot, row = node.snapshot, node.snapshot.nodes.index[node.name]
        view = NodeInfoView(seen, snapshot, row, lambda counter, *_: count_by_row(counter, snapshot, pod))
        self.rule.filter(StateView(seen, state, writable=True), pod_view(seen, pod), view)  # type: ignore[arg-type]
        read = [(written(key), value) for key, value in seen.items() if key[0] != POD]
        asked = ", ".join(f"{written(key)} = {_shown(value)}" for key, value in seen.items() if key[0] == POD)
        return [
            Finding(
                "RuleRejects",
                name,
                f"{status.message}, with {name} = {_shown(value)}",
                asked,
                _shown(value),
                kind=SubjectKind.FIELD,
            )
            for name, value in read
        ]

    def stop_following(self, why: str) -> None:
        """Call the rule for each node from now on."""
        with self._lock:
            if not self.found.followed:
                return
            self.found.stop()
        for answers in (self.filtering, self.scoring):
            if answers is not None:
                answers.forget()
        self.handle.count(self.rule.name, "not_followed")
        self.handle.logger.warning(
            "plugin %s is not followed: it %s. It is called for each node, and nothing of its profile is "
            "cached; `mooring plugins check` says what to change",
            self.rule.name,
            why,
        )

    def begin_again(self) -> None:
        """Count that answers were forgotten because there were too many, and warn once."""
        self.handle.count(self.rule.name, "answers_forgotten")
        if not self._begun_again:
            self._begun_again = True
            self.handle.logger.warning(
                "plugin %s reads more than %d combinations of values: its answers are forgotten at that "
                "number; compare what it reads with a limit, or divide it by a step",
                self.rule.name,
                MAX_LEAVES,
            )

    def follow(self, answer: Callable[[], T], plain: Callable[[], T]) -> T:
        """Return ``answer()``, or ``plain()`` where the rule can't be followed."""
        if not self.found.followed:
            return plain()
        try:
            return answer()
        except NotFollowedError as error:
            self.stop_following(str(error))
            return plain()
        except _THE_RULES_OWN:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a rule raises
            # Code in C sees that a view is not the object itself; a fault of the rule's is raised again.
            said = plain()
            self.stop_following(f"needs the objects themselves: {type(error).__name__}: {error}")
            return said

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of the rule that is called each time, and note what it reads."""
        function = getattr(self.rule, method)

        def answer() -> Any:
            seen: Seen = {}
            try:
                return function(*[_view(seen, each) for each in args])
            finally:
                looks = any(key[0] not in (POD, OBJECTS) for key in seen)
                self.found.note(seen, _AT_NODES[method] if looks else Part.NONE)

        return self.follow(answer, lambda: function(*args))

    def call_in_columns(
        self, method: str, state: CycleState, pod: Pod, nodes: NodeView, one: Callable[[Any, int], object]
    ) -> Any:
        """Call a method about all of ``nodes``, and now and then about one of them alone.

        The answers about that node, which ``one`` returns by its position, have to be the same.
        """
        table, at = nodes.table, self._checks.position(len(nodes))
        if at is None or len(table.row_version) < table.capacity:
            return self.call(method, state, pod, nodes)
        rows = nodes.rows[at : at + 1]
        versions = table.row_version[rows]
        answers = self.call(method, state, pod, nodes)
        try:
            alone = one(self.call(method, state, pod, nodes.subset(rows)), 0)
            same = alone == one(answers, at)
        except Exception as error:  # noqa: BLE001 - whatever a rule raises
            self.stop_following(f"can't answer about one node alone: {type(error).__name__}: {error}")
            return answers
        if not same and table.unchanged(rows, versions).all():
            self.stop_following("gives another answer about a node alone than among others")
        return answers

    def verdicts(self, answers: Answers, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        """Return ``answers`` of Filter about ``nodes``."""
        numbers = answers.about(state, pod, nodes)
        if not numbers.any():
            return Verdicts.passed(len(nodes))
        present, codes = np.unique(np.append(0, numbers), return_inverse=True)
        statuses = tuple([self._statuses[number] for number in present.tolist()])
        return Verdicts(codes[1:].astype(np.int32), statuses)

    def scores(self, answers: Answers, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """Return ``answers`` of Score about ``nodes``."""
        return answers.about(state, pod, nodes)

    def _number(self, answer: object, node_name: str) -> int:
        number = self._numbers.get(answer)
        if number is not None:
            return number
        with self._lock:
            if len(self._statuses) >= MAX_LEAVES:
                raise NotFollowedError(f"gives more than {MAX_LEAVES} different answers")
            self._statuses.append(answer)  # type: ignore[arg-type] # the engine checks what it is
            return self._numbers.setdefault(answer, len(self._statuses) - 1)


class FollowedWay(Pure):
    """A pure rule with a way of its own to be followed.

    Attributes:
        follower: The base of the classes that stand for such rules.
    """

    follower: ClassVar[type[FollowedPlugin]]


def _shown(value: object) -> str:
    """Return a value that was noted as people write it."""
    noted = value[1] if isinstance(value, tuple) and len(value) == 2 else value
    return "absent" if noted is None else noted if isinstance(noted, str) else f"{noted!r}"


_DECLARING = (CacheablePlugin, BatchPlugin, GroupOnly, PlacementFeasiblePlugin)
"""Bases of plugins that declare their dependencies, or answer about more than pods and nodes."""


def _view(seen: Seen, real: Any) -> Any:
    if isinstance(real, Pod):
        return pod_view(seen, real)
    if isinstance(real, CycleState):
        return StateView(seen, real, writable=True)
    if isinstance(real, NodeView):
        return NodesView(seen, real)
    return real


def followed(plugin: Plugin[Any]) -> Plugin[Any]:
    """Return what the engine calls for ``plugin``: itself, unless it promises to be ``Pure`` and no more."""
    if not isinstance(plugin, Pure) or isinstance(plugin, _DECLARING) or plugin.logs_calls():
        return plugin
    made: Plugin[Any] = _class_for(type(plugin))(plugin)
    return made


def rule_of(plugin: Plugin[Any]) -> Plugin[Any]:
    """Return the author's plugin that ``plugin`` stands for."""
    return plugin.rule if isinstance(plugin, FollowedPlugin) else plugin


@cache
def _class_for(kind: type[Plugin[Any]]) -> type[Any]:
    """Return the class of plugins that stand for rules of ``kind``: with its points, and no others."""
    bases = tuple(POINTS[point].base for point in points_of(kind))
    body: dict[str, Any] = {}
    every: list[type[Any]] = [Plugin, *bases]
    for base in every:
        body |= {
            name: getattr(kind, name) for name in vars(base).get("__annotations__", ()) if hasattr(kind, name)
        }
        for method in calls_of(base):
            if method not in vars(FollowedPlugin):
                body[method] = _noting(method) if method in _AT_NODES else _passing(method)
    for method in ("add_pod", "remove_pod"):
        if hasattr(kind, method):
            body[method] = _noting(method)
    if issubclass(kind, FilterPlugin):
        body["filter_nodes"] = _filter_nodes
    if issubclass(kind, ScorePlugin):
        body["score_nodes"] = _score_nodes
        if kind.normalize_score is ScorePlugin.normalize_score:
            del body["normalize_score"]
    follower = kind.follower if issubclass(kind, FollowedWay) else FollowedPlugin
    return type(f"Followed{kind.__name__}", (follower, *bases), body)


def _filter_nodes(self: FollowedPlugin, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
    rule, answers = self.rule, self.filtering
    if answers is None or not isinstance(rule, FilterPlugin):
        verdicts: Verdicts = self.call_in_columns("filter_nodes", state, pod, nodes, _verdict)
        return verdicts
    return self.follow(
        lambda: self.verdicts(answers, state, pod, nodes), lambda: rule.filter_nodes(state, pod, nodes)
    )


def _score_nodes(self: FollowedPlugin, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
    rule, answers = self.rule, self.scoring
    if answers is None or not isinstance(rule, ScorePlugin):
        scores: Int64s = self.call_in_columns("score_nodes", state, pod, nodes, _score)
        return scores
    return self.follow(
        lambda: self.scores(answers, state, pod, nodes), lambda: rule.score_nodes(state, pod, nodes)
    )


def _verdict(verdicts: Verdicts, position: int) -> Status:
    return verdicts.statuses[int(verdicts.codes[position])]


def _score(scores: Int64s, position: int) -> int:
    return int(scores[position])


def _noting(method: str) -> Callable[..., Any]:
    return lambda self, *args: self.call(method, *args)


def _passing(method: str) -> Callable[..., Any]:
    return lambda self, *args, **options: getattr(self.rule, method)(*args, **options)
