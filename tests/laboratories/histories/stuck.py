"""A full cluster in which pods wait for room that is made for others: nominations come, move and end in every
way, while pods like the rejected ones are decided and placed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, ClassVar

from msgspec.structs import replace

from mooring.cluster.kinds import Change, Put
from mooring.framework import Node, Pod, Status
from mooring.framework.objects import PodStatus
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import evaluate_preemption
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.testing import make_node
from tests.laboratories.histories.cluster import Cluster, Scene
from tests.laboratories.histories.comparing import check, facts, in_full, is_cached
from tests.laboratories.histories.in_process import InProcess
from tests.laboratories.histories.objects import draw_node
from tests.laboratories.histories.pods import Kind, kind_of_pod, pod_of

ROOM = ("500m", "1", "2")
"""The requests of pods, and the possible free amounts of a node."""


def _kind(dice: Random) -> Kind:
    """Most pods are simple, so verdicts about them last."""
    if dice.random() < 0.15:
        return kind_of_pod(dice)
    return {
        "requests": {"cpu": dice.choice(ROOM)},
        "labels": {},
        "spec": {"priority": dice.choice((0, 0, 10))},
    }


def _scene(dice: Random) -> Scene:
    kinds = tuple(_kind(dice) for _ in range(6))
    return Scene(tuple(f"n{at}" for at in range(dice.randint(2, 8))), kinds, kinds[: dice.randint(1, 3)])


class Full(Cluster):
    """Small nodes, each with a filler that leaves little room or none."""

    def begin(self, dice: Random) -> list[Change]:
        changes: list[Change] = []
        for name in self.scene.nodes:
            changes += self.put(self._small(dice, name)) + self.fill(dice)
        return changes + self.nominate(dice)

    def happen(self, dice: Random) -> list[Change]:
        changes: list[Change] = []
        for event in dice.choices(EVENTS, WEIGHTS, k=dice.choice((1, 1, 2, 3))):
            changes += event(self, dice)
        return changes

    def _small(self, dice: Random, name: str) -> Node:
        offer = {"cpu": dice.choice(("2", "4")), "pods": dice.choice((2, 5, 20))}
        plain = make_node(name, allocatable=offer)
        if dice.random() < 0.7:
            return plain
        drawn = draw_node(dice, name)
        return replace(drawn, status=replace(drawn.status, allocatable=plain.status.allocatable))

    def resize_node(self, dice: Random) -> list[Change]:
        """A node is new, has other amounts, labels and taints, or is as it was."""
        return self.put(self._small(dice, dice.choice(self.scene.nodes)))

    def fill(self, dice: Random) -> list[Change]:
        """Return a filler on a node, another one or one of another size."""
        node = self._node(dice)
        uid = self.new_name("filler") if dice.random() < 0.3 else f"filler-{node}"
        priority = {"priority": dice.choice((-5, 0, 10))}
        cpu = dice.choice(("1", "2", "3500m", "4"))
        fields: dict[str, Any] = {"metadata": {"uid": uid}, "spec": priority}
        return self.put(pod_of({}, f"filler-{node}", node=node, requests={"cpu": cpu}, **fields))

    def nominate(self, dice: Random) -> list[Change]:
        """Return pods that room is made for, on one node."""
        node, changes = self._node(dice), list[Change]()
        for _ in range(dice.choice((1, 1, 2))):
            status = {"nominatedNodeName": node}
            spec = {"priority": dice.choice((0, 10, 100))}
            name = self.new_name("guest")
            changes += self.put(pod_of(self.kind(dice), name, spec=spec, status=status))
        return changes

    def renominate(self, dice: Random) -> list[Change]:
        """A nomination moves, or is cleared in the pod's status."""
        return self._with_guest(
            dice, lambda pod: self.put(_nominated(pod, dice.choice(("", self._node(dice)))))
        )

    def bind(self, dice: Random) -> list[Change]:
        """A nominated pod is bound, there or elsewhere."""
        return self._with_guest(
            dice, lambda pod: self.put(replace(pod, spec=replace(pod.spec, node_name=self._node(dice))))
        )

    def finish(self, dice: Random) -> list[Change]:
        """A nominated pod has failed."""
        failed = partial(replace, phase="Failed")
        return self._with_guest(dice, lambda pod: self.put(replace(pod, status=failed(pod.status))))

    def alter(self, dice: Random) -> list[Change]:
        """A nominated pod is of another priority or size."""

        def altered(pod: Pod) -> list[Change]:
            other = pod_of(self.kind(dice), "x", spec={"priority": dice.choice((-10, 0, 10))})
            return self.put(replace(pod, spec=other.spec))

        return self._with_guest(dice, altered)

    def recreate(self, dice: Random) -> list[Change]:
        """Another pod has the name of a nominated one."""

        def again(pod: Pod) -> list[Change]:
            metadata = replace(pod.metadata, uid=self.new_name("again"))
            return self.put(Pod(metadata, pod.spec, PodStatus()))

        return self._with_guest(dice, again)

    def leave(self, dice: Random) -> list[Change]:
        """A nominated pod is deleted."""
        return self._with_guest(dice, lambda pod: self._remove(self.pods.pop(_key(pod))))

    def guests(self) -> list[Pod]:
        """Return the pods that some source says are nominated."""
        pods = [pod for _, pod in sorted(self.pods.items())]
        return [pod for pod in pods if pod.status.nominated_node_name and not pod.spec.node_name]

    def _with_guest(self, dice: Random, change: Callable[[Pod], list[Change]]) -> list[Change]:
        guests = self.guests()
        return change(dice.choice(guests)) if guests else []


