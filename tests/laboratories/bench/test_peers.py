"""Logs, metrics pages and rates in bench-peers; an error names a missing tool."""

from pathlib import Path

import pytest

from tests.laboratories.bench.families import DEFAULT, TOO_LARGE
from tests.laboratories.bench.peers import __main__ as peers
from tests.laboratories.bench.peers import in_process, needs
from tests.laboratories.bench.peers.__main__ import main
from tests.laboratories.bench.peers.clusters import BASES
from tests.laboratories.bench.peers.contestants import contestants
from tests.laboratories.bench.peers.rounds import against, algorithm_seconds
from tests.laboratories.bench.peers.side_by_side import side_by_side
from tests.laboratories.bench.workload import Figure
from tests.laboratories.e2e.build import KUBERNETES_VERSION

PAGE = """\
# TYPE {prefix}_scheduling_algorithm_duration_seconds histogram
{prefix}_scheduling_algorithm_duration_seconds_bucket{{le="+Inf"}} 4
{prefix}_scheduling_algorithm_duration_seconds_sum 0.5
{prefix}_scheduling_algorithm_duration_seconds_count 4
{prefix}_scheduling_attempt_duration_seconds_count 9
"""


@pytest.mark.parametrize("prefix", ["scheduler", "mooring"])
def test_the_mean_decision_is_the_sum_through_the_count(prefix: str) -> None:
    assert algorithm_seconds(PAGE.format(prefix=prefix)) == 0.125


def test_a_page_without_decisions_is_an_error() -> None:
    with pytest.raises(ValueError, match="has counted nothing"):
        algorithm_seconds("scheduler_scheduling_algorithm_duration_seconds_count 0\n")


def test_rates_are_compared_within_the_round_with_those_that_took_part() -> None:
    found = against({"Echo": {"pods/s": 200.0}, "Mooring": {"pods/s": 150.0}}, ["KubeScheduler", "Echo"])
    assert found == {
        "Echo": {"pods/s": 200.0, "% of Echo": 100.0},
        "Mooring": {"pods/s": 150.0, "% of Echo": 75.0},
    }


def test_a_decision_is_compared_with_mooring_in_process_repeat_by_repeat() -> None:
    found = [
        Figure("decisions/AsOnClusters/500Nodes", "mooring /s", (10_000.0, 5_000.0)),
        Figure("decisions/AsOnClusters/500Nodes", "kube-scheduler /s, sampled", (1_000.0, 2_000.0)),
        Figure("decisions/AsOnClusters/900Nodes", "mooring /s", (1.0, 1.0)),
        Figure("500Nodes/KubeScheduler", "decision ms", (2.0, 4.0)),
    ]
    rows = [(figure.workload, figure.metric, figure.values) for figure in side_by_side(found, 500)]
    assert rows == [
        ("decision/500Nodes/KubeScheduler/InProcess/Sampled", "ms", (1.0, 0.5)),
        ("decision/500Nodes/KubeScheduler/InProcess/Sampled", "times Mooring/InProcess", (10.0, 2.5)),
        ("decision/500Nodes/KubeScheduler/InCluster/Sampled", "ms", (2.0, 4.0)),
        ("decision/500Nodes/KubeScheduler/InCluster/Sampled", "times Mooring/InProcess", (20.0, 20.0)),
        ("decision/500Nodes/Mooring/InProcess", "ms", (0.1, 0.2)),
        ("decision/500Nodes/Mooring/InProcess", "times Mooring/InProcess", (1.0, 1.0)),
    ]
    assert side_by_side(found, 900) == []


@pytest.mark.parametrize("tool", ["go", "openssl"])
def test_a_missing_tool_is_said_by_name(
    tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == tool else f"/bin/{name}")
    assert main(["--part", "cluster"]) == 1
    assert capsys.readouterr().err.startswith(f"bench-peers: `{tool}` is not in PATH; needed is ")


def test_what_was_found_before_an_error_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no control plane")

    figure = Figure("decisions/AsOnClusters/500Nodes", "mooring /s", (1.0,))
    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    monkeypatch.setattr(needs, "provide", lambda **_: None)
    monkeypatch.setattr(peers, "measure_all", lambda _workloads, _repeats: [figure])
    monkeypatch.setattr(peers, "bound", fail)
    recorded: list[str] = []
    monkeypatch.setattr(peers, "record", lambda section, *_: recorded.append(section))
    with pytest.raises(RuntimeError, match="no control plane"):
        main(["--record"])
    assert recorded == ["bench-peers decisions"]
    assert figure.workload in capsys.readouterr().out
    assert figure.workload in (tmp_path / "peers" / "figures.jsonl").read_text("utf-8")


def test_an_unknown_name_is_a_usage_error_that_lists_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nothing-like-it"])
    error = capsys.readouterr().err
    assert "decisions/AsOnClusters/5000Nodes" in error
    assert "MooringScheduler" in error


def test_of_devices_there_are_as_many_nodes_as_the_workload_has_at_most() -> None:
    names = {workload.name for workload in in_process.workloads([500, 5000], 1)}
    assert {name for name in names if "ResourceClaim" in name or "ExtendedResource" in name} == {
        "decisions/SchedulingWithResourceClaimTemplate/500Nodes",
        "decisions/SchedulingWithExtendedResource/500Nodes",
    }


PODS = [DEFAULT(0), TOO_LARGE(1), DEFAULT(2)]


def test_who_has_placed_each_pod_that_a_node_has_room_for_is_compared() -> None:
    in_process.check("kube-scheduler", 2, PODS)


@pytest.mark.parametrize("placed", [0, 1, 3])
def test_who_has_placed_other_pods_is_not_compared(placed: int) -> None:
    with pytest.raises(RuntimeError, match=f"kube-scheduler has placed {placed} pods, not 2. no room"):
        in_process.check("kube-scheduler", placed, PODS, "no room")


def test_decisions_and_bindings_are_of_the_same_release() -> None:
    module = (needs.SOURCE / "go.mod").read_text("utf-8")
    assert f"k8s.io/kubernetes {KUBERNETES_VERSION}\n" in module


def test_everybody_is_compared_with_contestants_that_exist() -> None:
    assert set(BASES) < set(contestants())
