"""Plays a plugin on a cluster: are its answers the same each time, true after each change, and valid?"""

from __future__ import annotations

import copy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from mooring.cluster.kinds import ClusterObject
from mooring.cluster.state import State
from mooring.framework import (
    SUCCESS,
    CacheablePlugin,
    FilterPlugin,
    Plugin,
    Pod,
    PreFilterPlugin,
    Pure,
    Status,
)
from mooring.framework.cluster_events import PodRecordChange, StateChange
from mooring.framework.errors import PluginFailureError
from mooring.framework.view import one_node
from mooring.plugin_check.clusters import MadeUp, made_up_for, pods_to_ask
from mooring.plugin_check.findings import PluginFault, is_below
from mooring.plugin_check.outside import watched
from mooring.plugin_check.source import ANSWERING, KEEP_IN_STATE
from mooring.plugin_check.subject import SOURCE, Subject, profile_of
from mooring.runtime.answers import (
    ALL_NODES,
    CycleOptions,
    Evaluation,
    NeedsPlugins,
    NoDeadline,
    Observer,
    PluginCalls,
    evaluate,
)
from mooring.scheduler.queue.cluster_events import as_scheduler_sees, events_of
from mooring.scheduler.queue.hints import helps, rules_of

SEEDS = (1, 2)

THREADS = 4

MAX_TRIED = 4
"""Number of pods in question after each change."""

MAX_NODES = 8
"""Nodes that are tried with and without their pods."""

_OPTIONS = CycleOptions(always_score=True)

_METHODS = {
    "PreFilter": ("pre_filter",),
    "Filter": ("filter", "filter_nodes", "pre_filter"),
    "PreScore": ("pre_score",),
    "Score": ("score", "score_nodes", "pre_score"),
    "ScoreExtensionNormalize": ("normalize_score", "score", "score_nodes"),
}
"""The methods that may answer at a point."""

ORDER = "an answer about a node may not depend on the order of the nodes"
OBJECTS = "compare values, not objects: the same node is another object a moment later"
SHARED = "one object serves all threads: keep what belongs to one decision in the CycleState"
DECLARED = "declare all that the answers depend on, or be Pure and declare nothing"
ADD_POD = "write add_pod and remove_pod: they keep what pre_filter wrote true while preemption tries pods"
HINTS = "register the event in events_to_register, or leave that method out: every change counts then"
ANY_VALUE = "answer for any value and for none: users write any text into labels and annotations"
READ_ONLY = (
    "pods, nodes and objects are read-only for a plugin: keep what belongs to one decision in the CycleState"
)
STATUSES = "return SUCCESS, or a Status such as Status.unschedulable(reason)"
RIGHT_ANSWER = "answer any values in time; `mooring conformance host` says which rule is broken"
IN_RANGE = "return ints from 0 to 100, or name a normalizer"

Answer = Mapping[str, Mapping[str, object]]
"""By point and node, "" = the whole pod, what a plugin says."""


def played(subject: Subject, dump: Sequence[ClusterObject] = ()) -> list[PluginFault]:
    """Return what a plugin does wrong on made-up clusters, else on the objects of a dump."""
    for seed in (*SEEDS, 0):
        made_up = made_up_for(subject, seed)
        objects = made_up.objects() if seed else dump
        if objects and (found := list(_Play(subject, objects, made_up).findings())):
            return found
    return []


