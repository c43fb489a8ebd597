"""kube-scheduler's own answers, recorded by the oracle, against mooring's."""

from __future__ import annotations

import json
from functools import cache

import msgspec
import pytest

from tests.examples import seeds
from tests.laboratories.conformance import releases
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.generator import names_of
from tests.laboratories.conformance.program import NEWEST, VERSIONS
from tests.laboratories.conformance.recordings import TESTDATA, read_lines
from tests.laboratories.conformance.run import disagreement, vectors_of

PARTS = 4
"""The number of tests with the scenarios of a family; the first is in the inner net."""


class Named(msgspec.Struct):
    """An object with an id."""

    id: str


class OfScenario(msgspec.Struct):
    """As much of a vector as says whose it is."""

    scenario: Named


@cache
def by_family(version: str) -> dict[str, list[bytes]]:
    """Return the lines of a release: as objects they would be a million for the garbage collector to scan."""
    families: dict[str, list[bytes]] = {name: [] for name in names_of(version)}
    whose = msgspec.json.Decoder(OfScenario)
    for line in read_lines(vectors_of(version)):
        families[whose.decode(line).scenario.id.split("/")[0]].append(line)
    return families


def cases(version: str) -> list[Manifest]:
    file = TESTDATA / f"cases-{version}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize(
    ("version", "family"),
    [
        releases.of(version, version, family, name=f"{version}-{family}")
        for version in VERSIONS
        for family in names_of(version)
    ],
)
@pytest.mark.parametrize("part", seeds(PARTS))
def test_recorded_scenarios(version: str, family: str, part: int) -> None:
    vectors = by_family(version)[family]
    assert version != NEWEST or len(vectors) >= 50
    wrong = {
        vector["scenario"]["id"]: found
        for vector in map(msgspec.json.decode, vectors[part::PARTS])
        if (found := disagreement(vector["scenario"], vector, version))
    }
    assert not wrong


@pytest.mark.parametrize("version", releases.each(VERSIONS))
def test_each_release_has_its_vectors(version: str) -> None:
    assert sum(map(len, by_family(version).values())) >= 1000


@pytest.mark.parametrize(
    ("version", "case"),
    [
        pytest.param(version, case, id=f"{version}-{case['scenario']['id']}")
        for version in VERSIONS
        for case in cases(version)
    ],
)
def test_named_case(version: str, case: Manifest) -> None:
    assert disagreement(case["scenario"], case, version) == []
