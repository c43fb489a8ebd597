"""The command and its workers: the same bytes for any number of workers, and a death costs one run."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mooring.app.options import EngineOptions
from mooring.sweeps.plan import Run, SweepPlan
from mooring.sweeps.results import Results, Spread
from mooring.sweeps.workers import Ended, LocalWorkers, placed_or_why
from mooring.testing.builders import pod_manifest
from tests.cli.commands import call, scoring, write_config, write_manifests
from tests.sweeps.dying import Dying, Raising

HEAD = {"apiVersion": "v1"}
CONTROLLED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]}


def node(name: str) -> dict[str, object]:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    return {**HEAD, "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str) -> dict[str, object]:
    requests = {"requests": {"cpu": "1500m", "memory": "1Gi"}}
    spec = {"containers": [{"name": "main", "resources": requests}]}
    return {**HEAD, "kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Room for 6 of 7 pods."""
    pods = [pod(f"p{at}") for at in range(7)]
    return write_manifests(tmp_path / "small.yaml", *map(node, "abc"), *pods)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are placed here: a worker's process takes a second to start."""

    def work(_: LocalWorkers, sweep: SweepPlan, runs: Sequence[Run]) -> Iterator[Ended]:
        return ((run, placed_or_why(sweep, run)) for run in runs)

    monkeypatch.setattr(LocalWorkers, "work", work)


