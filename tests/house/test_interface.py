"""Flags and metrics that scripts, alerts and boards depend on are listed, and the list is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mooring.telemetry.metrics import Metrics
from tools.docs import interface

ROOT = Path(__file__).parents[2]
METRICS = [re.split(r"[ {]", line)[1] for line in interface.metrics()]


def test_flags_and_metrics_are_those_that_are_listed() -> None:
    listed = interface.LIST.read_text().splitlines()
    found = interface.lines()
    gone, new = [one for one in listed if one not in found], [one for one in found if one not in listed]
    assert (gone, new) == ([], []), "see docs/run/compatibility.md; `make names` writes the list"
    assert interface.check() == 0


def test_a_change_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "interface.txt"
    other.write_text(interface.LIST.read_text().replace("gauge mooring_sessions{}\n", ""))
    assert interface.check(other) == 1
    assert "+gauge mooring_sessions{}" in capsys.readouterr().out


def test_the_code_is_read_as_prometheus_shows_it() -> None:
    """Metrics that a running registry has, with the labels of each series that is there."""
    metrics = Metrics()
    metrics.handled.labels("unary", "s", "m", "OK").inc()
    metrics.self_checks.labels("same").inc()
    rows = (re.findall(r"\w+", line) for line in interface.metrics())
    listed = {name: set(labels) for _, name, *labels in rows}
    for family in metrics.registry.collect():
        if not family.name.startswith(("process_", "python_")):
            shown = f"{family.name}_total" if family.type == "counter" else family.name
            assert shown in listed
            for sample in family.samples:
                assert sample.labels.keys() - {"le"} == listed[shown], shown


def test_every_metric_is_described() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text()
    assert [name for name in METRICS if f"`{name}`" not in text and f"`{name}{{" not in text] == []
