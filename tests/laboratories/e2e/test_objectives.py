"""Alerts about objectives: promtool plays hours in which the error budget is used up at some rate."""

import json
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from mooring.telemetry.metrics import Metrics
from mooring.telemetry.scheduler_metrics import SchedulerMetrics
from tests.process import run

from .prometheus import installed
from .test_alerts import GROUPS, RULES

pytestmark = pytest.mark.e2e

FAST, SLOW = "MooringErrorBudgetBurnsFast", "MooringErrorBudgetBurns"
HISTOGRAMS = {
    "decisions": ("mooring_scheduling_algorithm_duration_seconds", "0.256", "", 0.001),
    "binding": ("mooring_pod_scheduling_sli_duration_seconds", "5.12", 'attempts="1"', 0.01),
}
"""By objective: its metric, the bound, further labels, and the share that may be slower."""

PROCESSES, FRESHNESS = 200, 0.001
"""The number of processes stands for time: at a burn rate of 20, 4 of them have an old state."""

Hours = list[tuple[float, float]]
"""Pairs of a number of hours and the burn rate for them, one after the other."""

CASES: list[tuple[str, Hours, set[str]]] = [
    ("an hour at 20", [(1, 20)], {FAST}),
    ("an hour at 10", [(1, 10)], {FAST}),
    ("an hour at 5", [(1, 5)], set()),
    ("it is over", [(1, 20), (0.75, 0)], {SLOW}),
    ("a quarter of an hour after a day", [(24, 0), (0.25, 5)], set()),
    ("six hours at 5", [(6, 5)], {SLOW}),
    ("three days at 3", [(72, 3)], {SLOW}),
    ("three days at a half", [(72, 0.5)], set()),
    ("three days, then seven hours without", [(72, 3), (7, 0)], set()),
]


def series(objective: str, minutes: int, hours: Hours) -> dict[str, str]:
    """Return the samples of an objective's metric, one every ``minutes`` minutes."""
    rates = [rate for duration, rate in hours for _ in range(round(duration * 60 / minutes))]
    if objective == "freshness":
        name = 'mooring_source_staleness_seconds{job="m",instance="%d"}'
        old = [rate * FRESHNESS * PROCESSES for rate in rates]
        return {
            name % one: " ".join("9" if one < count else "1" for count in old) for one in range(PROCESSES)
        }
    metric, bound, labels, budget = HISTOGRAMS[objective]
    within = accumulate(10_000 * (1 - rate * budget) for rate in rates)
    return {
        f'{metric}_bucket{{job="m",le="{bound}",{labels}}}': " ".join(f"{count:.0f}" for count in within),
        f'{metric}_count{{job="m",{labels}}}': f"10000+10000x{len(rates) - 1}",
    }


def played() -> Iterator[object]:
    for name, hours, firing in CASES:
        days = sum(duration for duration, _ in hours) > 24
        for objective in (*HISTOGRAMS, *(() if days else ("freshness",))):
            yield pytest.param(objective, 10 if days else 1, hours, firing, id=f"{objective}: {name}")


@pytest.mark.parametrize(("objective", "minutes", "hours", "firing"), [*played()])
def test_it_fires_while_the_budget_burns(
    objective: str, minutes: int, hours: Hours, firing: set[str], tmp_path: Path
) -> None:
    end = sum(duration for duration, _ in hours) * 60 - minutes
    asked = [
        {
            "expr": f'count by (objective) (ALERTS{{alertname="{alert}",alertstate="firing"}})',
            "eval_time": f"{end:.0f}m",
            "exp_samples": [{"labels": f'{{objective="{objective}"}}', "value": 1}]
            if alert in firing
            else [],
        }
        for alert in (FAST, SLOW)
    ]
    given = [{"series": name, "values": values} for name, values in series(objective, minutes, hours).items()]
    test = {"interval": f"{minutes}m", "input_series": given, "promql_expr_test": asked}
    file = tmp_path / "test.json"
    every = {"rule_files": [str(RULES)], "evaluation_interval": f"{minutes}m", "tests": [test]}
    file.write_text(json.dumps(every))
    assert "SUCCESS" in run(Path(installed()).with_name("promtool"), "test", "rules", file)


def test_each_objective_has_five_windows() -> None:
    rates = [
        (rule["record"], rule.get("labels")) for rule in GROUPS["mooring-objectives"] if "record" in rule
    ]
    windows = {f"job_objective:mooring_burn_rate:{window}" for window in ("5m", "30m", "1h", "6h", "3d")}
    for objective in (*HISTOGRAMS, "freshness"):
        assert {name for name, labels in rates if labels == {"objective": objective}} == windows


def test_the_bounds_are_those_of_buckets() -> None:
    metrics = Metrics()
    SchedulerMetrics(metrics).scheduled(1, 0.1)
    for metric, bound, labels, _ in HISTOGRAMS.values():
        where = {"le": bound} | ({"attempts": "1"} if labels else {})
        assert metrics.registry.get_sample_value(f"{metric}_bucket", where) is not None
