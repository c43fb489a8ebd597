"""Advice about a pod that no node takes: one search, limited in time and remembered, and its words.

Everything that gives advice asks here, so that the same pod gets the same advice in every place.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec

from mooring.framework import Code, Pod, Status
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.objects import Taint
from mooring.framework.pod_table import template_of
from mooring.framework.resources import amount, is_extended_resource
from mooring.runtime.answers import Progress
from mooring.runtime.commit.asked_group import asked_group, group_as_a_whole, pods_of_group
from mooring.runtime.commit.controllers import made_anew
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.change.group_search import GroupChangeSearch
from mooring.sessions.change.search import ChangeSearch, of_the_pod, taking
from mooring.sessions.change.steps import (
    AddNode,
    ChangeOption,
    End,
    Kind,
    LowerRequest,
    Move,
    NeededChanges,
    Relabel,
    Step,
    Tolerate,
    changed_node,
    changed_pod,
    reports,
)
from mooring.sessions.placing import place_on
from mooring.sessions.removal import adopted
from mooring.sessions.work_trees import Work

SECONDS = 0.15
"""The processor time of a search at most, about: a step that has begun is finished."""

FRESH_SECONDS = 60.0
"""How long advice is used again once the cluster has changed, if its first changes still do;"""
FRESH_SECONDS_OF_NONE = 10.0
"""and advice that no change helps."""

MOST_REMEMBERED = 1_000
"""Templates of pods whose advice is remembered."""

_CONTROL_PLANE = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
"""Taints that keep nodes for the control plane."""

_EASIEST_FIRST = (Kind.TOLERATION, Kind.END, Kind.LABEL, Kind.MOVE, Kind.NODE, Kind.REQUEST)


@dataclass(slots=True)
class _Remembered:
    found: NeededChanges
    version: int
    time: float


@dataclass(slots=True)
class Advisor:
    """Finds and remembers what would help. Safe from any thread."""

    _known: dict[Hashable, _Remembered] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def advise(
        self, work: Work, pod: Pod, profile_name: str, progress: Progress, *, seconds: float = SECONDS
    ) -> NeededChanges:
        """Return what would make a pod fit, or its group if it is decided with one, the easiest first.

        Advice about a pod of the same template is used again while the cluster stays as it is, and for a
        minute more while the filters accept the pod with its first set of changes.

        Args:
            work: The tree, at a version of the live state; in the end it is what it was.
            pod: The pod, without a node.
            profile_name: Its profile; "" = the one that it names.
            progress: Says when to stop.
            seconds: The processor time to take at most, about; 0 or less = only what is remembered is given.

        Raises:
            NotFoundError: It has no such profile.
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        profile = work.engine.profile(profile_name, pod)
        key = msgspec.msgpack.encode(template_of(pod), enc_hook=dict), profile.key
        with self._lock:
            known = self._known.pop(key, None)
        if known is None or not _holds(work, pod, profile, known, progress):
            if seconds <= 0:
                return NeededChanges(Status(Code.UNSCHEDULABLE), complete=False)
            found = search(work, pod, profile, profile_name, progress, seconds=seconds)
            known = _Remembered(found, work.version.live_version, time.monotonic())
            if not (found.options or found.complete):
                return found
        with self._lock:
            self._known[key] = known
            while len(self._known) > MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
        return known.found


def search(
    work: Work, pod: Pod, profile: Profile, profile_name: str, progress: Progress, *, seconds: float
) -> NeededChanges:
    """Look for changes that would make a pod, or its group, fit; otherwise as ``Advisor.advise``."""
    group, requested = group_as_a_whole(work.tree, pod, profile), requested_by(work, pod)
    if group is not None and pod.group is not None:
        pods = pods_of_group(work.tree, pod.group)
        asked = asked_group(work.engine, group, pods, profile, progress).group
        found = GroupChangeSearch(work, asked, profile, seconds=seconds, progress=progress).run()
    else:
        movers = partial(adopted, work.engine, profile_name)
        seeking = ChangeSearch(work, pod, profile, movers, seconds=seconds, progress=progress)
        found = seeking.run(enough=lambda option: _hardness(option, requested) == (1, 0))
    return replace(found, options=easiest_first(found.options, requested))


def requested_by(work: Work, pod: Pod) -> frozenset[str]:
    """Return the resources that a pod requests."""
    return frozenset(name for name, some in work.tree.kind_of(pod, remember=False).usage.requests if some)


def _holds(work: Work, pod: Pod, profile: Profile, known: _Remembered, progress: Progress) -> bool:
    """Return whether remembered advice can be given again; brings its number of nodes up to date."""
    version, options = work.version.live_version, known.found.options
    if known.version == version:
        return True
    passed = time.monotonic() - known.time
    if not options or options[0].landings:
        return passed < FRESH_SECONDS_OF_NONE
    if passed >= FRESH_SECONDS:
        return False
    nodes = nodes_with(work, pod, profile, options[0], progress)
    if nodes:
        first = replace(options[0], nodes=nodes)
        known.found, known.version = replace(known.found, options=[first, *options[1:]]), version
    return nodes > 0


