"""The gate lets through what is fast, after a second look if need be, and nothing that has become slow."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mooring.runtime.cache.outcome import Bypass
from mooring.runtime.engine import Engine
from tests.laboratories.bench.gate import ATTEMPTS, REPEATS, Measure, Ratio, judge, main


@pytest.mark.parametrize(
    ("slow", "measured", "passes"),
    [
        pytest.param(0, REPEATS, True, id="fast at once is measured once"),
        pytest.param(REPEATS // 2, REPEATS, True, id="less than half may be slow"),
        pytest.param(REPEATS, 2 * REPEATS, True, id="a slow attempt is repeated"),
        pytest.param(ATTEMPTS * REPEATS, ATTEMPTS * REPEATS, False, id="what stays slow fails"),
    ],
)
def test_a_ratio_is_the_median_of_the_first_attempt_that_passes(
    slow: int, measured: int, passes: bool
) -> None:
    values: Iterator[float] = iter([1.0] * slow + [3.0] * (ATTEMPTS * REPEATS))
    taken: list[float] = []

    def measure() -> float:
        taken.append(next(values))
        return taken[-1]

    def prepare(_running: ExitStack) -> Measure:
        return measure

    found = judge(Ratio("x", 2.0, prepare), lambda: None)
    assert (len(taken), sorted(found)[REPEATS // 2] >= 2.0) == (measured, passes)


@pytest.mark.slow
def test_an_engine_that_keeps_nothing_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Engine, "_from_cache", lambda *_args, **_options: Bypass.UNSIGNED)
    assert main(["--nodes", "500", "--only", "decision/SchedulingBasic/Kept"], tmp_path) == 1
    assert "too low: decision/SchedulingBasic/KeptOverFull is " in capsys.readouterr().err
    [_, figure] = map(json.loads, (tmp_path / "figures.jsonl").read_text("utf-8").splitlines())
    assert figure["target"] == "20 / -"
