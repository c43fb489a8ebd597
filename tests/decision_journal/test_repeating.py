"""Decisions that are made again come out as they were noted."""

from __future__ import annotations

from random import Random

import pytest

from tests.decision_journal.churning import churn


@pytest.mark.parametrize("seed", range(3))
def test_what_is_decided_again_is_what_was_noted(seed: int) -> None:
    ends, told = churn(Random(seed), 150)
    assert not ends["different"], told
    assert ends["same"] > 100, told
