"""Plugins declare in `reads` everything that their answers need: a live cluster delivers nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.runtime.profiles.registry import installed_registry
from tests.laboratories.conformance.program import NEWEST
from tests.laboratories.conformance.recordings import read_lines
from tests.laboratories.conformance.run import disagreement, vectors_of

Manifest = dict[str, Any]
OF_EACH_KIND = 15


def declared() -> set[str]:
    """Return the kinds that plugins read, and those that are always there."""
    classes = (registration.factory() for registration in installed_registry())
    return {"Node", "Pod"} | {kind.__name__ for made in classes for kind in getattr(made, "reads", ())}


class Kinded(msgspec.Struct):
    """As much of an object as says what it is."""

    kind: str


class OfObjects(msgspec.Struct):
    """As much of a scenario as says what is in it."""

    objects: list[Kinded]


class OfScenario(msgspec.Struct):
    """As much of a vector."""

    scenario: OfObjects


def vectors() -> Iterator[Manifest]:
    """Yield a few recorded decisions with objects of each kind."""
    seen: Counter[str] = Counter()
    glance = msgspec.json.Decoder(OfScenario)
    for line in read_lines(vectors_of(NEWEST)):
        kinds = {item.kind for item in glance.decode(line).scenario.objects} - {"Node", "Pod"}
        if any(seen[kind] < OF_EACH_KIND for kind in kinds):
            seen.update(kinds)
            yield msgspec.json.decode(line)


def test_decisions_need_only_what_plugins_declare() -> None:
    kept = declared()
    for vector in vectors():
        scenario = vector["scenario"]
        followed = [item for item in scenario["objects"] if item["kind"] in kept]
        assert disagreement({**scenario, "objects": followed}, vector, NEWEST) == [], scenario["id"]
