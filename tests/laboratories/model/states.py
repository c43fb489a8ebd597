"""The states of the protocol: two pods, two nodes with one place each, two replicas, one API server.

Two pods want places on two nodes, which take one pod each. The replicas are called by a caller of each pod
and by one that places both pods as a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tests.laboratories.model.layout import Field, Layout, Values, Where

REPLICAS = PODS = NODES = (0, 1)
GROUP_NODE = (0, 1)
"""The nodes that the group's pods are decided to go to."""

NOWHERE, GONE = 0, 3
"""A pod at the API server or in a watched state: on no node, deleted; between them, node + 1."""

DOWN, UP, LAPSED = 0, 1, 2
"""A replica; LAPSED = it has led, leads no more, and is about to end."""

NONE, RESERVED, PRE, SENT, ACK, READ, SENT_AGAIN, READ_AGAIN, UNKNOWN, ASSUMED = range(10)
"""A replica's step with a pod. From PRE to READ_AGAIN a call holds the pod's lock."""

ANY, GROUP = 0, 1
"""Whose a reservation is: the pod's own caller's, or the group's."""

IDLE, RESERVING_0, RESERVING_1, BINDING_0, WAITING_0, BINDING_1, WAITING_1 = range(7)
RELEASING_1, RELEASING_0, HELD_0 = range(7, 10)
"""The next step of a group's call; HELD_0 = RESERVING_1, and another call had reserved the first
pod before.
"""

_CELLS = [(NONE, 0, 0)]
_CELLS += [(RESERVED, node, owner) for node in NODES for owner in (ANY, GROUP)]
_CELLS += [(PRE, node, 0) for node in NODES]
_CELLS += [
    (stage, node, before)
    for stage in (SENT, ACK, READ, SENT_AGAIN, READ_AGAIN)
    for node in NODES
    for before in (0, 1)
]
_CELLS += [(stage, node, 0) for stage in (UNKNOWN, ASSUMED) for node in NODES]
"""Stage, node, and the owner of a reservation or whether a binding was sent before and is open still."""

_STAGE, _NODE, _MARK = (np.array(column, np.uint8) for column in zip(*_CELLS, strict=True))
_CELL = {cell: at for at, cell in enumerate(_CELLS)}


def cell(stage: int, node: int = 0, mark: int = 0) -> int:
    """Return the number of a cell."""
    return _CELL[stage, node, mark]


@dataclass(frozen=True)
class Rules:
    """The rules that the code keeps; without one of them the model shows the fault.

    Attributes:
        faults: How many faults a trace has at most.
        bindings_end_with_the_lease: No binding takes effect once another replica may lead.
        leaders_are_current: A replica leads only by a state that has everything from before.
        open_outcomes_keep_the_lease: A replica that stops releases the lease only if it knows all outcomes.
        unknown_keeps_the_place: A place whose binding may still take effect is not given away.
        deletes: Whether pods are deleted, too; each deletion counts as a fault.
    """

    faults: int
    bindings_end_with_the_lease: bool = True
    leaders_are_current: bool = True
    open_outcomes_keep_the_lease: bool = True
    unknown_keeps_the_place: bool = True
    deletes: bool = True


def stages(cells: Values) -> Values:
    """Return the stages of some cells."""
    return _STAGE[cells]


def under_way(stage: Values) -> Where:
    """Return where a call works on a pod in this stage."""
    found: Where = (stage >= PRE) & (stage <= READ_AGAIN)
    return found


def layout(rules: Rules) -> Layout:
    """Return how states are packed."""
    head: dict[Field, int] = {"faults": rules.faults + 1, "lease": 2, ("api", 0): 4, ("api", 1): 4}
    block: dict[tuple[str, ...], int] = {("up",): 3, ("leads",): 2, ("group",): 10}
    for pod in PODS:
        block |= {
            ("waits", pod): 2,  # type: ignore[dict-item]
            ("seen", pod): 4,  # type: ignore[dict-item]
            ("cell", pod): len(_CELLS),  # type: ignore[dict-item]
            ("late", pod, 0): 2,  # type: ignore[dict-item]
            ("late", pod, 1): 2,  # type: ignore[dict-item]
        }
    return Layout(head, block, len(REPLICAS))


