"""Walks of the model, driven through the code, which is compared with the model after every step.

Each step of the model is a call of the code, an answer to a request that the code has sent, or an event of
its watch. A call that waits has a thread, which runs only while the driver waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mooring.cluster.api import Response
from mooring.cluster.kinds import Put, Remove
from mooring.framework import Code
from mooring.runtime.commit.binding_cycle import SETTLING_SECONDS
from mooring.runtime.commit.group_commit import PlacedGroup
from tests.laboratories.model import states
from tests.laboratories.model.checker import Model, Way
from tests.laboratories.model.replica import LIVES, SPARE, Call, DifferenceError, Replica, lost, pod_of
from tests.laboratories.model.states import GONE, NOWHERE, PODS, REPLICAS, View


@dataclass
class Driver:
    """Drives walks through the code, and compares after each step.

    Attributes:
        model: The model.
        truth: By pod, where the API server has it.
        replicas: By number, those that live.
        told: How many calls ended with success, and with an error.
    """

    model: Model
    truth: list[int] = field(default_factory=lambda: [NOWHERE, NOWHERE])
    replicas: dict[int, Replica] = field(default_factory=dict)
    told: list[int] = field(default_factory=lambda: [0, 0])

    def drive(self, way: Way) -> int:
        """Play a way; return how many steps were compared.

        Raises:
            DifferenceError: The code is somewhere else than the model, after some step.
        """
        view = self.model.view(np.array(way.states, np.uint64))
        for number in REPLICAS:
            self._begin(number)
        try:
            for at, action in enumerate(way.actions):
                try:
                    getattr(self, f"_{action.name}")(*action.at)
                    self._compare(view, at)
                except DifferenceError as error:
                    raise DifferenceError(
                        f"{error}, after {', '.join(one.id for one in way.actions[: at + 1])}"
                    ) from error
        finally:
            for number in tuple(self.replicas):
                self._crash(number)
        return len(way.actions)

    def _compare(self, view: View, at: int) -> None:
        for pod in PODS:
            _same(f"pod {pod}", self.truth[pod], int(view["api", pod][at]))
        for number, replica in self.replicas.items():
            for pod in PODS:
                what = f"pod {pod} at replica {number}"
                expected = int(view.stage(number, pod)[at]), int(view.node(number, pod)[at])
                _same(what, self._as_acknowledged(expected, replica, pod), expected)
                _same(f"place of {what}", replica.place(pod), int(view.place(number, pod)[at]))
            group = replica.group is not None and bool(replica.group.point)
            _same(f"group at {number}", group, bool(view["group", number][at]))

    def _as_acknowledged(self, expected: tuple[int, int], replica: Replica, pod: int) -> tuple[int, int]:
        """The code that has sent a binding does not know that the answer is on its way."""
        stage, node = replica.at(pod)
        if expected[0] == states.ACK and stage in (states.SENT, states.SENT_AGAIN):
            return states.ACK, node
        if expected[0] == states.READ_AGAIN and stage == states.READ and self.truth[pod] != NOWHERE:
            # The pod is bound: no second request follows.
            return states.READ_AGAIN, node
        return stage, node

    def _call(self, replica: int, call: Call) -> None:
        """Note where a call waits by now, or how it ended."""
        own = self.replicas[replica]
        own.calls = {pod: one for pod, one in own.calls.items() if one is not call}
        if call.point and call.point != "group":
            own.calls[call.pod] = call
        elif not call.point:
            if isinstance(call.error, DifferenceError):
                raise call.error
            self._judge(call)

    def _judge(self, call: Call) -> None:
        """Check an answer: a pod that it reports as bound is bound there, or was until it was deleted."""
        found = call.found
        self.told[call.error is not None] += 1
        if isinstance(found, PlacedGroup):
            for uid, committed in found.committed.items():
                pod = int(uid.removeprefix("uid-"))
                if committed.status.ok:
                    self._bound(pod, states.GROUP_NODE[pod])
        elif found is not None and found.status.code is Code.SUCCESS and call.pod >= 0:
            self._bound(call.pod, None)

    def _bound(self, pod: int, node: int | None) -> None:
        at = self.truth[pod]
        if at == NOWHERE or (node is not None and at not in (node + 1, GONE)):
            raise DifferenceError(f"pod {pod} was said to be bound, and is at {at}")

    # The actions of the model, by their names.

    def _expire(self) -> None:
        pass

    def _lead(self, at: int) -> None:
        self.replicas[at].leads = True

    def _lapse(self, at: int) -> None:
        self.replicas[at].leads = False

    def _crash(self, at: int) -> None:
        replica = self.replicas.pop(at)
        replica.crash()
        if replica.lives < LIVES:
            SPARE.append(replica)

    _end = _stop = _crash

    def _begin(self, at: int) -> None:
        self.replicas[at] = SPARE.pop() if SPARE else Replica()
        self.replicas[at].begin(self.truth)

    def _reserve(self, at: int, pod: int, node: int) -> None:
        replica = self.replicas[at]
        profile = replica.engine.profile()
        reserved = replica.committer.reserve_pod(pod_of(pod), str(node), profile, owner="caller")
        if not reserved.status.ok or reserved.held is not None:
            raise DifferenceError(f"reserve({at}, {pod}, {node}): {reserved}")

    def _bind(self, at: int, pod: int, node: int) -> None:
        self._call(at, self.replicas[at].bind(pod, node))

    def _unreserve(self, at: int, pod: int) -> None:
        uid = f"uid-{pod}"
        if not self.replicas[at].committer.unreserve_pod("default", str(pod), uid, owner="caller"):
            raise DifferenceError(f"unreserve({at}, {pod}): there was none")

    def _leave(self, at: int, pod: int) -> None:
        call = self.replicas[at].calls[pod]
        call.left = True
        if call.point == "pre":
            self._goes_on(at, pod)

    def _goes_on(self, at: int, pod: int, answer: Callable[[], Any] = lambda: None) -> None:
        call = self.replicas[at].calls[pod]
        call.go_on(answer)
        self._call(at, call)

    def _send(self, at: int, pod: int) -> None:
        self._goes_on(at, pod)

    def _take(self, at: int, pod: int) -> None:
        if self.truth[pod] == GONE:
            self._goes_on(at, pod, lambda: Response(404, body=b"{}"))
        elif self.truth[pod] != NOWHERE:
            self._goes_on(at, pod, lambda: Response(409, body=b"{}"))
        else:
            self.truth[pod] = self.replicas[at].at(pod)[1] + 1

    _take_twice = _take

    def _refuse(self, at: int, pod: int) -> None:
        self._goes_on(at, pod, lambda: Response(429, body=b"{}"))

    def _lose(self, at: int, pod: int) -> None:
        self._goes_on(at, pod, lost)

    _delay = _lose_answer = _lose_read = _lose

    def _answer(self, at: int, pod: int) -> None:
        self._goes_on(at, pod, lambda: Response(201, body=b"{}"))

    def _read(self, at: int, pod: int) -> None:
        server = self.replicas[at].server
        self._goes_on(at, pod, lambda: server.read(pod))

    def _resolve(self, at: int, pod: int) -> None:
        replica = self.replicas[at]
        reservation = replica.cycle.reservations.find_reservation(f"uid-{pod}")
        if reservation is None:
            raise DifferenceError(f"resolve({at}, {pod}): there is no reservation")
        # No request about this pod is on its way after so much time.
        reservation.unknown_since = replica.clock.monotonic() - SETTLING_SECONDS
        replica.cycle._resolve_one(reservation, 0)

    def _watch(self, at: int, pod: int) -> None:
        gone = self.truth[pod] == GONE
        change = Remove("Pod", "default", str(pod)) if gone else Put(pod_of(pod, self.truth[pod]))
        self.replicas[at].state.apply("test", [change])

    def _arrive(self, at: int, pod: int, node: int) -> None:
        if self.truth[pod] == NOWHERE:
            self.truth[pod] = node + 1

    def _vanish(self, at: int, pod: int, node: int) -> None:
        pass

    def _delete(self, pod: int) -> None:
        self.truth[pod] = GONE

    def _group(self, at: int) -> None:
        call = self.replicas[at].group = self.replicas[at].place_group()
        self._call(at, call)

    def _group_reserve(self, at: int, pod: int) -> None:
        call = self.replicas[at].group
        assert call is not None
        call.go_on()
        self._call(at, call)

    def _group_bind(self, at: int, pod: int) -> None:
        self._group_reserve(at, pod)

    _group_release = _group_bind


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise DifferenceError(f"{what}: code {found}, model {expected}")


def drive(model: Model, ways: Mapping[int, Way]) -> dict[int, str]:
    """Drive each way; return by seed what differed."""
    found = dict[int, str]()
    for seed, way in ways.items():
        try:
            Driver(model).drive(way)
        except DifferenceError as error:
            found[seed] = str(error)
    return found
