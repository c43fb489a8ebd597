"""Which inputs cost a decision: pods, rules, feature gates and the configuration, as minimal correction sets.

A correction set has inputs without which the decision comes out otherwise; it is minimal if none of its parts
does. An evaluation says for each node which plugins reject it, so all sets of plugins are read from the
verdicts' columns. Only pods, gates and the configuration take evaluations of their own.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum, auto
from functools import partial

import numpy as np

from mooring.framework import Pod, Status
from mooring.framework.errors import InvalidArgumentError, NotFoundError
from mooring.framework.pod_table import PodRecord
from mooring.framework.points import POINTS
from mooring.framework.releases import Gates, KubeVersion
from mooring.runtime.answers import ALL_NODES, Candidates, CycleOptions, Evaluation, Progress, evaluate
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.change.elsewhere import PodsElsewhere
from mooring.sessions.work_trees import Live, Work

MOST_INPUTS = 3
"""Inputs of a set at most."""

FEW_PODS = 64
"""With more pods than this only those on a node, and those of its topology domains, are considered for it."""

MOST_NODES = 64
"""With more pods than that, nodes for which pods are considered, those with the fewest rejections first."""

SECONDS = 1.0
"""The processor time of a search at most, about."""


class InputKind(IntEnum):
    """The kinds of input; the numbers are those of the contract."""

    POD = auto()
    RULE = auto()
    GATE = auto()
    CONFIGURATION = auto()


@dataclass(frozen=True, slots=True, order=True)
class Input:
    """Something that a decision may depend on.

    Attributes:
        name: The pod as ``namespace/name``, the plugin, or the gate with its value.
        node: The pod's node; "" for other inputs.
    """

    kind: InputKind
    name: str
    node: str = ""


@dataclass(frozen=True, slots=True)
class OtherRules:
    """An engine over the same tree that decides without one input."""

    without: Input
    engine: Engine


_DEFAULTS = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def other_rules(
    live: Live, work: Work, kube_version: str, gates: Mapping[str, bool], progress: Progress
) -> list[OtherRules]:
    """Return what would decide with each gate switched back, and without the configuration. ``gates`` are
    those that were switched.
    """
    by_default = Gates(KubeVersion.parse(kube_version))
    asked = {
        Input(InputKind.GATE, f"{name}={str(on).lower()}"): ({**gates, name: not on}, "")
        for name, on in gates.items()
        if by_default.enabled(name) != on
    }
    asked[Input(InputKind.CONFIGURATION, "the configuration")] = dict(gates), _DEFAULTS
    found = []
    for without, (switched, source) in asked.items():
        try:
            policy = live.policy(kube_version, switched, source, None, progress)
            engine = live.engine(work.tree, policy)
        except InvalidArgumentError:
            continue
        if engine.profiles.configuration != work.engine.profiles.configuration:
            found.append(OtherRules(without, engine))
    return found


@dataclass(slots=True)
class Blamed:
    """The inputs that cost a decision.

    Attributes:
        node: The selected node; "" = none.
        sets: The minimal sets, the smallest first, each with the nodes that take the pod then, or that are
            the best then.
    """

    status: Status
    node: str = ""
    sets: dict[frozenset[Input], list[str]] = field(default_factory=dict)
    complete: bool = True


class Blame:
    """Finds the minimal correction sets of one decision. For one thread; the tree is in the end what it was.

    Args:
        pod: The pod, without a node.
        others: Gates and configurations that could be otherwise.
        node: The node that should take the pod; "" = any, or another one than the selected one.
        most: How many inputs a set has at most, 1 to 3.
        seconds: Processor time that it takes at most, about.
    """

    def __init__(
        self,
        work: Work,
        pod: Pod,
        profile: Profile,
        others: Sequence[OtherRules] = (),
        *,
        node: str = "",
        most: int = 2,
        seconds: float = SECONDS,
        progress: Progress,
    ) -> None:
        self._work = work
        self._pod = pod
        self._profile = profile
        self._others = others
        self._node = node
        self._most = most
        self._progress = progress
        self._end = time.thread_time() + seconds if seconds < math.inf else math.inf
        self._complete = True
        self._found: dict[frozenset[Input], list[str]] = {}

    def run(self) -> Blamed:
        """Return the sets.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        known = self._work.tree.snapshot.pods.get(self._pod.metadata.uid)
        if known is not None and known.node_name:
            self._work.tree.discard(known.uid)
        self._work.keep()
        found = self._evaluated(self._work.engine, self._profile)
        best = self._best(found)
        selected = best[0] if best and not self._node else ""
        status = self._verdict(found)
        if status.ok and not selected:
            return Blamed(status)
        look = partial(self._lost, frozenset(best)) if selected else self._rejected
        look(self._work.engine, frozenset())
        for other in self._others:
            with suppress(NotFoundError):
                look(other.engine, frozenset({other.without}))
        ordered = sorted(_minimal(self._found).items(), key=lambda item: (len(item[0]), sorted(item[0])))
        return Blamed(status, selected, dict(ordered), self._complete)

    def _evaluated(self, engine: Engine, profile: Profile, rows: Sequence[int] | None = None) -> Evaluation:
        options = CycleOptions(all_rejections=True, always_score=True, post_filter=False)
        only = ALL_NODES if rows is None else Candidates(lambda _: np.array(rows, np.int32))
        run = partial(evaluate, options=options)
        return engine.evaluate(self._pod, profile, only, run, progress=self._progress)[0]

    def _rows(self) -> list[int] | None:
        return [self._work.tree.snapshot.nodes.index[self._node]] if self._node else None

    def _verdict(self, found: Evaluation) -> Status:
        """Return the verdict on the pod, or on the requested node."""
        if not self._node or not found.rejection.ok:
            return found.status
        rows = found.rows.tolist()
        row = self._work.tree.snapshot.nodes.index[self._node]
        return found.statuses[int(found.codes[rows.index(row)])]

    def _best(self, found: Evaluation) -> list[str]:
        """Return the names of the nodes with the highest total, sorted."""
        return sorted(found.names[row] for row in found.rows[found.best].tolist())

    # A pod that no node takes.

    def _rejected(self, engine: Engine, without: frozenset[Input]) -> None:
        """Note the sets, ``without`` among them, with which a node takes the pod."""
        profile = engine.profile(self._profile.name)
        base = self._columns(engine, profile, self._rows())
        self._note_columns(without, base)
        for pods, rows in self._pods_for(base, self._most - len(without)):
            if self._late():
                return
            with self._gone(pods):
                columns = self._columns(engine, profile, rows)
            self._note_columns(without | {_input_of(each) for each in pods}, columns)

    def _columns(
        self,
        engine: Engine,
        profile: Profile,
        rows: Sequence[int] | None,
        dropped: frozenset[str] = frozenset(),
    ) -> dict[int, frozenset[str]]:
        """Return by row which plugins reject the node; without those it would take the pod."""
        found = self._evaluated(engine, without_plugins(profile, dropped), rows)
        if not found.rejection.ok:
            plugin = found.rejection.plugin
            if plugin not in profile.plugins or plugin in dropped or len(dropped) >= self._most:
                return {}
            return self._columns(engine, profile, rows, dropped | {plugin})
        columns: dict[int, frozenset[str]] = {}
        said = found.rejections or [[]] * len(found.rows)
        for row, code, statuses in zip(found.rows.tolist(), found.codes.tolist(), said, strict=True):
            named = {each.plugin for each in statuses} or ({found.statuses[code].plugin} if code else set())
            if named <= profile.plugins.keys():
                columns[row] = dropped | named
        return columns

    def _note_columns(self, without: frozenset[Input], columns: dict[int, frozenset[str]]) -> None:
        names, known = self._work.tree.snapshot.nodes.names, dict[frozenset[str], frozenset[Input]]()
        for row, plugins in columns.items():
            if len(plugins) + len(without) <= self._most:
                if plugins not in known:
                    known[plugins] = without | {Input(InputKind.RULE, plugin) for plugin in plugins}
                self._note(known[plugins], names[row])

    def _note(self, inputs: frozenset[Input], node: str) -> None:
        nodes = self._found.setdefault(inputs, [])
        if node not in nodes:
            nodes.append(node)

    def _pods_for(
        self, columns: dict[int, frozenset[str]], most: int
    ) -> Iterator[tuple[tuple[PodRecord, ...], list[int] | None]]:
        """Yield sets of pods that may be in the way, with the nodes for which they are."""
        tables = self._work.tree.snapshot
        placed = self._placed()
        if len(placed) <= FEW_PODS:
            for pods in _sets_of(placed, most):
                yield pods, self._rows()
            return
        self._complete = False
        near = PodsElsewhere(self._pod, tables.nodes, tables.pods)
        rows = sorted(columns, key=lambda row: (len(columns[row]), tables.nodes.names[row]))[:MOST_NODES]
        for count in range(1, most + 1):
            for row in rows:
                there = [*tables.pods.records_on(row), *itertools.chain(*near.counting_for(row)[0])]
                for pods in _sets_of(there, count, count):
                    yield pods, [row]

    @contextmanager
    def _gone(self, pods: Iterable[PodRecord]) -> Iterator[None]:
        try:
            for each in pods:
                self._work.tree.discard(each.uid)
            yield
        finally:
            self._work.go_back()

    # A pod that goes to some node.

    def _lost(self, best: frozenset[str], engine: Engine, without: frozenset[Input]) -> None:
        """Note the sets, ``without`` among them, with which none of the ``best`` nodes is one of the best."""
        profile = engine.profile(self._profile.name)
        placed = self._placed()
        few = len(placed) <= FEW_PODS
        self._complete &= few
        room = self._most - len(without)
        for count in range(room + 1):
            for pods in _sets_of(placed, count, count) if few or not count else ():
                for names in self._plugin_sets(profile, room - count):
                    if self._late():
                        return
                    with self._gone(pods):
                        now = self._best(self._evaluated(engine, without_plugins(profile, names)))
                    if now and not best.intersection(now):
                        rules = (Input(InputKind.RULE, name) for name in names)
                        inputs = without.union(map(_input_of, pods), rules)
                        for name in now if inputs else ():
                            self._note(inputs, name)

    def _placed(self) -> list[PodRecord]:
        """Return the pods that take room: those on nodes, and those that are nominated for one."""
        pods = self._work.tree.snapshot.pods
        nominated = set(itertools.chain.from_iterable(pods.nominated.values()))
        return [each for each in pods.records.values() if each.node_name or each.uid in nominated]

    def _plugin_sets(self, profile: Profile, most: int) -> Iterator[frozenset[str]]:
        deciding = sorted({each.name for each in profile.filter} | {each.name for each in profile.score})
        for count in range(most + 1):
            yield from map(frozenset, itertools.combinations(deciding, count))

    def _late(self) -> bool:
        self._progress.check()
        late = time.thread_time() >= self._end
        self._complete &= not late
        return late


