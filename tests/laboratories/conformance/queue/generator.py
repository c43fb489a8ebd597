"""Seeded random histories of a scheduling queue: what a scheduler and its cluster may do to it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

Step = dict[str, Any]

EVENTS = (
    "node-added",
    "node-label",
    "node-taint",
    "pod-left",
    "pod-came",
    "claim-added",
    "class-added",
    "assigned-labels",
)
PLUGINS = ("Fit", "Affinity", "Volumes", "Any")

TICKS = 512
"""Of a second: fractions of it are whole numbers in both programs' clocks."""


GROUPS = ("g1", "g2", "g3")

Choices = list[tuple[int, Callable[[], Step]]]
"""How likely a step is, and what makes it."""


def histories(seed: int, count: int, *, groups: bool = False) -> Iterator[dict[str, Any]]:
    """``count`` histories; the same for the same seed. Every other one has ``groups``."""
    for number in range(count):
        draw = random.Random(f"{seed}-{number}")
        grouped = groups and number % 2 == 1
        made = (GroupHistory if grouped else History)(draw).steps(draw.randrange(10, 80))
        yield {"id": f"{seed}-{number}", **({"groups": True} if grouped else {}), "steps": made}


class History:
    """One history in the making. Steps about pods that are gone by then do nothing."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._made = 0
        self._pods: dict[str, dict[str, Any]] = {}

    def steps(self, count: int) -> list[Step]:
        """Return ``count`` steps. ``n`` selects the pod in flight that is given back."""
        choices = self._choices()
        weights = [weight for weight, _ in choices]
        made = [self._add()]
        while len(made) < count:
            [(_, make)] = self._draw.choices(choices, weights)
            made.append(make())
        for step in made:
            step["ticks"] = self._ticks()
        return made

    def _choices(self) -> Choices:
        return [
            (6, self._add),
            (4, self._update),
            (1, self._delete),
            (10, lambda: {"do": "pop"}),
            (9, self._give_back),
            (2, lambda: {"do": "done", "n": self._draw.randrange(4)}),
            (2, self._force),
            (9, self._move),
            (1, lambda: {"do": "set-lock", "n": self._draw.randrange(2)}),
            (6, lambda: {"do": "flush"}),
        ]

    def _ticks(self) -> int:
        draw = self._draw
        return draw.choice(
            [1, 1, 1, 7, 100, TICKS, TICKS + 1, 3 * TICKS, 11 * TICKS, 290 * TICKS * draw.randrange(2) + 1]
        )

    def _add(self) -> Step:
        draw = self._draw
        self._made += 1
        name = f"p{self._made}"
        pod: Step = {
            "name": name,
            "n": draw.randrange(50),
            "priority": draw.choice([0, 0, 10, -5]),
            "gates": draw.choice([[], [], [], ["a"], ["a", "b"]]),
            "labels": {"v": str(draw.randrange(2))},
        }
        self._pods[name] = pod
        return {"do": "add", "pod": pod}

    def _some(self) -> str:
        return self._draw.choice(list(self._pods))

    def _update(self) -> Step:
        draw = self._draw
        before = self._pods[self._some()]
        changes: list[dict[str, Any]] = [
            {"labels": {"v": str(draw.randrange(3))}},
            {"gates": before["gates"][1:]},
            {"gates": []},
            {"gates": [], "labels": {"v": "x"}},
            {},
        ]
        after = {**before, **draw.choice(changes)}
        self._pods[after["name"]] = after
        return {"do": "update", "pod": after}

    def _delete(self) -> Step:
        return {"do": "delete", "name": self._some()}

    def _give_back(self) -> Step:
        draw = self._draw
        rejected = draw.sample(PLUGINS, draw.choice([0, 1, 1, 2]))
        pending = draw.sample(PLUGINS, draw.choice([0, 0, 0, 1]))
        return {"do": "give-back", "n": draw.randrange(4), "plugins": rejected, "pending": pending}

    def _force(self) -> Step:
        return {"do": "force", "name": self._some()}

    def _move(self) -> Step:
        draw = self._draw
        only = draw.choice([[], [], [], ["even"]])
        return {"do": "move", "event": draw.choice(EVENTS), "n": draw.randrange(20), "plugins": only}


class GroupHistory(History):
    """A history in which most pods are in a group. A group's attempt begins by a pop and ends by a step."""

    def _choices(self) -> Choices:
        return [
            *super()._choices(),
            (8, self._add),
            (5, self._add_group),
            (1, lambda: {"do": "update-group", "name": self._draw.choice(GROUPS)}),
            (1, lambda: {"do": "delete-group", "name": self._draw.choice(GROUPS)}),
            (9, self._end_group),
            (4, self._give_back),
        ]

    def _add(self) -> Step:
        step = super()._add()
        step["pod"]["group"] = self._draw.choice(["", "", *GROUPS, *GROUPS])
        return step

    def _add_group(self) -> Step:
        draw = self._draw
        return {"do": "add-group", "name": draw.choice(GROUPS), "n": draw.choice([0, 0, 10, -5])}

    def _end_group(self) -> Step:
        return {"do": "end-group", "event": self._draw.choice(["scheduled", "unschedulable", "error"])}
