"""Results of Kubernetes' compiler of selectors for expensive expressions, recorded, compared
with mooring's.
"""

from __future__ import annotations

import pytest

from mooring.plugins.dynamic_resources.cel import compile_selector, costs
from mooring.plugins.dynamic_resources.cel.device import device_scope
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import NEWEST
from tests.laboratories.conformance.recordings import read, recording
from tests.laboratories.conformance.selectors import DEVICE, DRIVER, expressions

ANSWERS = {answer["expression"]: answer for answer in read(recording("selectors", NEWEST))}
ACCEPTED = [answer for answer in ANSWERS.values() if answer["accepted"]]


def test_every_expression_is_recorded() -> None:
    assert list(ANSWERS) == list(expressions())
    assert len(ACCEPTED) > 40
    assert max(answer["cost"] for answer in ACCEPTED) > 1000


@pytest.mark.parametrize("answer", ACCEPTED, ids=range(len(ACCEPTED)))
def test_what_kubernetes_accepts_costs_no_more_here(
    answer: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In cel-go's units; how long it takes is compared in tests/laboratories/e2e, where Go is."""
    assert answer["cost"] <= answer["estimate"]
    monkeypatch.setattr(costs, "MAX_COST", answer["cost"])
    selector = compile_selector(answer["expression"])
    assert selector.matches(device_scope(DRIVER, DEVICE)) is answer["matches"]
