"""Makes changes in a session, and says whether the pod fits with them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from mooring.framework import Int32s, Node, Pod
from mooring.framework.errors import FailedPreconditionError, NotFoundError
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.pod_affinity import affinity_terms
from mooring.framework.pod_table import PodBase, PodKind, PodRecord
from mooring.runtime.answers import ALL_NODES, Candidates, Progress
from mooring.runtime.commit.controllers import made_anew
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.change.elsewhere import PodsElsewhere
from mooring.sessions.change.homes import Homes
from mooring.sessions.change.labels import Labels
from mooring.sessions.change.needs import Needs, frees
from mooring.sessions.change.steps import (
    AddNode,
    End,
    LowerRequest,
    Move,
    Relabel,
    Step,
    Tolerate,
    changed_node,
    changed_pod,
    kind_of_new,
    one_more,
    reports,
)
from mooring.sessions.daemons import Daemons
from mooring.sessions.evictions import Evictions, Used, ends_with_node
from mooring.sessions.pending import ProfileOf
from mooring.sessions.placing import place_on, place_pod
from mooring.sessions.work_trees import Work


class ChangeTrial:
    """Tries changes for one pod. For one thread; the tree is after each trial what it was.

    Args:
        profile_of: The profile of a pod that is moved; raises NotFoundError for one of another scheduler.

    Attributes:
        homes: The possible nodes of moved pods.
        daemons: The DaemonSets, whose pods new nodes get.
    """

    def __init__(
        self,
        work: Work,
        pod: Pod,
        profile: Profile,
        profile_of: ProfileOf,
        seed: int,
        progress: Progress,
    ) -> None:
        self._work = work
        self._pod = pod
        self._profile = profile
        self._profile_of = profile_of
        self._seed = seed
        self._progress = progress
        self._evictions = Evictions(work.tree.snapshot.objects.all(PodDisruptionBudget))
        self._going: dict[int, bool] = {}
        self._alike: dict[int, Hashable] = {}
        self._leaving_by: dict[frozenset[str], frozenset[int]] = {}
        self.daemons = Daemons(work)
        self.homes = Homes(work.tree.snapshot.nodes, profile_of)

    def kind_of_new(self, row: int) -> Hashable:
        """As the function of that name, of the node of a row."""
        return kind_of_new(self._node(row))

    def movable(self, row: int, *, ending: bool = False) -> list[list[PodRecord]]:
        """Return the pods of a node that may go, or that will end, those of one kind together."""
        kinds: dict[int, list[PodRecord]] = {}
        there = self._work.tree.snapshot.pods.records_on(row)
        for record in sorted(there, key=lambda record: (record.name, record.uid)):
            kinds.setdefault(id(record.kind), []).append(record)
        return [records for records in kinds.values() if self._leaves(records[0].kind, ending)]

    def leaves(self, row: int, room: Mapping[str, int], *, ending: bool = False) -> bool:
        """Return whether a pod of a node will end, or may go to another one while no other pod does, and
        gives back some of these resources.
        """
        there = self._work.tree.snapshot.pods.records_on(row)
        if ending:
            return any(will_end(each.kind.template) and frees(each.kind.usage, room) for each in there)
        leaving = self._leaving(frozenset(room))
        return bool(leaving) and any(
            id(each.kind.base) in leaving and self._may_go(each.kind) for each in there
        )

    def _leaving(self, names: frozenset[str]) -> frozenset[int]:
        """Return the bases of pods that ask for some of these and may have room elsewhere, by identity."""
        if names not in self._leaving_by:
            some = (base for base in self.bases if frees(base.usage, names) and self.homes.any_has_room(base))
            self._leaving_by[names] = frozenset(map(id, some))
        return self._leaving_by[names]

    @cached_property
    def bases(self) -> list[PodBase]:
        """The bases of the pods that there are."""
        bases = list(map(attrgetter("kind.base"), self._work.tree.snapshot.pods.records.values()))
        return list(dict(zip(map(id, bases), bases, strict=True)).values())

    def movable_elsewhere(self, row: int, *, ending: bool = False) -> tuple[list[list[PodRecord]], bool]:
        """Return the pods of other nodes that may go, or will end, and may keep the pod off the node, those
        of one kind and node together; and whether these are all.
        """
        groups, whole = self._elsewhere.counting_for(row)
        return [records for records in groups if self._leaves(records[0].kind, ending)], whole

    @cached_property
    def any_ends(self) -> bool:
        """Whether there are pods that will end."""
        return any(will_end(base.template) for base in self.bases)

    def _leaves(self, kind: PodKind, ending: bool) -> bool:
        return will_end(kind.template) if ending else self._may_go(kind)

    def alike(self, kind: PodKind) -> Hashable:
        """Return a value that is equal for kinds of pods that free equal amounts of the same nodes and that
        the same nodes take.
        """
        key = id(kind)
        if key not in self._alike:
            spec = msgspec.msgpack.encode(replace(kind.base.template.spec, containers=(), init_containers=()))
            related = kind.class_key if self._work.tree.snapshot.pods.affinities else None
            self._alike[key] = kind.usage.requests, kind.usage.host_ports, spec, related
        return self._alike[key]

    def spread_among(self, record: PodRecord) -> bool:
        """Return whether the pod is spread among pods like this one, or may be."""
        return self._elsewhere.spread_among(record.kind)

    @cached_property
    def _elsewhere(self) -> PodsElsewhere:
        tables = self._work.tree.snapshot
        return PodsElsewhere(self._pod, tables.nodes, tables.pods)

    def _may_go(self, kind: PodKind) -> bool:
        """Return whether pods of a kind may be evicted and would be recreated."""
        key = id(kind)
        if key not in self._going:
            pod = kind.template
            self._going[key] = not ends_with_node(pod) and not self._evictions.obstacle(pod, Used())
        return self._going[key]

    def steps(
        self,
        needs: Needs,
        row: int,
        labels: Labels,
        moved: Sequence[PodRecord] = (),
        requests: Sequence[LowerRequest] = (),
        *,
        ending: bool = False,
    ) -> tuple[tuple[Step, ...], str] | None:
        """Return the changes, and the node that takes the pod with them; None if it doesn't, or if a pod that
        is moved finds no other node. The ``moved`` pods may be ``ending`` instead.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        try:
            return self._made(needs, row, labels, moved, requests, ending)
        except (FailedPreconditionError, NotFoundError):
            return None
        finally:
            self._work.go_back()

    def _made(
        self,
        needs: Needs,
        row: int,
        labels: Mapping[str, str | None],
        moved: Sequence[PodRecord],
        requests: Sequence[LowerRequest],
        ending: bool,
    ) -> tuple[tuple[Step, ...], str] | None:
        tree, used, node = self._work.tree, Used(), self._node(row)
        like = node.metadata.name
        if needs.new:
            node = one_more(node, tree.snapshot.nodes.index)
        name = node.metadata.name
        steps: list[Step] = [Tolerate(taint) for taint in needs.taints]
        steps += (Relabel(name, key, value) for key, value in labels.items())
        steps += requests
        if needs.new or labels:
            node = changed_node(node, steps)
            more = reports(name, like, tree.snapshot.objects) if needs.new else ()
            tree.put_objects([node, *more])
        if needs.new:
            self.daemons.start([node], self._progress)
        if not ending and any(self._evictions.obstacle(each.pod, used) for each in moved):
            return None
        for each in moved:
            tree.discard(each.uid)
        if not place_on(self._work, changed_pod(self._pod, steps), name, self._profile, self._progress).ok:
            return None
        if ending:
            return (*steps, *(End(each.pod) for each in moved)), name
        for number, each in enumerate(sorted(moved, key=lambda record: -record.kind.base.template.priority)):
            landed = self._landed(each)
            if not landed:
                if not number and not labels:
                    self._note_homeless(each, row)
                return None
            steps.append(Move(each.pod, landed))
        if needs.new:
            steps.append(AddNode(node, like))
        return tuple(steps), name

    def _note_homeless(self, record: PodRecord, row: int) -> None:
        """Note that no node takes a pod; so it is for all of its kind, if where others are doesn't matter.

        It may be otherwise for the node that it left, and for that of ``row``, which has the pod now.
        """
        kind, spec = record.kind, record.kind.base.template.spec
        related = kind.affinity_key is not None or kind.has_storage or spec.topology_spread_constraints
        if not related and not affinity_terms(self._pod).required_anti and not self._profile.extenders:
            self.homes.note(record, frozenset((record.row, row)))

    def _landed(self, record: PodRecord) -> str:
        """Place a pod that is moved; return its new node, "" = it finds no other one."""
        again = made_anew(record.pod)
        landed = self._placed(again, ALL_NODES)
        if landed != record.node_name:
            return landed
        self._work.tree.discard(record.uid)
        return self._placed(
            again, Candidates(lambda state: _without(state.snapshot.nodes.rows(), record.row))
        )

    def _placed(self, pod: Pod, candidates: Candidates) -> str:
        profile = self._profile_of(pod)
        placed = place_pod(self._work, pod, profile, candidates, seed=self._seed, progress=self._progress)
        return (placed.choice.node_name or "") if placed.status.ok else ""

    def _node(self, row: int) -> Node:
        node = self._work.tree.snapshot.nodes.nodes[row]
        assert node is not None  # noqa: S101 - the tree is one thread's
        return node


def will_end(pod: Pod) -> bool:
    """Return whether a pod runs to completion: its controller is some kind of job or workflow."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind.endswith(("Job", "Workflow"))


def _without(rows: Int32s, row: int) -> Int32s:
    others: Int32s = rows[rows != row]
    return others
