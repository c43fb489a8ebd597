from __future__ import annotations

import inspect
import math
import sys
from pathlib import Path

import pytest

from mooring.kernels import compile as loops
from mooring.plugin_check import bench, deciding, following, playing
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import Result, call, write_manifests
from tests.plugin_check import honest_rules, impure_rules, wrong_rules


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "compile_ahead", lambda _nodes: None)
    monkeypatch.setattr(bench, "ROUNDS", 2)
    for module in (bench, deciding):
        # With more decisions on a faster machine the nodes would fill up.
        monkeypatch.setattr(module, "ROUND_DECISIONS", 5)
    monkeypatch.setattr(deciding, "ROUND_SECONDS", math.inf)
    monkeypatch.setattr(following, "NODES", 20)
    monkeypatch.setattr(playing, "SEEDS", (1,))


def checked(capsys: pytest.CaptureFixture[str], kind: type, *flags: object) -> Result:
    return call(capsys, "plugins", "check", f"{kind.__module__}:{kind.__name__}", *flags)


def line_of(marked: str) -> int:
    lines = Path(wrong_rules.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if marked in line)


def test_an_honest_rule_passes(capsys: pytest.CaptureFixture[str]) -> None:
    result = checked(capsys, honest_rules.Free)
    assert (result.code, result.err) == (0, "")
    verdict, reads, calls, events = result.out.splitlines()
    assert verdict == "Free: no fault found"
    assert reads == "it reads allocatable[memory], node.metadata.name, requested[memory]"
    assert calls.startswith("calls for the first decision among 20 nodes, and for a later one: score 22 and ")
    assert events == "a rejected pod is tried again after every change of its reads"


def test_a_module_of_the_working_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = inspect.getsource(honest_rules).replace('name = "Free"', 'name = "FreeHere"')
    (tmp_path / "rules_from_here.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "rules_from_here", sys)
    del sys.modules["rules_from_here"]
    result = call(capsys, "plugins", "check", "rules_from_here:Free")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("FreeHere: no fault found")


def test_a_fault_has_its_line_and_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(wrong_rules.__file__).parent)
    result = checked(capsys, wrong_rules.Raises)
    fault, remedy, *_ = result.out.splitlines()
    assert result.code == 1
    assert fault.startswith(
        f"wrong_rules.py:{line_of('# raises')}: pod default/q0: plugin 'Raises' failed at Score"
    )
    assert remedy == "    answer for any value and for none: users write any text into labels and annotations"


def test_what_breaks_a_promise_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    result = checked(capsys, impure_rules.Clock, "-o", "json")
    assert result.code == 1
    assert result.document["pure"] is True
    (finding,) = result.document["findings"]
    assert finding["fault"] == "reads the clock (time.time)"
    assert finding["place"].startswith(f"{impure_rules.__file__}:")


def test_what_would_break_a_promise_nobody_made_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    class_of_the_tree = "mooring.plugins.image_locality.plugin:ImageLocality"
    result = call(capsys, "plugins", "check", class_of_the_tree)
    assert result.code == 0
    assert "ImageLocality: no fault found" in result.out
    assert "reads self.handle" in result.out


def test_arguments_and_a_cluster(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    dump = write_manifests(
        tmp_path / "dump.yaml", node_manifest("n0", labels={"rack-id": "7"}), pod_manifest("web")
    )
    result = checked(capsys, wrong_rules.Hidden, "--cluster", dump)
    assert result.code == 1
    assert "invalid score 200" in result.out
    assert checked(capsys, honest_rules.Label, "--args", "{label: example.com/row}").code == 0
    wrong = checked(capsys, honest_rules.Label, "--args", "{lable: x}")
    assert (wrong.code, wrong.out) == (1, "")
    assert "lable" in wrong.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["nothing"], "'nothing' is not a plugin reference", id="no reference"),
        pytest.param(["no_such_module:Rule"], "No module named 'no_such_module'", id="no module"),
        pytest.param(["x:Y", "--cluster", "no.yaml"], "no.yaml", id="no such file"),
    ],
)
def test_what_cannot_be_checked(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "plugins", "check", *argv)
    assert (result.code, result.out) == (1, "")
    assert said in result.err


@pytest.mark.parametrize(
    ("given", "said"),
    [pytest.param("7", "is not a mapping", id="no mapping"), pytest.param("{a", "is not YAML", id="no YAML")],
)
def test_arguments_are_a_mapping(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "plugins", "check", "x:Y", "--args", given)
    assert result.code == 2
    assert said in result.err


def test_the_bench_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    reference = f"{wrong_rules.__name__}:Counted"
    result = call(capsys, "plugins", "bench", reference, "--nodes", 20, columns=80)
    assert result.code == 0
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    filtering = next(line for line in lines if line.startswith("filter"))
    assert filtering.split()[1:3] == ["20", "20.0"]
    assert "the cache answered 0% of them" in result.out


def test_the_bench_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "plugins", "bench", f"{wrong_rules.__name__}:Counted", "--nodes", 20, "-o", "json")
    assert result.document["nodes"] == 20
    assert set(result.document) == {"plugin", "nodes", "without", "having", "spent", "placed", "kept"}


def test_completion_knows_both(capsys: pytest.CaptureFixture[str]) -> None:
    script = call(capsys, "completion", "bash").out
    for verb in ("check", "bench"):
        options = next(line for line in script.splitlines() if f"plugins_{verb}_option_strings" in line)
        assert "--args --cluster" in options


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("check", "bench"):
        assert (
            f"mooring plugins {verb} rack_affinity:RackAffinity"
            in call(capsys, "plugins", verb, "--help").out
        )
