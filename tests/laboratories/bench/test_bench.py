"""The benchmarks run, and their report has the shape that readers count on."""

import json
import re
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from mooring_client.v1 import cluster_service_pb2, plugin_service_pb2, scheduling_service_pb2
from tests.laboratories.bench import ghz, loads, workload
from tests.laboratories.bench.__main__ import main, workloads
from tests.laboratories.bench.report import PAGES, grids, record
from tests.laboratories.bench.workload import QUICK, Figure, Size, percentile


@pytest.mark.slow
def test_the_quick_mode_reports_each_workload_with_all_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The suite froze its objects for good; to thaw them slows down every test after this one.
    monkeypatch.setattr(workload, "nothing_old_collected", nullcontext)
    assert main(["--quick", "--only", "core/"], tmp_path) == 0
    machine, *figures = map(json.loads, (tmp_path / "figures.jsonl").read_text("utf-8").splitlines())
    assert machine["machine"].keys() == {"cpu", "cores", "memory_gib", "load", "system", "python", "versions"}
    core = [each.name for each in workloads(QUICK) if each.name.startswith("core/")]
    assert [figure["workload"] for figure in figures] == core
    for figure in figures:
        assert figure["metric"] == "decisions/s"
        assert len(figure["values"]) == QUICK.repeats
        assert 0 < figure["min"] <= figure["median"] <= figure["max"]
    printed, told = capsys.readouterr()
    assert all(name in printed for name in core)
    # Each as soon as it is known.
    assert all(told.index(f"{name}: ") < told.index(f" {after}\n") for name, after in pairwise(core))
    written = (tmp_path / "report.md").read_text("utf-8")
    assert all(f"| {name} | " in written for name in core)
    assert "](core.svg)" in written
    assert ET.parse(tmp_path / "core.svg").getroot().tag.endswith("svg")


ABOUT = {
    "cpu": "a cpu",
    "cores": 2,
    "memory_gib": 4,
    "load": 0.1,
    "system": "s",
    "python": "p",
    "versions": {},
}


def test_a_recorded_section_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "# F\n\n<!-- a: begin -->\nold\n<!-- a: end -->\n\n<!-- b: begin -->\nb\n<!-- b: end -->\n"
    )
    for value in (1.0, 2.0):
        assert record("a", ABOUT, [Figure("g/w", "m", (value,))], tmp_path) == page
    table = "| workload | m |\n| --- | ---: |\n| g/w | 2 |\n"
    other = "<!-- b: begin -->\nb\n<!-- b: end -->\n"
    assert re.sub(r"\*\d{4}-\d\d-\d\d, a cpu.*\*", "ABOUT", page.read_text()) == (
        f"# F\n\n<!-- a: begin -->\nABOUT\n\n{table}<!-- a: end -->\n\n{other}"
    )


def test_an_unknown_section_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("<!-- a: begin -->\n<!-- a: end -->\n")
    with pytest.raises(ValueError, match="no section <!-- a b: begin -->"):
        record("a b", ABOUT, [], tmp_path)


@pytest.mark.parametrize(
    "section",
    [
        "bench",
        "bench-clients",
        "bench-ghz",
        "bench-hosts",
        "bench-list",
        "bench-peers decisions",
        "bench-peers cluster",
    ],
)
def test_the_documents_have_the_sections_of_the_benchmarks(section: str) -> None:
    text = (PAGES / f"{section.split(maxsplit=1)[0]}.md").read_text()
    assert text.count(f"<!-- {section}: begin -->\n") == text.count(f"<!-- {section}: end -->\n") == 1


def test_an_unknown_name_is_a_usage_error_that_lists_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nothing-like-it"])
    assert "core/SchedulingBasic/5000Nodes/OneTemplate" in capsys.readouterr().err


def test_names_are_unique() -> None:
    names = [workload.name for workload in workloads(Size())]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        pytest.param(50, 2.0, id="the median of an even number is the lower one"),
        pytest.param(99, 4.0, id="p99 of few is the highest"),
        pytest.param(25, 1.0, id="exactly a quarter"),
    ],
)
def test_percentile(percent: int, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == expected


def test_the_median_of_a_figure_is_robust() -> None:
    assert Figure("w", "m", (1.0, 100.0, 2.0)).median == 2.0


def test_workloads_that_measure_the_same_share_a_table_and_targets_stand_beside_their_metric() -> None:
    figures = [
        Figure("a/x", "p50 ms", (3.0, 1.0, 2.0), target="2 / 1", note="one request"),
        Figure("a/x", "rps", (1234.5,)),
        Figure("a/y", "p50 ms", (4.0,)),
        Figure("a/y", "rps", (5.0, 7.0)),
        Figure("b/x", "p50 ms", (1.0,)),
        Figure("b/x", "rps", (1.0,), peer="9"),
        Figure("b/z", "rps", (1.0,)),
    ]
    first, second, third = grids(figures)
    assert first.header == ("workload", "p50 ms", "least / aim", "rps", "note")
    assert first.rows == (
        ("a/x", "2 (1 - 3)", "2 / 1", "1,234", "one request"),
        ("a/y", "4", "", "6 (5 - 7)", ""),
    )
    assert second.header == ("workload", "p50 ms", "rps", "kube-scheduler elsewhere: all / sampled")
    assert second.rows == (("b/x", "1", "1", "9"),)
    assert third.rows == (("b/z", "1"),)


def test_ghz_calls_each_rpc_of_the_core_and_of_commits() -> None:
    called = {json.loads(loads.text_of(call.name))["call"] for call in ghz.CALLS}
    called.add(json.loads(loads.text_of("null"))["call"])
    others = {"ScheduleGroups", "PushObjects", "RemoveSource"}
    assert called == {
        f"{service.full_name}/{method.name}"
        for module in (cluster_service_pb2, plugin_service_pb2, scheduling_service_pb2)
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
        if not method.server_streaming and method.name not in others
    }
    assert {call.name for call in ghz.CALLS} | {"null"} == {file.stem for file in loads.LOAD.glob("*.json")}
