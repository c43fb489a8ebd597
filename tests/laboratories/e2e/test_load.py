"""ghz calls a server as deploy/load describes: nothing fails. The reports stay in deploy/load/reports."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.laboratories.bench import ghz, light
from tests.process import run

from .build import BIN, ROOT
from .processes import MooringServer

pytestmark = pytest.mark.e2e

LOAD = ROOT / "deploy" / "load"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MooringServer]:
    """mooring on its sample cluster, with the place that ``bind`` needs."""
    with MooringServer(tmp_path, None, "--insecure-binding=true", source="sample") as running:
        run(BIN / "ghz", "--config", LOAD / "reserve.json", "--total", "1", running.address, directory=ROOT)
        yield running


@pytest.mark.parametrize("name", sorted(file.stem for file in LOAD.glob("*.json")))
def test_load_without_an_error(server: MooringServer, name: str) -> None:
    report = LOAD / "reports" / f"{name}.json"
    report.parent.mkdir(exist_ok=True)
    options = ["--config", str(LOAD / f"{name}.json"), "--format", "pretty", "--output", str(report)]
    run(BIN / "ghz", *options, server.address, directory=ROOT)
    result = json.loads(report.read_text())
    assert result["errorDistribution"] == {}
    assert result["statusCodeDistribution"] == {"OK": result["count"]}
    assert result["count"] == 300


def test_the_benchmark_puts_a_null_call_beside_each(tmp_path: Path) -> None:
    arguments = [
        "--nodes",
        "100",
        "--seconds",
        str(ghz.SHORTEST),
        "--repeats",
        "1",
        "--only",
        "ghz/schedule/",
        "--only",
        "ghz/bind/",
    ]
    assert ghz.main(arguments, tmp_path) == 0
    lines = [json.loads(line) for line in (tmp_path / "figures.jsonl").read_text().splitlines()]
    figures = {(line["workload"], line["metric"]): line["median"] for line in lines[1:]}
    workloads = {workload for workload, _ in figures}
    assert len(workloads) == 4
    for workload in workloads:
        assert figures[workload, "pods/s"] > 0
        ratio = figures[workload, "p50 µs"] / figures[workload, "null p50 µs"]
        assert figures[workload, "times null"] == pytest.approx(ratio)


@pytest.mark.skipif(bool(light.missing()), reason=light.missing() or "-")
def test_the_light_client_calls_both(tmp_path: Path) -> None:
    assert (
        ghz.main(["--nodes", "100", "--seconds", "0.1", "--repeats", "1", "--only", "light"], tmp_path) == 0
    )
    lines = [json.loads(line) for line in (tmp_path / "figures.jsonl").read_text().splitlines()]
    figures = {(line["workload"], line["metric"]): line["median"] for line in lines[1:]}
    assert len({workload for workload, _ in figures}) == len(light.workloads(10, 0.1))
    for (workload, metric), value in figures.items():
        assert value > 0, (workload, metric)
