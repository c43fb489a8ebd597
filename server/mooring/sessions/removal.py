"""Whether a node could be removed: its pods are evicted, and each has to find another node.

Mirrors ``kubectl drain`` (k8s.io/kubectl/pkg/drain). For the new places it mirrors Cluster Autoscaler's
simulator (``cluster-autoscaler/simulator/cluster.go``), which keeps the drained node in its snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from enum import IntEnum
from functools import cached_property

from msgspec.structs import replace

from mooring.framework import Code, Node, Pod, Status
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.pod_table import PodKind, PodRecord
from mooring.framework.taints import tolerated
from mooring.plugins.node_unschedulable.hints import CORDON
from mooring.runtime.answers import ALL_NODES, Candidates, Progress
from mooring.runtime.commit.controllers import controller_of, made_anew
from mooring.runtime.commit.placement import asks_nothing
from mooring.runtime.engine import Engine
from mooring.runtime.forecast.alike_pods import alike
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.evictions import Evictions, Used, ends_with_node
from mooring.sessions.placing import place_alike, place_pod
from mooring.sessions.work_trees import Work


class Departure(IntEnum):
    """How a node is removed."""

    DRAIN = 1
    """It is cordoned and stays until its pods have other nodes, so it still counts as a topology domain."""
    DELETION = 2
    """Its Node object is deleted first, so it doesn't count at all."""


@dataclass(frozen=True, slots=True)
class Landing:
    """The node to which a pod would go.

    Attributes:
        pod: The pod, as it is on its old node.
        node_name: Its new node, "" = none.
        status: Why it has none, or none yet.
        message: The same as a sentence.
        waits: It gets the new node only once the Node object of the old one is deleted.
    """

    pod: Pod
    node_name: str = ""
    status: Status = field(default_factory=Status)
    message: str = ""
    waits: bool = False

    @property
    def held(self) -> bool:
        """Whether it blocks the removal of its node for now."""
        return self.waits or not self.node_name


@dataclass(frozen=True, slots=True)
class NodeRemoval:
    """Whether a node could be removed.

    Attributes:
        node_name: The node.
        removable: Whether all of its pods may be evicted and find other nodes at once.
        landings: The pods that were tried. Unless pods wait, the last one is the obstacle, if there is
            one.
        ending: How many pods end with the node.
        alone: The pods that are the only replicas of their controllers.
        exhausted: The PodDisruptionBudgets of its pods that allow no disruption now, as ``namespace/name``.
        local_data: The pods with emptyDir volumes, whose data is lost with them.
    """

    node_name: str
    removable: bool
    landings: tuple[Landing, ...]
    ending: int
    alone: tuple[Pod, ...] = ()
    exhausted: tuple[str, ...] = ()
    local_data: tuple[Pod, ...] = ()


