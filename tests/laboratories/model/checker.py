"""Visits every state that can be reached, checks the invariants, and finds the way to one that breaks them.

A level of the search is one array: all states after the same number of steps. States that differ only in the
replicas' numbers count as equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt

from tests.laboratories.model.layout import Layout, Rows, States, Where, distinct, merged
from tests.laboratories.model.protocol import Action, Protocol
from tests.laboratories.model.states import View

AT_ONCE = 1 << 18
"""States that are worked on together: what that takes stays in the processor's cache, or nearly."""


@dataclass
class Checked:
    """The result of a search.

    Attributes:
        states: Different states.
        steps: Steps between them, with those that lead to known states.
        levels: The longest of the shortest ways to a state, in steps.
        seconds: How long that took.
        violation: The invariant that does not hold; "" = all do.
        trace: The steps that break it.
        stuck: States from which no settled one is reached without more faults; -1 = not checked.
        complete: Whether every state was visited.
    """

    states: int = 0
    steps: int = 0
    levels: int = 0
    seconds: float = 0.0
    violation: str = ""
    trace: list[str] = field(default_factory=list)
    stuck: int = -1
    complete: bool = False


class Visited:
    """A set of states, as sorted arrays, each at least twice as long as the next one."""

    def __init__(self) -> None:
        self.runs: list[States] = []

    def add(self, states: States) -> States:
        """Add sorted states; return those that are new."""
        for run in self.runs:
            if not len(states):
                break
            at = np.searchsorted(run, states)
            at[at == len(run)] = 0
            states = states[run[at] != states]
        self.runs.append(states)
        while len(self.runs) > 1 and len(self.runs[-2]) < 2 * len(self.runs[-1]):
            self.runs[-2:] = [merged(self.runs[-2:])]
        return states

    def all(self) -> States:
        """Return every state, sorted."""
        self.runs = [merged(self.runs)]
        return self.runs[0]


class Model:
    """The protocol under some rules, with all that a search needs."""

    def __init__(self, protocol: Protocol) -> None:
        self.layout: Layout = protocol.layout
        self.actions = protocol.actions
        self.start: States = np.array([self.layout.pack(protocol.start)], np.uint64)
        self._protocol = protocol

    def in_order(self, states: States) -> States:
        """Return the states that stand for these, which may differ in the order of the replicas."""
        return self.layout.in_order(states) if self._protocol.interchangeable else states

    def settled(self, states: States) -> Where:
        """Return which states have no work left."""
        return self._protocol.settled(self.view(states))

    def view(self, states: States) -> View:
        """Return the states by field."""
        return View(self.layout.unpack(states))

    def steps(self, states: States, *, faults: bool = True) -> Iterator[tuple[Action, Rows, States]]:
        """Yield each action that can happen, in which of the states, and what they become."""
        values = self.layout.unpack(states)
        view = View(values)
        for action in self.actions:
            if action.fault and not faults:
                continue
            can, updates = action.outcome(view)
            if action.fault:
                can = can & (values["faults"] > 0)
            rows = np.flatnonzero(can)
            if not len(rows):
                continue
            after = self.layout.changed(states, values, rows, updates)
            yield action, rows, after - np.uint64(self.layout.fields["faults"][0]) if action.fault else after

    def successors(self, states: States) -> tuple[States, int]:
        """Return the different states after one step, sorted, and how many steps there were."""
        found = [after for _, _, after in self.steps(states)]
        if not found:
            return states[:0], 0
        every = np.concatenate(found)
        return distinct(self.in_order(every)), len(every)

    def broken(self, states: States) -> tuple[str, int] | None:
        """Return an invariant that does not hold, and in which of the states."""
        for name, where in self._protocol.violations(self.view(states)).items():
            if where.any():
                return name, int(states[np.flatnonzero(where)[0]])
        return None


def check(
    protocol: Protocol,
    *,
    most: int = 1 << 62,
    liveness: bool = True,
    tell: Callable[[Checked], object] = lambda _: None,
) -> Checked:
    """Visit all states.

    Args:
        rules: The rules that the code keeps, and the number of faults.
        most: No level begins with more states than these.
        liveness: Whether to look for states from which no settled one is reached.
        tell: Called after each level.
    """
    model, found, began = Model(protocol), Checked(), time.monotonic()
    visited = Visited()
    level = visited.add(model.start)
    while len(level) and found.states < most:
        found.states += len(level)
        found.levels += 1
        following = []
        for states in _parts(level):
            if broken := model.broken(states):
                found.violation, state = broken
                found.trace = way_to(model, state, found.levels)
                found.seconds = time.monotonic() - began
                return found
            after, steps = model.successors(states)
            found.steps += steps
            following.append(after)
        level = visited.add(distinct(np.concatenate(following)))
        found.seconds = time.monotonic() - began
        tell(found)
    found.levels -= 1
    found.complete = not len(level)
    if liveness and found.complete:
        found.stuck = len(stuck(model, visited.all()))
        found.seconds = time.monotonic() - began
    return found