def test_a_row_for_each_run(cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    most = write_config(tmp_path / "most.yaml", scoring(("NodeResourcesBalancedAllocation", 1)))
    runs = ("--workload", cluster, "--config", most, "--config", f"other={most}", "--seeds", "1-2,5")
    result = call(capsys, "sweep", *runs, "--workers", 1, "-o", "json")
    assert result.code == 0
    keys = [(row["workload"], row["config"], row["seed"]) for row in result.document]
    assert keys == [("small", config, seed) for config in ("most", "other") for seed in (1, 2, 5)]
    assert {(row["arrived"], row["placed"], row["cpu %"]) for row in result.document} == {(7, 6, 75.0)}


@pytest.mark.usefixtures("in_this_process")
def test_packing_looks_different_from_spreading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = write_manifests(tmp_path / "nodes.yaml", *map(node, "abc"))
    pods = write_manifests(tmp_path / "pods.yaml", *(pod(f"p{at}") for at in range(2)))
    packing = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    profile = {
        **scoring(("NodeResourcesFit", 1)),
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": packing}}],
    }
    pack = write_config(tmp_path / "pack.yaml", profile)
    spread = write_config(tmp_path / "spread.yaml", scoring(("NodeResourcesFit", 1)))
    runs = ("--manifests", files, pods, "--config", pack, "--config", spread)
    found = {
        row["config"]: row for row in call(capsys, "sweep", *runs, "--workers", 1, "-o", "json").document
    }
    assert {name: (row["placed"], row["nodes used"]) for name, row in found.items()} == {
        "pack": (2, 1),
        "spread": (2, 2),
    }
    assert found["pack"]["pods per node, deviation"] > found["spread"]["pods per node, deviation"]


@pytest.mark.usefixtures("in_this_process")
def test_more_important_pods_preempt_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running = pod_manifest("there", node="a", requests={"cpu": "4"}, metadata=CONTROLLED)
    important = pod_manifest("important", requests={"cpu": "4"}, spec={"priority": 7})
    cluster = write_manifests(tmp_path / "cluster.yaml", node("a"), running, important)
    (row,) = call(capsys, "sweep", "--workload", cluster, "--workers", 1, "-o", "json").document
    assert [row[name] for name in ("arrived", "placed", "preempted", "nodes used")] == [1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_same_bytes_whoever_works(
    form: str, cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = []
    for workers in (1, 3):
        file = tmp_path / f"{workers}.{form}"
        runs = ("--workload", cluster, "--seeds", "0-5", "--shuffle", "--fill", "cpu=150%", "--to", file)
        assert call(capsys, "sweep", *runs, "--workers", workers).code == 0
        written.append(file.read_bytes())
    assert written[0] == written[1]


@pytest.mark.usefixtures("in_this_process")
def test_the_table_has_a_column_for_each_configuration(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = write_config(tmp_path / "new.yaml", scoring(("NodeResourcesFit", 1)))
    configs = ("--config", "now=", "--config", f"new={new}")
    flags = ("--workers", 1, "--seeds", "0", *configs)
    result = call(capsys, "sweep", "--workload", f"tiny={cluster}", *flags)
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[0] == ["WORKLOAD", "FIGURE", "now", "new"]
    assert ["tiny", "placed", "6.00", "6.00"] in lines
    for figure in ("allocated %", "fragmented %", "load variation", "Jain index"):
        assert any(line[:4] == ["tiny", "cpu", *figure.split()] for line in lines)
    assert lines[-1] == ["2", "runs"]


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_own_run(cluster: Path, tmp_path: Path) -> None:
    deadly = write_manifests(tmp_path / "deadly.yaml", node("a"), pod("deadly"))
    config = write_config(
        tmp_path / "config.yaml", {"plugins": {"reserve": {"enabled": [{"name": Dying.name}]}}}
    )
    options = EngineOptions(plugins=(f"{Dying.__module__}:{Dying.__name__}",))
    workloads = {"deadly": (str(deadly),), "small": (str(cluster),)}
    sweep = SweepPlan(workloads, {"default": str(config)}, (0, 1), options=options)
    results = Results.of(sweep.runs, list(LocalWorkers(2).work(sweep, sweep.runs)))
    assert {run.workload for run in results.figures} == {"small"}
    assert len(results.figures) == 2
    assert set(results.failures.values()) == {"its worker died 3 times"}


@pytest.mark.usefixtures("in_this_process")
def test_a_run_that_fails_is_told(cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: KubeSchedulerConfiguration\n")
    runs = ("--workload", cluster, "--config", broken, "--config", "fine=", "--workers", 1)
    result = call(capsys, "sweep", *runs, "-o", "json")
    assert result.code == 1
    assert [row["config"] for row in result.document] == ["fine"]
    assert "small, broken, seed 0: " in result.err


@pytest.mark.usefixtures("in_this_process")
def test_a_plugin_that_raises_fails_its_run(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(
        tmp_path / "config.yaml", {"plugins": {"filter": {"enabled": [{"name": Raising.name}]}}}
    )
    plugin = f"{Raising.__module__}:{Raising.__name__}"
    runs = ("--workload", cluster, "--config", config, "--plugin", plugin, "--workers", 1)
    result = call(capsys, "sweep", *runs)
    assert result.code == 1
    assert "small, config, seed 0: pod default/p0: " in result.err
    assert "no licence" in result.err


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        pytest.param((), "--workload", id="no workload"),
        pytest.param(("--workload", "x", "--seeds", "5-4"), "5-4", id="no seed"),
        pytest.param(("--workload", "x", "--seeds", "a"), "'a'", id="no number"),
        pytest.param(("--workload", "x", "--fill", "cpu"), "RESOURCE=PERCENT", id="no percentage"),
        pytest.param(("--workload", "x", "--workers", "0"), "'0'", id="no workers"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "sweep", *words)
    assert result.code in (1, 2)
    assert fault in result.err


def test_columns_have_gaps_where_a_run_has_no_such_figure() -> None:
    one, two = Run("a", "c", 0), Run("b", "c", 0)
    results = Results({one: {"placed": 1}, two: {"placed": 2, "gpu %": 50.0}}, {})
    assert results.columns["gpu %"] == [None, 50.0]
    assert results.spread("placed") == {("a", "c"): Spread(1, 1, 1), ("b", "c"): Spread(2, 2, 2)}
    assert set(results.spread("gpu %")) == {("b", "c")}


@pytest.mark.usefixtures("in_this_process")
def test_what_is_written_can_be_read(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "runs.csv"
    result = call(capsys, "sweep", "--workload", cluster, "--workers", 1, "--to", file, "-o", "json")
    with file.open() as text:
        (row,) = csv.DictReader(text)
    assert row == {key: str(value) for key, value in json.loads(result.out)[0].items()}