def nodes_with(work: Work, pod: Pod, profile: Profile, option: ChangeOption, progress: Progress) -> int:
    """Return how many nodes take a pod with a set of changes, as the cluster is now; 0 if none does."""
    steps, placed = option.steps, work.tree.snapshot.pods.get(pod.metadata.uid)
    try:
        if placed is not None and placed.node_name:
            work.tree.discard(placed.uid)
        if of_the_pod(steps):
            return taking(work, changed_pod(pod, steps), profile, progress)
        _make(work, steps)
        if not place_on(work, changed_pod(pod, steps), option.node_name, profile, progress).ok:
            return 0
        for step in steps:
            if isinstance(step, Move):
                again = made_anew(step.pod)
                own = adopted(work.engine, "", again)
                if not place_on(work, again, step.node_name, own, progress).ok:
                    return 0
    except (FailedPreconditionError, NotFoundError):
        return 0
    finally:
        work.go_back()
    return 1


def _make(work: Work, steps: Sequence[Step]) -> None:
    """Make changes of nodes, and take away the pods that leave."""
    nodes = work.tree.snapshot.nodes
    for name in {step.node_name for step in steps if isinstance(step, Relabel)} & nodes.index.keys():
        node = nodes.nodes[nodes.index[name]]
        own = [step for step in steps if isinstance(step, Relabel) and step.node_name == name]
        work.tree.put_objects([changed_node(node, own)] if node is not None else [])
    for step in steps:
        if isinstance(step, AddNode):
            more = reports(step.node.metadata.name, step.like, work.tree.snapshot.objects)
            work.tree.put_objects([step.node, *more])
    for step in steps:
        if isinstance(step, Move | End):
            work.tree.discard(step.pod.metadata.uid)


def easiest_first(options: Iterable[ChangeOption], requested: Container[str]) -> list[ChangeOption]:
    """Return sets of changes: those with the fewest first, and of these the easiest for people.

    The order is: tolerate a taint, wait until a pod ends, label a node, move a pod, add a node, lower a
    request. The hardest change of each set counts. Two sorts of taints are tolerated last of all: one named
    after a resource that is not ``requested``, which keeps nodes with rare devices for pods that need them,
    and that of the control plane.
    """
    return sorted(options, key=lambda option: _hardness(option, requested))


def _hardness(option: ChangeOption, requested: Container[str]) -> tuple[int, int]:
    """Return how many changes an option has, and how hard the hardest is: 0, the easiest, or more."""

    def of(step: Step) -> int:
        if isinstance(step, Tolerate) and _is_kept(step.taint, requested):
            return len(_EASIEST_FIRST)
        return _EASIEST_FIRST.index(step.kind)

    return len(option.steps), max(map(of, option.steps), default=0)


def _is_kept(taint: Taint, requested: Container[str]) -> bool:
    """Return whether the taint keeps its nodes for others than ordinary pods."""
    key = taint.key
    return key in _CONTROL_PLANE or (is_extended_resource(key) and key not in requested)


def words(option: ChangeOption) -> str:
    """Return a set of changes as something to do: ``tolerate gpu=true:NoSchedule (200 nodes)``."""
    steps = [step for step in option.steps if not isinstance(step, AddNode)]
    added = Counter(step.like for step in option.steps if isinstance(step, AddNode))
    new = [
        f"add {count} nodes like {like}" if count > 1 else f"add a node like {like}"
        for like, count in added.items()
    ]
    done = " and ".join([*map(step_words, steps), *new])
    if new:
        return done
    if option.nodes != 1:
        return f"{done} ({option.nodes} nodes)"
    named = any(isinstance(step, Relabel) for step in option.steps)
    return done if named or not option.node_name else f"{done} ({option.node_name})"


def step_words(step: Step) -> str:
    """Return one change as something to do."""
    match step:
        case Tolerate(taint):
            where = ", and run on the control plane" if taint.key in _CONTROL_PLANE else ""
            return f"tolerate {_taint(taint)}{where}"
        case Relabel(node, key, None):
            return f"take the label {key} off {node}"
        case Relabel(node, key, value):
            return f"label {node} with {key}={value}"
        case LowerRequest(resource, least, before):
            return f"request {amount(resource, least)} {resource} instead of {amount(resource, before)}"
        case Move(pod, node):
            return f"move {pod.key} to {node}"
        case End(pod):
            return f"wait until {pod.key} ends"
        case AddNode(_, like):
            return f"add a node like {like}"


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
