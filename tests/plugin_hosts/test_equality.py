"""Hosts decide as the same rules in process: alone, in batches, in sessions, and with preemption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.laboratories.histories import configurations
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import play
from tests.plugin_hosts.hosts import hosting
from tests.plugin_hosts.twins import EVERY, twin

STEPS = {"process": 12, "stuck": 12, "sessions": 15}


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[type[Any]]]:
    """Yield every rule, from one host."""
    folder = tmp_path_factory.mktemp("host")
    hosted = [kind for _, kind in EVERY.values()]
    with hosting(folder, *hosted) as host:
        yield [twin(host, name) for name in EVERY]


@pytest.fixture
def asked(twins: Sequence[type[Any]], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the profiles of all histories ask the host."""
    monkeypatch.setattr(configurations, "RULES", tuple(twins))
    monkeypatch.setattr(configurations, "FAULTY_RULES", ())
    monkeypatch.setattr(configurations, "FAULTY_IN", 0.0)
    monkeypatch.setattr(configurations, "RULES_IN", 1.0)
    configurations.registry.cache_clear()
    yield
    configurations.registry.cache_clear()


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3, 5, 6))]
)
@pytest.mark.parametrize("form", STEPS)
def test_a_host_decides_as_the_rule_in_process(form: str, seed: int) -> None:
    played = play(FORMS[form], seed, range(STEPS[form]))
    assert played.mismatch == ""
    assert played.decisions + played.comparisons > 0