def without_plugins(profile: Profile, names: frozenset[str]) -> Profile:
    """Return a profile in which these plugins neither hold pods back nor filter nor score."""
    if not names:
        return profile
    changed = {
        point.attribute: tuple(each for each in profile.at(name) if each.name not in names)
        for name, point in POINTS.items()
        if point.evaluates or name == "PreEnqueue"
    }
    return replace(profile, **changed)  # type: ignore[arg-type]


def _sets_of(pods: Sequence[PodRecord], most: int, least: int = 1) -> Iterator[tuple[PodRecord, ...]]:
    """Yield sets of pods; of those of one kind on one node the first by name stand for the others."""
    alike: dict[tuple[int, int], list[PodRecord]] = {}
    for record in sorted(pods, key=lambda record: (record.name, record.uid)):
        alike.setdefault((record.row, id(record.kind)), []).append(record)
    standing = [record for records in alike.values() for record in records[:most]]
    first = {record.uid: records[: at + 1] for records in alike.values() for at, record in enumerate(records)}
    for count in range(least, most + 1):
        for chosen in itertools.combinations(standing, count):
            if all(before in chosen for record in chosen for before in first[record.uid]):
                yield chosen


def _input_of(record: PodRecord) -> Input:
    return Input(InputKind.POD, record.pod.key, record.node_name)


def _minimal(found: dict[frozenset[Input], list[str]]) -> dict[frozenset[Input], list[str]]:
    """Return the sets that contain no other set."""
    kept: dict[frozenset[Input], list[str]] = {}
    for inputs in sorted(found, key=len):
        if not any(other < inputs for other in kept):
            kept[inputs] = sorted(found[inputs])
    return kept