def start(rules: Rules) -> dict[Field, int]:
    """Return the first state: both replicas are up, and neither leads."""
    return {"faults": rules.faults, ("up", 0): UP, ("up", 1): UP}


class View:
    """Some states, by field, and what follows from the fields."""

    def __init__(self, values: Mapping[Field, Values]) -> None:
        self._values = values
        self._derived: dict[Field, Values] = {}

    def __getitem__(self, field: Field) -> Values:
        return self._values[field]

    def _once(self, name: str, replica: int, pod: int, table: Values) -> Values:
        key = name, replica, pod
        if key not in self._derived:
            self._derived[key] = table[self["cell", replica, pod]]
        return self._derived[key]

    def stage(self, replica: int, pod: int) -> Values:
        """Return what a replica does with a pod."""
        return self._once("stage", replica, pod, _STAGE)

    def node(self, replica: int, pod: int) -> Values:
        """Return on which node."""
        return self._once("node", replica, pod, _NODE)

    def mark(self, replica: int, pod: int) -> Values:
        """Return the owner of a reservation, or whether a binding was sent before."""
        return self._once("mark", replica, pod, _MARK)

    def place(self, replica: int, pod: int) -> Values:
        """Return where the replica's state has the pod, as a pod of the API server."""
        key = "place", replica, pod
        if key not in self._derived:
            seen, held = self["seen", replica, pod], self.stage(replica, pod) != NONE
            assumed = np.where(held, self.node(replica, pod) + np.uint8(1), np.uint8(NOWHERE))
            self._derived[key] = np.where(seen == NOWHERE, assumed, seen)
        return self._derived[key]

    def locked(self, replica: int, pod: int) -> Where:
        """Return where a call works on the pod."""
        return under_way(self.stage(replica, pod))

    def leads(self, replica: int) -> Where:
        """Return where a replica may commit."""
        found: Where = (self["leads", replica] == 1) & (self["up", replica] == UP)
        return found

    def free(self, replica: int, pod: int, node: int) -> Where:
        """Return where the replica's state has no other pod on the node."""
        found: Where = self.place(replica, 1 - pod) != node + 1
        return found

    def late(self, replica: int, pod: int) -> Where:
        """Return where a binding of the pod to the node of its cell is still on its way, given up or not."""
        own = self.node(replica, pod)
        messages = np.where(own == 0, self["late", replica, pod, 0], self["late", replica, pod, 1])
        stage = self.stage(replica, pod)
        found: Where = (messages == 1) | (stage == SENT) | (stage == SENT_AGAIN)
        return found


def violations(view: View) -> dict[str, Where]:
    """Return for each invariant where it does not hold."""
    one, other = view["api", 0], view["api", 1]
    found = {"two pods in one place": (one == other) & (one != NOWHERE) & (one != GONE)}
    found["two replicas lead"] = (view["leads", 0] == 1) & (view["leads", 1] == 1)
    for replica in REPLICAS:
        for pod in PODS:
            stage, node, api = view.stage(replica, pod), view.node(replica, pod), view["api", pod]
            assumed = (stage == ASSUMED) | (stage == ACK)
            found[f"pod {pod} is said to be bound by {replica}"] = assumed & (api != node + 1) & (api != GONE)
            for at in NODES:
                late = (view["late", replica, pod, at] == 1) & (api == NOWHERE)
                given = view.leads(replica) & (view.place(replica, pod) != at + 1)
                found[f"the place of pod {pod} on {at} was given away by {replica}"] = late & given
    return found


def settled(view: View) -> Where:
    """Return the states without open work in which every live replica has what the API server has."""
    found = np.ones(len(view["lease"]), bool)
    for replica in REPLICAS:
        up = view["up", replica] != DOWN
        found &= view["group", replica] == IDLE
        for pod in PODS:
            found &= (view["cell", replica, pod] == 0) & (view["waits", replica, pod] == 0)
            found &= ~up | (view["seen", replica, pod] == view["api", pod])
            for node in NODES:
                found &= view["late", replica, pod, node] == 0
    return found
