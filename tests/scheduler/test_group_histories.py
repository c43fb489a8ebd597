"""Random histories of clusters with gangs: a gang's rule holds at every binding, and nothing is forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from mooring.framework import Pod
from mooring.framework.errors import FailedPreconditionError, UnavailableError
from mooring.framework.objects import PodGroup
from mooring.testing import make_node, make_pod
from tests.examples import seeds

from .test_pod_groups import gang, member
from .world import World

GROUPS = ("g1", "g2", "g3")
STEPS = 40


class History:
    """One cluster and what happens to it."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._made = 0
        self._faults = True
        self._failed: set[tuple[str, str] | None] = set()
        self.broken: list[str] = []
        self.world = World(nodes=[self._node(3)], gates={"GenericWorkload": True}, version="1.37")
        self.world.cluster.before_bind = self._before_bind
        self.world.cluster.graceful = False

    def play(self) -> None:
        steps: list[tuple[int, Callable[[], None]]] = [
            (8, self._add_pod),
            (2, self._add_single),
            (4, self._add_group),
            (1, self._remove_group),
            (2, self._remove_pod),
            (1, self._ungate),
            (2, lambda: self.world.cluster.put(self._node(self._draw.randrange(1, 5)))),
            (3, lambda: self.world.wait(self._draw.choice([1, 5, 20]))),
        ]
        for _ in range(STEPS):
            [(_, step)] = self._draw.choices(steps, [weight for weight, _ in steps])
            step()
            self._settle()

    def end_well(self) -> None:
        """Faults end, all groups are there, and there is room: everybody whose gang is complete is bound."""
        self._faults = False
        for name in GROUPS:
            if name not in self.world.cluster.groups:
                self.world.cluster.put(gang(2, name))
        for pod in list(self.world.cluster.pods.values()):
            if pod.spec.scheduling_gates:
                self.world.cluster.put(self._pod(pod.metadata.name, pod.group[1] if pod.group else ""))
        self.world.cluster.put(*(self._node(8) for _ in range(10)))
        for _ in range(40):
            self._settle()
            self.world.clock.advance(10)
        while len(self.world.cycle.reservations):
            self.world.wait(1)
        for _ in range(40):
            self._settle()
            self.world.clock.advance(10)

    def _settle(self) -> None:
        self.world.settle()
        for waiter in tuple(self.world.scheduler._binders._waiters):
            waiter.join(0.01)
        self.world.settle()

    def _before_bind(self, pod: Pod) -> None:
        """Check the rule with the state's view of the gang, and fail now and then.

        Once a gang passed Permit it is bound, whatever the API server says of some of its pods: these are
        tried again.
        """
        group = self.world.cluster.groups.get(pod.group[1]) if pod.group else None
        if group is not None and pod.group is not None and pod.group not in self._failed:
            there = self.world.state.snapshot.pods.in_group(pod.group)
            placed = [each for each in there if each.spec.node_name]
            if len(placed) < self.least(group):
                self.broken.append(f"{pod.key} is bound, of its gang only {len(placed)} have a node")
        if self._faults and self._draw.random() < 0.1:
            self._failed.add(pod.group)
            raise self._draw.choice(
                [
                    FailedPreconditionError("not now", reason="NODE_NO_LONGER_FITS"),
                    UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE"),
                ]
            )

    @staticmethod
    def least(group: PodGroup) -> int:
        policy = group.spec.scheduling_policy.gang
        return 0 if policy is None else policy.min_count

    def _node(self, cpu: int) -> Any:
        self._made += 1
        return make_node(f"n{self._made}", allocatable={"cpu": str(cpu)})

    def _pod(self, name: str, group: str, **spec: Any) -> Pod:
        cpu = str(1 + len(name) % 2)
        return member(name, cpu, group, spec=spec) if group else make_pod(name, requests={"cpu": cpu})

    def _add_pod(self) -> None:
        self._made += 1
        gates = [{"name": "wait"}] if self._draw.random() < 0.1 else []
        name = f"p{self._made}" + "x" * self._draw.randrange(2)
        self.world.cluster.put(self._pod(name, self._draw.choice(GROUPS), schedulingGates=gates))

    def _add_single(self) -> None:
        self._made += 1
        self.world.cluster.put(self._pod(f"s{self._made}", ""))

    def _add_group(self) -> None:
        self.world.cluster.put(gang(self._draw.choice([0, 2, 2, 3, 4]), self._draw.choice(GROUPS)))

    def _remove_group(self) -> None:
        group = self.world.cluster.groups.get(self._draw.choice(GROUPS))
        if group is not None:
            self.world.cluster.remove(group)

    def _some_pod(self) -> Pod | None:
        pods = list(self.world.cluster.pods.values())
        return self._draw.choice(pods) if pods else None

    def _remove_pod(self) -> None:
        pod = self._some_pod()
        if pod is not None:
            self.world.cluster.remove(pod)

    def _ungate(self) -> None:
        pod = self._some_pod()
        if pod is not None and pod.spec.scheduling_gates and pod.group:
            self.world.cluster.put(self._pod(pod.metadata.name, pod.group[1]))


@pytest.mark.parametrize("seed", seeds(30, inner=6))
def test_history(seed: int) -> None:
    history = History(seed)
    history.play()
    history.end_well()
    assert not history.broken
    world = history.world
    pods = world.cluster.pods.values()
    for name in GROUPS:
        group = world.cluster.groups[name]
        of_group = [pod for pod in pods if pod.group == ("default", name)]
        complete = len(of_group) >= history.least(group)
        left = [pod.metadata.name for pod in of_group if not pod.spec.node_name]
        assert not (complete and left), f"{left} of {name} wait for nothing"
    assert all(pod.spec.node_name for pod in pods if pod.group is None)
    assert world.queue.in_flight() == (0, 0)
    counts = world.queue.count_pods()
    assert counts["pending"] == counts["incomplete"] == 0
    assert not world.scheduler._binders._waiters