class _Play:
    """A plugin on one cluster, which changes while it is played."""

    def __init__(self, subject: Subject, objects: Sequence[ClusterObject], made_up: MadeUp) -> None:
        self._subject, self._objects, self._made_up = subject, objects, made_up
        self._core = subject.alone(objects)
        self._plugin = subject.make(self._core)
        self._pods = pods_to_ask(objects)
        self._calls = PluginCalls("", NoDeadline(), Observer(), final=lambda: False)
        self._errors: list[PluginFailureError] = []

    def findings(self) -> Iterator[PluginFault]:
        """Yield the first fault of those that hide others; without them one of each other kind."""
        twin = self._subject.alone(copy.deepcopy(self._objects)).state
        for check in (
            self._reads_outside,
            self._fails,
            partial(self._differs, "when it is called again", KEEP_IN_STATE, self._ask),
            partial(self._differs, "with the nodes in another order", ORDER, partial(self._ask, step=-1)),
            partial(self._differs, "about equal objects", OBJECTS, partial(self._ask, state=twin)),
            partial(self._differs, "on several threads", SHARED, self._ask_on_threads),
        ):
            if found := list(islice(check(), 1)):
                yield from found
                return
        yield from islice(self._tried(), 1)
        yield from self._after_changes()

    def _ask(
        self, pod: Pod, plugin: Plugin[Any] | None = None, state: State | None = None, step: int = 1
    ) -> Answer:
        """Return what a plugin says itself; nothing is recorded or kept."""
        state = state or self._core.state
        rows = np.sort(np.fromiter(state.snapshot.nodes.index.values(), np.int32))[::step].copy()
        profile = profile_of(self._core, plugin or self._plugin)
        try:
            return _answer_of(evaluate(profile, state, pod, rows, self._calls, _OPTIONS))
        except PluginFailureError as error:
            self._errors.append(error)
            return {"PreFilter": {"": error.message}}

    def _ask_on_threads(self, pod: Pod) -> Answer:
        """Return an answer that a thread gets while others ask about other pods: an odd one, if any is."""
        asked, before, alone = [pod, *self._pods[:2]], sys.getswitchinterval(), self._ask(pod)
        sys.setswitchinterval(1e-5)
        try:
            with ThreadPoolExecutor(THREADS) as threads:
                answers = list(threads.map(self._ask, asked * THREADS))[:: len(asked)]
        finally:
            sys.setswitchinterval(before)
        return next((answer for answer in answers if answer != alone), alone)

    def _ask_cache(self, pod: Pod) -> Answer:
        """Return what the engine says, which may have kept it."""
        engine = self._core.engine
        try:
            found = engine.filter(pod, engine.profile(), ALL_NODES)
        except PluginFailureError as error:
            return {"PreFilter": {"": error.message}}
        return {} if isinstance(found, NeedsPlugins) else _answer_of(found[0])

    def _reads_outside(self) -> Iterator[PluginFault]:
        for pod in self._pods[:2] if self._subject.pure and not self._subject.host else ():
            with watched(self._subject.home) as found:
                self._ask(pod)
            yield from found

    def _fails(self) -> Iterator[PluginFault]:
        for pod in self._pods:
            before = self._given(pod)
            self._ask(pod)
            for error in self._errors:
                yield self._failure(error, pod)
            if self._given(pod) != before:
                yield self._fault("Filter", f"pod {pod.key}: changes what it is given", READ_ONLY)

    def _given(self, pod: Pod) -> bytes:
        """Return what plugins get about ``pod``, as it is now."""
        return msgspec.json.encode([pod, *self._core.state.snapshot.nodes.nodes], enc_hook=dict)

    def _failure(self, error: PluginFailureError, pod: Pod) -> PluginFault:
        """Return the fault of a plugin that raised, or gave what it must not."""
        fault, point = f"pod {pod.key}: {error.message}", error.metadata["extension_point"]
        if self._subject.host:
            return self._fault(point, fault, RIGHT_ANSWER)
        raised = error.__cause__.__traceback__ if error.__cause__ else None
        for frame, line in reversed(list(traceback.walk_tb(raised))):
            if is_below(frame.f_globals.get("__name__"), *self._subject.home):
                return PluginFault.at(frame.f_code, fault, _remedy(error), line)
        return self._fault(point, fault, IN_RANGE if point.startswith("Score") else _remedy(error))

    def _fault(self, point: str, fault: str, remedy: str) -> PluginFault:
        """Return a fault of the method that answers at a point."""
        if self._subject.host:
            return PluginFault(f"{self._subject.host} {self._subject.name}", fault, remedy)
        methods = (getattr(self._subject.kind, name, None) for name in (*_METHODS[point], *ANSWERING))
        own = [each for each in methods if each and is_below(each.__module__, *self._subject.home)]
        return PluginFault.at(own[0].__code__, fault, remedy)

    def _differs(self, why: str, remedy: str, ask: Callable[[Pod], Answer]) -> Iterator[PluginFault]:
        for pod in self._pods:
            yield from self._compared(pod, self._ask(pod), ask(pod), why, remedy)

    def _compared(self, pod: Pod, one: Answer, other: Answer, why: str, remedy: str) -> Iterator[PluginFault]:
        for point in one:
            mine, theirs = one[point], other.get(point, {})
            for name in mine if mine != theirs else ():
                if mine[name] != theirs.get(name):
                    said = f"{_said(mine[name])}, then {_said(theirs.get(name))}"
                    where = f"pod {pod.key}{f', node {name}' if name else ''}"
                    yield self._fault(point, f"answers otherwise {why}: {where}: {said}", remedy)

    def _tried(self) -> Iterator[PluginFault]:
        """Yield wrong answers to preemption, which tries nodes with and without their pods."""
        both = isinstance(self._plugin, PreFilterPlugin) and isinstance(self._plugin, FilterPlugin)
        full = sorted({item.spec.node_name for item in self._objects if isinstance(item, Pod)} - {""})
        for pod in self._pods[:MAX_TRIED] if both else ():
            for node in self._made_up.chance.sample(full, min(len(full), MAX_NODES)):
                for method in ("add_pod", "remove_pod"):
                    try:
                        told, scratch = self._tried_with(pod, node, method)
                    except PluginFailureError as error:
                        yield self._failure(error, pod)
                        return
                    if told != scratch:
                        fault = f"{told} after {method} of the pods on it, {scratch} from scratch"
                        yield self._fault("PreFilter", f"pod {pod.key}, node {node}: {fault}", ADD_POD)

    def _tried_with(self, pod: Pod, node: str, method: str) -> tuple[str, str]:
        """Return Filter's answers about a node: after calls of ``method`` for its pods, and from scratch."""
        before, after = self._core.state.fork(), self._core.state.fork()
        pods = next(one_node(after.snapshot, node).infos()).pods
        for other in pods:
            (before if method == "add_pod" else after).discard(other.metadata.uid)
        said, profile = SUCCESS, profile_of(self._core, self._plugin)
        rows = np.sort(np.fromiter(before.snapshot.nodes.index.values(), np.int32))
        written = evaluate(profile, before, pod, rows, self._calls, _OPTIONS).written
        if self._plugin.name not in written.skipped:
            view, cycle = one_node(after.snapshot, node), written.state.clone()
            tell = getattr(self._plugin, method, lambda *_: None)
            for other in pods:
                self._calls.call(self._plugin.name, "PreFilter", tell, cycle, pod, other, next(view.infos()))
            asked: Any = self._plugin
            said = self._calls.call(asked.name, "Filter", asked.filter_nodes, cycle, pod, view).status(0)
        return _said(said), _said(self._ask(pod, state=after)["Filter"].get(node))

    def _after_changes(self) -> Iterator[PluginFault]:
        """Yield, once each, where a kept answer or a new plugin's is another one, or hints miss a change."""
        told: set[str] = set()
        heard: list[StateChange] = []
        state, pods = self._core.state, self._pods[:MAX_TRIED]
        state.subscribe(heard.append)
        before = [self._ask(pod) for pod in pods]
        for what, change in self._made_up.changes(state):
            heard.clear()
            state.apply(SOURCE, [change])
            after = [self._ask(pod) for pod in pods]
            for pod, old, new in zip(pods, before, after, strict=True):
                for finding in self._after_change(pod, old, new, f"once {what}", heard):
                    if finding.remedy not in told:
                        yield finding
                    told.add(finding.remedy)
            before = after

    def _after_change(
        self, pod: Pod, old: Answer, new: Answer, when: str, heard: Sequence[StateChange]
    ) -> Iterator[PluginFault]:
        fresh = self._ask(pod, self._subject.make(self._core))
        if self._errors:
            yield self._failure(self._errors[0], pod)
            return
        yield from self._compared(pod, new, fresh, f"than a new object of the class {when}", KEEP_IN_STATE)
        if isinstance(self._plugin, Pure | CacheablePlugin):
            yield from self._compared(pod, self._ask_cache(pod), new, f"than the cache {when}", DECLARED)
        was, now = old.get("Filter", {}), new.get("Filter", {})
        for node in now if not self._wakes(pod, heard) else ():
            if now[node] == SUCCESS != was.get(node, SUCCESS):
                fault = f"{when}, {node} takes pod {pod.key} but the pod is not tried again"
                yield self._fault("Filter", fault, HINTS)

    def _wakes(self, pod: Pod, heard: Sequence[StateChange]) -> bool:
        """Return whether the plugin registered for a change that has an event, and its hint agrees."""
        rules, name = rules_of(self._core.engine.profile(), ()), self._plugin.name
        whole = [each.whole() if isinstance(each, PodRecordChange) else each for each in heard]
        seen = [change for each in whole if (change := as_scheduler_sees(each)) is not None]
        happened = [(event, change) for change in seen for event in events_of(change)]
        return not happened or any(
            helps(name, rules.interested(event).get(name, ()), pod, change.old, change.new)
            for event, change in happened
        )


def _answer_of(found: Evaluation) -> Answer:
    """Return the answer in an evaluation by one plugin; what is kept has its totals alone."""
    names = [found.names[row] for row in found.rows.tolist()]
    feasible = [names[at] for at in found.feasible.tolist()]
    said = [found.statuses[code] for code in found.codes.tolist()]
    answer: dict[str, Mapping[str, object]] = {
        "PreFilter": {"": found.rejection},
        "Filter": dict(zip(names, said, strict=True)),
    }
    if found.scores is not None:
        for each in found.scores.plugins:
            answer["Score"] = dict(zip(feasible, each.raw.tolist(), strict=True))
        totals = found.scores.totals.tolist()
        answer["ScoreExtensionNormalize"] = dict(zip(feasible, totals, strict=True))
    return answer


def _remedy(error: PluginFailureError) -> str:
    cause = str(error.__cause__)
    if any(words in cause for words in ("read-only", "immutable", "item assignment")):
        return READ_ONLY
    return STATUSES if error.__cause__ is None and "not Status" in error.message else ANY_VALUE


def _said(answer: object) -> str:
    if isinstance(answer, Status):
        return answer.message or answer.code.label
    return "nothing" if answer is None else str(answer)