def _parts(states: States) -> Iterator[States]:
    for at in range(0, len(states), AT_ONCE):
        yield states[at : at + AT_ONCE]


def stuck(model: Model, states: States) -> States:
    """Return the states from which no settled state can be reached without faults, of all that there are."""
    fine = np.concatenate([model.settled(some) for some in _parts(states)])
    left = np.flatnonzero(~fine)
    while len(left):
        before = len(left)
        reached = [_reaches(model, states, rows, fine) for rows in _some(left)]
        fine[left] = np.concatenate(reached)
        left = left[~fine[left]]
        if len(left) == before:
            break
    return states[left]


def _some(rows: Rows) -> Iterator[Rows]:
    for at in range(0, len(rows), AT_ONCE):
        yield rows[at : at + AT_ONCE]


def _reaches(model: Model, states: States, rows: Rows, fine: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which of the rows have a step without a fault to a state that is fine."""
    found = np.zeros(len(rows), bool)
    for _, at, after in model.steps(states[rows], faults=False):
        new = ~found[at]
        if new.any():
            to = np.searchsorted(states, model.in_order(after[new]))
            found[at[new]] = fine[to]
    return found


def way_to(model: Model, state: int, longest: int) -> list[str]:
    """Return the steps of a shortest way from the start to a state."""
    levels: list[States] = [model.start]
    visited = Visited()
    visited.add(model.start)
    while not np.isin(np.uint64(state), levels[-1]) and len(levels) <= longest:
        following = distinct(np.concatenate([model.successors(some)[0] for some in _parts(levels[-1])]))
        levels.append(visited.add(following))
    targets = [np.uint64(state)]
    for level in reversed(levels[1:-1]):
        targets.append(_before(model, level, targets[-1]))
    way, at = list[str](), model.start
    # With the replicas' own numbers, which the levels leave open.
    for target in reversed(targets):
        for action, _, after in model.steps(at):
            if model.in_order(after)[0] == target:
                way.append(action.id)
                at = after
                break
    return way


def _before(model: Model, level: States, target: np.uint64) -> np.uint64:
    for states in _parts(level):
        for _, rows, after in model.steps(states):
            hits = np.flatnonzero(model.in_order(after) == target)
            if len(hits):
                found: np.uint64 = states[rows[hits[0]]]
                return found
    raise LookupError("no state of the level before leads there")


OFTEN, FAULTS = 20, 4
RARE = {"stop": 1, "lapse": 1, "crash": 1, "delete": 1, "leave": 2}
"""How often walks take an action, as weights: after the rare ones there is little left to see."""


@dataclass
class Way:
    """A way through the model.

    Attributes:
        actions: Its steps.
        states: The state after each.
    """

    actions: list[Action] = field(default_factory=list)
    states: list[np.uint64] = field(default_factory=list)


def walks(model: Model, seeds: Sequence[int], length: int) -> list[Way]:
    """Return a random way for each seed, independent of the other seeds.

    Args:
        model: The protocol.
        seeds: One for each way.
        length: Steps of a way, if it does not end before.
    """
    states = np.repeat(model.start, len(seeds))
    ways = [Way() for _ in seeds]
    for at in range(length):
        options: list[list[tuple[Action, np.uint64]]] = [[] for _ in seeds]
        for action, rows, after in model.steps(states):
            for row, state in zip(rows.tolist(), after, strict=True):
                options[row].append((action, state))
        for row, some in enumerate(options):
            if some:
                chosen, states[row] = _chosen(some, Random(f"{seeds[row]}/{at}"))
                ways[row].actions.append(chosen)
                ways[row].states.append(states[row])
    return ways


def _chosen(options: Sequence[tuple[Action, np.uint64]], dice: Random) -> tuple[Action, np.uint64]:
    weights = [RARE.get(one.name, FAULTS if one.fault else OFTEN) for one, _ in options]
    return dice.choices(options, weights)[0]
