"""A random history of sessions over the cluster of a scenario, and what their last versions are."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random

from mooring.app.engine import Core, build_core
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.kinds import Change, ClusterObject, Put, Remove
from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.config import default, from_document
from mooring.framework import Pod
from mooring.framework.errors import MooringError
from mooring.runtime.commit.placement import asks_nothing
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.profiles.registry import Registry, installed_registry
from mooring.sessions.placing import place_pod
from mooring.sessions.sessions import Session, Sessions
from mooring.testing.question import NoBinder
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.plain_cycle import document_of

STEPS = {"live": 2, "open": 1, "change": 6, "place": 3, "mark": 1.5, "revert": 1, "commit": 0.5}
"""Steps, by frequency."""

MOST_STEPS, MOST_SESSIONS = 40, 3

There = dict[int, str]
"""The objects that are there: by number of an item, the node of a pod that was placed, "" for all others."""


@dataclass(frozen=True)
class Item:
    """An object, as a manifest and as the state has it."""

    manifest: Manifest
    item: ClusterObject

    @property
    def kind(self) -> str:
        return type(self.item).__name__

    @property
    def node(self) -> str:
        """The node that a pod is on."""
        return self.item.spec.node_name if isinstance(self.item, Pod) else ""

    @property
    def finished(self) -> bool:
        return isinstance(self.item, Pod) and self.item.finished

    def removal(self) -> Remove:
        meta = self.item.metadata
        uid = meta.uid if isinstance(self.item, Pod) else ""
        return Remove(self.kind, meta.namespace, meta.name, uid)


@dataclass
class Twin:
    """A session, what is to be there, what was when it was opened, and at its marks."""

    session: Session
    there: There
    opened: There
    marks: list[There] = field(default_factory=list)


class NotPlayableError(Exception):
    """The scenario has objects that can't be told apart, or that no plugin reads."""


