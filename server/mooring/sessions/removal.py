"""Whether a node could go: each of its pods evicted, and placed anew where there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from mooring.framework import Code, Pod, Status
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.pod_table import PodKind, PodRecord
from mooring.runtime.commit.placement import asks_nothing
from mooring.runtime.cycle.alike_pods import alike
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.evictions import Evictions, Used, ends_with_node
from mooring.sessions.placing import place_alike, place_pod
from mooring.sessions.work_trees import Work


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a pod would go.

    Attributes:
        pod: The pod, as it is on its old node.
        node_name: Its new node, "" = none.
        status: Why it has none.
        message: The same as a sentence.
    """

    pod: Pod
    node_name: str = ""
    status: Status = field(default_factory=Status)
    message: str = ""


@dataclass(frozen=True, slots=True)
class NodeRemoval:
    """Whether a node could go.

    Attributes:
        node_name: The node.
        removable: Whether all of its pods may be evicted and find other nodes.
        landings: The pods that were looked at, the last one being the obstacle if there is one.
        ending: How many pods end with the node.
    """

    node_name: str
    removable: bool
    landings: tuple[Landing, ...]
    ending: int


class Removal:
    """Looks at the nodes of a work tree, by itself each or one after the other. For one thread.

    Args:
        work: The tree. What is done to it is the caller's to keep or to take back.
        profile_of: The profile of a pod; raises NotFoundError for one of another scheduler.
        seed: Decides between nodes of equal totals.
    """

    def __init__(self, work: Work, profile_of: Callable[[Pod], Profile], *, seed: int = 0) -> None:
        self._work = work
        self._profile_of = profile_of
        self._seed = seed
        self._evictions = Evictions(work.tree.snapshot.objects.all(PodDisruptionBudget))
        self._departures = work.engine.futures.departures()
        self._templates: dict[int, tuple[PodKind, tuple[Pod, Profile] | None]] = {}

    def try_nodes(
        self, names: Iterable[str], progress: Progress, *, cumulative: bool = False
    ) -> Iterator[NodeRemoval]:
        """Look at nodes that are there, each by itself; the tree is in the end what it was.

        With ``cumulative`` a node that can go is gone for those after it, in the end as well.

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
        """Look at one node, which with ``lasting`` is gone then if it can go; raises as ``try_nodes``.

        Evictions that budgets granted are added to ``used``.
        """
        tables = self._work.tree.snapshot
        row = tables.nodes.index[node_name]
        there = list(tables.pods.records_on(row))
        moving = [record for record in there if not ends_with_node(record.kind.base.template)]
        ending = len(there) - len(moving)
        # Those that can't be evicted are found before anything is moved, which takes much longer.
        for record in moving:
            if obstacle := self._evictions.obstacle(record.kind.template, used):
                status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (obstacle,))
                return NodeRemoval(node_name, False, (Landing(record.pod, "", status, obstacle),), ending)
        moving.sort(key=lambda record: -record.kind.base.template.priority)
        nodes = self._nodes_without(row, moving, progress)
        landings = [Landing(record.pod, new) for record, new in zip(moving, nodes, strict=False)]
        if lasting or len(landings) < len(moving):
            self._remove(node_name, there)
            for landing in landings:
                self._work.tree.assume(made_anew(landing.pod), landing.node_name)
            landings += self._land_all([record.pod for record in moving[len(landings) :]], progress)
        removable = len(landings) == len(moving) and all(landing.node_name for landing in landings)
        return NodeRemoval(node_name, removable, tuple(landings), ending)

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
        return self._departures.decide(row, templates, indices, uids, self._seed, progress)

    def _template(self, kind: PodKind) -> tuple[Pod, Profile] | None:
        """Return what is made anew of pods of a kind, and its profile; None where more than a node is chosen.

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

    def _remove(self, node_name: str, there: Sequence[PodRecord]) -> None:
        """Remove a node and its pods."""
        for record in there:
            self._work.tree.discard(record.uid)
        self._work.tree.remove_node(node_name)

    def _land_all(self, pods: Sequence[Pod], progress: Progress) -> list[Landing]:
        """Place ``pods``, up to the first that finds no node."""
        landings: list[Landing] = []
        while len(landings) < len(pods):
            progress.check()
            rest = pods[len(landings) :]
            landings += self._land_alike(rest, progress)
            if len(landings) == len(pods):
                break
            landings.append(self._land(pods[len(landings)], progress))
            if not landings[-1].node_name:
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

    def _land(self, pod: Pod, progress: Progress) -> Landing:
        """Place ``pod`` as the one that its controller would make in its stead."""
        again = made_anew(pod)
        try:
            placed = place_pod(self._work, again, self._profile_of(again), seed=self._seed, progress=progress)
        except (FailedPreconditionError, NotFoundError) as error:
            return Landing(pod, "", Status(Code.ERROR, (error.reason,)), error.message)
        if placed.status.ok:
            return Landing(pod, placed.choice.node_name or "")
        return Landing(pod, "", placed.status, placed.choice.message or placed.status.message)


def adopted(engine: Engine, named: str, pod: Pod) -> Profile:
    """Return the pod's own profile; the ``named`` one for pods of other schedulers, if one is named.

    Raises:
        NotFoundError: It has none (PROFILE_NOT_FOUND).
    """
    profiles = engine.profiles
    return profiles.of_pod(named if profiles.is_foreign(pod) else "", pod)


def made_anew(pod: Pod) -> Pod:
    """Return the pod that the controller of ``pod`` would make in its stead."""
    return replace(
        pod,
        spec=replace(pod.spec, node_name=""),
        status=replace(pod.status, start_time=None, nominated_node_name=""),
        metadata=replace(pod.metadata, deletion_timestamp=None),
    )
