"""kube-scheduler's own answers, recorded by the oracle, against mooring's."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.compare import differences
from tests.conformance.families.draft import Manifest
from tests.conformance.generator import NAMES
from tests.conformance.run import explained

TESTDATA = Path(__file__).parent / "testdata"


@cache
def by_family() -> dict[str, list[Manifest]]:
    families: dict[str, list[Manifest]] = {name: [] for name in NAMES}
    for line in gzip.decompress((TESTDATA / "vectors-1.36.jsonl.gz").read_bytes()).splitlines():
        vector = json.loads(line)
        families[vector["scenario"]["id"].split("/")[0]].append(vector)
    return families


def cases() -> list[Manifest]:
    return [json.loads(line) for line in (TESTDATA / "cases-1.36.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("family", NAMES)
def test_recorded_scenarios(family: str) -> None:
    vectors = by_family()[family]
    assert len(vectors) >= 50
    wrong = {
        vector["scenario"]["id"]: found
        for vector in vectors
        if (found := differences(explained(vector["scenario"]), vector["document"]))
    }
    assert not wrong


@pytest.mark.parametrize("case", [pytest.param(case, id=case["scenario"]["id"]) for case in cases()])
def test_named_case(case: Manifest) -> None:
    assert differences(explained(case["scenario"]), case["document"]) == []