class History:
    """Plays steps and says what the last versions answer. For one thread.

    Args:
        scenario: As of ``tests.laboratories.conformance.generator``.
        name: The name of the history.
        dice: Makes the steps.
        version: The release.

    Raises:
        NotPlayableError: It can't be played.
        ConfigError, MooringError: Its configuration or its objects can't be used.
    """

    def __init__(self, scenario: Manifest, name: str, dice: Random, version: str) -> None:
        self._scenario, self._name, self._dice = scenario, name, dice
        gates = scenario.get("feature_gates") or {}
        options = EngineOptions(kube_version=version, feature_gates=gates)
        self._core = _core(scenario, options)
        self._items = _items(scenario["objects"], options)
        objects = [each.item for each in self._items]
        self.pod = pod_from_manifest(scenario["pod"], objects, options.gates)
        self._core.engine.profile(scenario.get("profile") or "", self.pod)
        self._bare = _bare(scenario["pod"])
        self._options, self._objects = options, objects
        images = any(
            (each.get("status") or {}).get("images") for each in scenario["objects"] if each["kind"] == "Node"
        )
        self._steady = ("PriorityClass", "Namespace", *(["Node"] if images else []))
        self._live: There = {}
        for at in range(len(objects)):
            if self._may_come(self._live, at) and (not self._moves(at) or dice.random() < 0.8):
                self._live[at] = ""
        self._core.state.replace("history", [objects[at] for at in self._live])
        self._sessions = Sessions(LiveState(self._core, options), most_trees=dice.choice((1, 2)))
        self._twins: list[Twin] = []

    def play(self) -> Iterator[tuple[Manifest, Manifest]]:
        """Yield each last version as a scenario, with the session's answer about its pod."""
        for _ in range(self._dice.randint(5, MOST_STEPS)):
            step = self._dice.choices(list(STEPS), list(STEPS.values()))[0]
            if step == "live":
                self._core.state.apply("history", self._changes(self._live))
            elif step == "open" or not self._twins:
                self._open()
            else:
                getattr(self, f"_{step}")(self._dice.choice(self._twins))
        for at, twin in enumerate(self._twins):
            yield self._asked(twin, at), self._answer(twin)
            self._sessions.close(twin.session)

    def _open(self) -> None:
        """From the live state, or from another session."""
        if len(self._twins) == MOST_SESSIONS:
            self._sessions.close(self._twins.pop(self._dice.randrange(MOST_SESSIONS)).session)
        origin = self._dice.choice(self._twins) if self._twins and self._dice.random() < 0.5 else None
        session = self._sessions.open(origin=origin.session if origin else None)
        there = origin.there if origin else self._live
        self._twins.append(Twin(session, {**there}, {**there}))

    def _mark(self, twin: Twin) -> None:
        self._sessions.mark(twin.session)
        twin.marks.append({**twin.there})

    def _revert(self, twin: Twin) -> None:
        mark = self._dice.randint(0, len(twin.marks))
        self._sessions.revert(twin.session, mark)
        twin.there = {**(twin.marks[mark - 1] if mark else twin.opened)}
        del twin.marks[max(0, mark - 1) :]

    def _commit(self, twin: Twin) -> None:
        if twin.marks:
            mark = self._dice.randint(1, len(twin.marks))
            self._sessions.commit(twin.session, mark)
            del twin.marks[mark - 1 :]

    def _change(self, twin: Twin) -> None:
        with self._sessions.working(twin.session, NoDeadline()) as work:
            work.tree.apply_changes(self._changes(twin.there))

    def _place(self, twin: Twin) -> None:
        """Place a pod like the scenario's, or one of its others, with nothing that is reserved."""
        others = [each.manifest for each in self._items if each.kind == "Pod"]
        pattern = self._bare if not others or self._dice.random() < 0.6 else _bare(self._dice.choice(others))
        manifest = copy.deepcopy(pattern)
        number = len(self._items)
        manifest["metadata"] |= {"name": f"placed-{number}", "uid": f"uid-placed-{number}"}
        pod = pod_from_manifest(manifest, self._objects, self._options.gates)
        with self._sessions.working(twin.session, NoDeadline()) as work, suppress(MooringError):
            profile = work.engine.profile(pod=pod)
            if not asks_nothing(pod, profile):
                return
            placed = place_pod(work, pod, profile, ALL_NODES, seed=self._dice.randrange(9))
            if (node := placed.choice.node_name) is not None and placed.status.ok:
                manifest["spec"]["nodeName"] = node
                there = pod_from_manifest(manifest, self._objects, self._options.gates)
                self._items.append(Item(manifest, there))
                twin.there[number] = node

    def _changes(self, there: There) -> list[Change]:
        """Let one thing come or go, with the pods of a node; ``there`` follows."""
        movable = [at for at in range(len(self._items)) if self._moves(at)]
        if not movable:
            return []
        at = self._dice.choice(movable)
        if at not in there:
            if not self._may_come(there, at):
                return []
            there[at] = ""
            return [Put(self._items[at].item)]
        item = self._items[at]
        gone = [at]
        if item.kind == "Node":
            name = item.item.metadata.name
            gone = [*(pod for pod in there if self._items[pod].node == name), at]
        for each in gone:
            del there[each]
        # Pods that have finished are nowhere in the state.
        return [self._items[each].removal() for each in gone if not self._items[each].finished]

    def _moves(self, at: int) -> bool:
        """Return whether it may come and go: objects that are read when a pod is made stay, and so do nodes
        with images, since the first node that has an image decides its size.
        """
        return self._items[at].kind not in self._steady

    def _may_come(self, there: There, at: int) -> bool:
        node = self._items[at].node
        names = {self._items[each].item.metadata.name for each in there if self._items[each].kind == "Node"}
        return not node or node in names

    def _asked(self, twin: Twin, at: int) -> Manifest:
        objects = [self._items[each].manifest for each in twin.there]
        return {**self._scenario, "id": f"{self._name}/{at}", "objects": objects}

    def _answer(self, twin: Twin) -> Manifest:
        cycle = CycleOptions(always_score=self._scenario.get("always_score", False))
        with self._sessions.trying(twin.session, NoDeadline()) as work:
            profile = work.engine.profile(self._scenario.get("profile") or "", self.pod)
            return document_of(work.engine, self.pod, profile, cycle)


@cache
def _registry() -> Registry:
    return installed_registry()


def _core(scenario: Manifest, options: EngineOptions) -> Core:
    registry, config = _registry(), scenario.get("config")
    version, gates = options.kube_version, options.feature_gates
    if config is None:
        configuration = default(registry.catalog(), kube_version=version, feature_gates=gates)
    else:
        configuration = from_document(
            dict(config), registry.catalog(), kube_version=version, feature_gates=gates
        )
    return build_core(options, registry, configuration, lambda _: NoBinder())


def _items(manifests: Sequence[Manifest], options: EngineOptions) -> list[Item]:
    """Return the objects in the order in which the state reads them: nodes first.

    Raises:
        NotPlayableError: They can't be told apart, or are not all read.
    """
    ordered = sorted(manifests, key=lambda manifest: manifest["kind"] != "Node")
    read = objects_from(ordered, options.gates)
    names = [(type(item).__name__, item.metadata.namespace, item.metadata.name) for item in read.objects]
    kinds = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in ordered]
    if read.skipped or len(set(names)) != len(names) or [(kind, name) for kind, _, name in names] != kinds:
        raise NotPlayableError
    return [Item(manifest, item) for manifest, item in zip(ordered, read.objects, strict=True)]


def _bare(pod: Manifest) -> Manifest:
    """Return the pod without a node, and without what Reserve plugins would reserve for it."""
    bare = copy.deepcopy(pod)
    spec, metadata = bare["spec"], bare["metadata"]
    for name in ("nodeName", "volumes", "resourceClaims", "schedulingGates"):
        spec.pop(name, None)
    for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
        (container.get("resources") or {}).pop("claims", None)
        container.pop("volumeMounts", None)
        container.pop("volumeDevices", None)
    bare.pop("status", None)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(name, None)
    return bare
