"""Invariant I5: whatever went wrong, a source that is left in peace has what a fresh list has."""

from __future__ import annotations

import pytest

from tests.cluster.chaos import TIMERS, Chaos
from tests.cluster.following import following
from tests.fake_api_server import FakeApiServer
from tests.process import until


@pytest.mark.parametrize("seed", range(4))
def test_a_source_heals(seed: int) -> None:
    with FakeApiServer(bookmark_seconds=0.1) as fake, following(fake, TIMERS) as live:
        for round_ in range(2):
            chaos = Chaos(live, seed * 100 + round_)
            chaos.run(60)
            assert chaos.faults > 3
            live.wait_equal()
        until(lambda: live.source.staleness < 1.0, "freshness")