def _key(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


def _nominated(pod: Pod, node: str) -> Pod:
    return replace(pod, status=replace(pod.status, nominated_node_name=node))


Event = Callable[[Full, Random], list[Change]]
ODDS: dict[Event, int] = {
    Full.resize_node: 2,
    Full.remove_node: 1,
    Full.heartbeat: 2,
    Full.fill: 5,
    Full.remove_pod: 2,
    Full.pend: 2,
    Full.nominate: 5,
    Full.renominate: 5,
    Full.bind: 3,
    Full.finish: 2,
    Full.alter: 3,
    Full.recreate: 2,
    Full.leave: 3,
    Full.confirm: 4,
    Full.other: 1,
}
EVENTS, WEIGHTS = list(ODDS), list(ODDS.values())


class Stuck(InProcess):
    """One history of a full cluster; an engine that remembers nothing gives the full answers."""

    questions: ClassVar[dict[str, float]] = {
        "assume": 4,
        "decide": 2,
        "both": 4,
        "preempt": 2,
        "batch_assumed": 1,
    }

    def _cluster_of(self, dice: Random) -> Cluster:
        return Full(_scene(dice))

    def step(self, dice: Random) -> None:
        """Play a step of the base class; now and then everything is delivered again, with the
        changes since.
        """
        self.reference = self.setting.engine(self.state)
        if dice.random() < 0.15:
            changes, kind = self.cluster.happen(dice), dice.choice(("", "Pod"))
            if kind:
                self.state.apply("test", [change for change in changes if not _is_of_pod(change)])
            objects = self.cluster.pods.values() if kind else self.cluster.everything()
            self.state.replace("test", objects, kind=kind)
        super().step(dice)
        self._ask(dice, 4)

    def _decided_elsewhere(self, dice: Random) -> None:
        """Nominations that were only decided, and nominated pods that are placed."""
        cluster, state = self.cluster, self.state
        assert isinstance(cluster, Full)
        guests = [pod for pod in cluster.guests() if pod.metadata.uid not in cluster.assumed]
        match dice.choice(("nominate", "nominate", "assume", "assume alike", "forget")):
            case "nominate" if guests:
                state.nominate(dice.choice(guests).metadata.uid, dice.choice(("", cluster._node(dice))))
            case "assume" if guests and cluster.nodes:
                pod, node = dice.choice(guests), dice.choice(sorted(cluster.nodes))
                state.assume(pod, node)
                cluster.assumed[pod.metadata.uid] = pod, node
            case "assume alike" if guests and cluster.nodes:
                pod, node = dice.choice(guests), dice.choice(sorted(cluster.nodes))
                rows = [state.snapshot.nodes.index[node]]
                state.assume_alike(pod, state.kind_of(pod), [pod.metadata.name], [pod.metadata.uid], rows)
                cluster.assumed[pod.metadata.uid] = pod, node
            case "forget" if cluster.assumed:
                uid = dice.choice(sorted(cluster.assumed))
                state.forget(uid)
                cluster.forget(uid)

    def _both(self, dice: Random) -> None:
        """The way that only decides and the way that assumes, about pods that are alike."""
        pod, _ = self._new(dice)
        profile, other = self._profile(dice)
        seed = dice.randrange(9)
        full = in_full(self.reference, self.state, pod, other, seed, self.engine.start)
        dry = self.engine.decide(pod, profile, ALL_NODES, seed=seed)
        found = self.engine.place(pod, profile, ALL_NODES, seed=seed)
        self.tally.decided("assumed", facts(found), facts(full), cached=is_cached(found))
        if isinstance(found.source, Evaluation):
            self._compare_verdicts(found.evaluation, full.evaluation)
        if not profile.samples:
            check("dry run and assumed", (dry.node_name, dry.feasible), (found.node_name, found.feasible))
        if found.node_name is not None:
            self.cluster.assumed[pod.metadata.uid] = pod, found.node_name

    def _preempt(self, dice: Random) -> None:
        """Filter's verdict on each node, and the victims of preemption."""
        pod, _ = self._new(dice)
        profile, other = self._profile(dice)
        if not profile.post_filter:
            return
        run = partial(evaluate_preemption, given=None, seed=dice.randrange(9))
        found, _ = self.engine.evaluate(pod, profile, ALL_NODES, run)
        full, _ = self.reference.evaluate(pod, other.as_written, ALL_NODES, run)
        room, expected = (found.rejection, found.preemption), (full.rejection, full.preemption)
        self.tally.decided("preemption", room, expected, cached=bool(found.recalled))
        self._compare_verdicts(found, full)

    def _compare_verdicts(self, found: Evaluation, full: Evaluation) -> None:
        """Compare Filter's verdicts on each node; verdicts that were cached are counted."""
        check("verdicts", _verdicts(found), _verdicts(full))
        self.tally.comparisons += found.recalled


def _is_of_pod(change: Change) -> bool:
    return isinstance(change.object, Pod) if isinstance(change, Put) else change.kind == "Pod"


def _verdicts(evaluation: Evaluation) -> list[Status]:
    return [evaluation.statuses[code] for code in evaluation.codes.tolist()]