class Removal:
    """Tries to remove the nodes of a work tree, each by itself or one after the other. For one thread.

    Args:
        work: The tree. The caller keeps the changes or takes them back.
        profile_of: The profile of a pod; raises NotFoundError for one of another scheduler.
        departure: How nodes are removed.
        queued: The UIDs of pending pods that were placed first: they need not be evicted.
    """

    def __init__(
        self,
        work: Work,
        profile_of: Callable[[Pod], Profile],
        *,
        departure: Departure = Departure.DRAIN,
        queued: frozenset[str] = frozenset(),
        seed: int = 0,
    ) -> None:
        self._work = work
        self._profile_of = profile_of
        self._departure = departure
        self._queued = queued
        self._seed = seed
        self._evictions = Evictions(work.tree.snapshot.objects.all(PodDisruptionBudget))
        self._without_nodes = work.engine.node_removal()
        self._templates: dict[int, tuple[PodKind, tuple[Pod, Profile] | None]] = {}

    def try_nodes(
        self, names: Iterable[str], progress: Progress, *, cumulative: bool = False
    ) -> Iterator[NodeRemoval]:
        """Try to remove nodes, each by itself; the tree ends up unchanged.

        With ``cumulative``, a node that can go is removed for the nodes after it, and stays removed.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        used = Used()
        self._work.keep()
        for name in names:
            progress.check()
            counted = used.copy() if cumulative else Used()
            found = self._try(name, counted, progress, lasting=cumulative)
            if cumulative and found.removable:
                self._work.keep()
                used = counted
            else:
                self._work.go_back()
            yield found

    def _try(self, node_name: str, used: Used, progress: Progress, *, lasting: bool) -> NodeRemoval:
        """Try to remove one node; with ``lasting`` it is removed if it can go. Raises as ``try_nodes``.

        Evictions that budgets allow are added to ``used``.
        """
        tables = self._work.tree.snapshot
        row = tables.nodes.index[node_name]
        there = list(tables.pods.records_on(row))
        moving = [record for record in there if not ends_with_node(record.kind.base.template)]
        evicted = [record for record in moving if record.uid not in self._queued]
        said = NodeRemoval(
            node_name,
            False,
            (),
            len(there) - len(moving),
            tuple(record.pod for record in evicted if self._is_alone(record)),
            self._evictions.exhausted(record.kind.template for record in evicted),
            tuple(record.pod for record in evicted if record.kind.template.has_local_data),
        )
        # Pods that can't be evicted are found first, since moving pods takes much longer.
        for record in evicted:
            if obstacle := self._evictions.obstacle(record.kind.template, used):
                status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (obstacle,))
                return changed(said, landings=(Landing(record.pod, "", status, obstacle),))
        moving.sort(key=lambda record: (-record.kind.base.template.priority, record.uid not in self._queued))
        landings = self._moved(row, moving, progress, lasting=lasting)
        gone = len(landings) == len(moving) and not any(each.held for each in landings)
        told = [
            each if each.pod.metadata.uid not in self._queued else _without_room(each)
            for each in landings
            if each.held or each.pod.metadata.uid not in self._queued
        ]
        return changed(said, removable=gone, landings=tuple(told))

    def _moved(
        self, row: int, moving: Sequence[PodRecord], progress: Progress, *, lasting: bool
    ) -> Sequence[Landing]:
        """Place the evicted pods again, up to the first that finds no node even once the node is deleted."""
        nodes = self._nodes_without(row, moving, progress)
        first = [Landing(record.pod, new) for record, new in zip(moving, nodes, strict=False)]
        if len(first) == len(moving) and not lasting:
            return first
        tree, rest = self._work.tree, [record.pod for record in moving[len(first) :]]
        node = tree.snapshot.nodes.nodes[row]
        assert node is not None  # noqa: S101 - the tree is one thread's

        def landed(departure: Departure, *, past_obstacles: bool = False) -> list[Landing]:
            self._work.go_back()
            self._vacate(node, departure)
            for landing in first:
                tree.assume(made_anew(landing.pod), landing.node_name)
            return first + self._land_all(rest, node.metadata.name, progress, past_obstacles=past_obstacles)

        found = landed(self._departure)
        if self._departure is Departure.DELETION:
            return found
        if not all(each.node_name for each in found):
            found = landed(Departure.DELETION)
            if all(each.node_name for each in found):
                drained = landed(Departure.DRAIN, past_obstacles=True)
                return [
                    one if one.node_name else changed(one, node_name=other.node_name, waits=True)
                    for one, other in zip(drained, found, strict=True)
                ]
        elif lasting:
            self._vacate(node, Departure.DELETION)
        return found

    @cached_property
    def _of_controllers(self) -> Counter[str]:
        """How many pods each controller has, by its UID."""
        records = self._work.tree.snapshot.pods.records.values()
        return Counter(controller_of(record.kind.base.template) for record in records)

    def _is_alone(self, record: PodRecord) -> bool:
        controller = controller_of(record.kind.base.template)
        return bool(controller) and self._of_controllers[controller] == 1

    def _vacate(self, node: Node, departure: Departure) -> None:
        """Remove a node and its pods; or cordon it, and keep the pods that end with it."""
        tree, drained = self._work.tree, departure is Departure.DRAIN
        there = tree.snapshot.pods.records_on(tree.snapshot.nodes.index[node.metadata.name])
        for record in list(there):
            if not (drained and ends_with_node(record.kind.base.template)):
                tree.discard(record.uid)
        if drained:
            tree.put_objects([cordoned(node)])
        else:
            tree.remove_node(node.metadata.name)

    def _nodes_without(self, row: int, records: Sequence[PodRecord], progress: Progress) -> Sequence[str]:
        """Return where the first of some pods go without the node of ``row``; the tree stays as it is."""
        numbers: dict[int, int] = {}
        templates: list[tuple[Pod, Profile]] = []
        indices: list[int] = []
        for record in records:
            key = id(record.kind)
            if key not in numbers:
                template = self._template(record.kind)
                if template is None:
                    break
                numbers[key] = len(templates)
                templates.append(template)
            indices.append(numbers[key])
        uids = [record.uid for record in records[: len(indices)]]
        return self._without_nodes.decide(row, templates, indices, uids, self._seed, progress)

    def _template(self, kind: PodKind) -> tuple[Pod, Profile] | None:
        """Return a recreated pod of a kind, and its profile; None if more than a node has to be selected.

        Always the same for a kind.
        """
        known = self._templates.get(id(kind))
        if known is None:
            pod = made_anew(kind.template)
            try:
                decided = pod, self._profile_of(pod)
            except NotFoundError:
                return None
            known = self._templates[id(kind)] = kind, decided if asks_nothing(*decided) else None
        return known[1]

    def _land_all(
        self, pods: Sequence[Pod], leaving: str, progress: Progress, *, past_obstacles: bool
    ) -> list[Landing]:
        """Place ``pods`` on other nodes than ``leaving``, up to the first that finds none, or all."""
        landings: list[Landing] = []
        while len(landings) < len(pods):
            progress.check()
            rest = pods[len(landings) :]
            # A pod that tolerates the cordon might come back, and would have to move when the node is gone.
            returning = [tolerated(CORDON, pod.spec.tolerations) for pod in rest]
            landings += self._land_alike(rest[: (*returning, True).index(True)], progress)
            if len(landings) == len(pods):
                break
            landings.append(self._land(pods[len(landings)], leaving, progress))
            if not landings[-1].node_name and not past_obstacles:
                break
        return landings

    def _land_alike(self, pods: Sequence[Pod], progress: Progress) -> list[Landing]:
        """Place the first of ``pods`` in one step, as far as that goes."""
        templates, indices = alike([made_anew(pod) for pod in pods])
        try:
            decided = [(template, self._profile_of(template)) for template in templates]
        except NotFoundError:
            return []
        names = [pod.metadata.name for pod in pods]
        uids = [pod.metadata.uid for pod in pods]
        choices = place_alike(self._work, decided, indices, names, uids, seed=self._seed, progress=progress)
        return [Landing(pod, choice.node_name or "") for pod, choice in zip(pods, choices, strict=False)]

    def _land(self, pod: Pod, leaving: str, progress: Progress) -> Landing:
        """Place ``pod`` as the one that its controller would make in its stead."""
        again = made_anew(pod)
        left = self._work.tree.snapshot.nodes.index.get(leaving)
        if left is None or not tolerated(CORDON, pod.spec.tolerations):
            elsewhere = ALL_NODES
        else:
            elsewhere = Candidates(
                lambda state: state.snapshot.nodes.rows()[state.snapshot.nodes.rows() != left]
            )
        try:
            profile = self._profile_of(again)
            placed = place_pod(self._work, again, profile, elsewhere, seed=self._seed, progress=progress)
        except (FailedPreconditionError, NotFoundError) as error:
            return Landing(pod, "", Status(Code.ERROR, (error.reason,)), error.message)
        if placed.status.ok:
            return Landing(pod, placed.choice.node_name or "")
        return Landing(pod, "", placed.status, placed.choice.message or placed.status.message)


def _without_room(landing: Landing) -> Landing:
    """Return the landing with a message for a pending pod that would lose its room."""
    return changed(landing, message=f"it is pending, and no room is left for it: {landing.message}")


def adopted(engine: Engine, named: str, pod: Pod) -> Profile:
    """Return the pod's own profile; the ``named`` one for pods of other schedulers, if one is named. Raises
    NotFoundError if it has none (PROFILE_NOT_FOUND).
    """
    profiles = engine.profiles
    return profiles.of_pod(named if profiles.is_foreign(pod) else "", pod)


def cordoned(node: Node) -> Node:
    """Return the node as ``kubectl cordon`` and the node lifecycle controller leave it."""
    taints = (*(taint for taint in node.spec.taints if taint.key != CORDON.key), CORDON)
    return replace(node, spec=replace(node.spec, unschedulable=True, taints=taints))
