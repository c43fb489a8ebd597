"""`mooring serve --reload`: an edited plugin decides, a broken one changes nothing and its line
is reported.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mooring.app import reload
from mooring.app.plugin_files import PluginFiles
from mooring.framework.errors import InvalidArgumentError
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import call, serving, write_config
from tests.cli.reloading import POD
from tests.process import until

RULE = """
from mooring.framework import SUCCESS, FilterPlugin, Pure, Status
from edited_rules.wanted import NODE


class Edited(FilterPlugin, Pure):
    name = "Edited"

    def filter(self, state, pod, node):
        return SUCCESS if node.name == NODE else Status.unschedulable("another node")
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a package with a plugin that takes the node that its second module names."""
    folder = tmp_path / "edited_rules"
    folder.mkdir()
    (folder / "__init__.py").write_text("from edited_rules.rule import Edited\n")
    (folder / "rule.py").write_text(RULE)
    (folder / "wanted.py").write_text("NODE = 'worker-a1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(reload, "POLL_SECONDS", 0.02)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "edited_rules"]:
        del sys.modules[name]


def enabled(folder: Path) -> Path:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Edited"}]}}}
    write_config(folder / "c.yaml", profile)
    return folder / "c.yaml"


def test_an_edited_plugin_decides_and_a_broken_one_changes_nothing(
    package: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flags = ("--config", enabled(tmp_path), "--plugin", "edited_rules:Edited", "--reload")
    wanted, rule = package / "wanted.py", package / "rule.py"
    with serving(*flags) as server, grpc.insecure_channel(server.address("grpc")) as channel:
        scheduling = SchedulingServiceStub(channel)

        def decided() -> tuple[str, str]:
            answer = scheduling.Schedule(pb.ScheduleRequest(templates=[pb.PodTemplate(pod=POD)]))
            return answer.nodes.names.names[0], answer.provenance.configuration_hash

        def told(said: str) -> None:
            until(lambda: any(said in record.getMessage() for record in caplog.records), said)

        told("--reload is for development ONLY")
        (first, code), second = decided(), "worker-b1"
        assert first == "worker-a1"
        wanted.write_text(f"NODE = {second!r}\n")
        until(lambda: decided()[0] == second, "a decision by the edited plugin")
        assert decided()[1] != code
        for file, text, said in (
            (wanted, "NODE = (\n", f"{wanted}:1: SyntaxError: "),
            (wanted, "OTHER = 1\n", f"{rule}:3: ImportError: cannot import name 'NODE'"),
            (rule, f"{RULE}\nNOTHING + 1\n", f"{rule}:{RULE.count(chr(10)) + 2}: NameError: "),
        ):
            good = file.read_text()
            file.write_text(text)
            told(said)
            assert decided()[0] == second
            file.write_text(good)
        wanted.write_text(f"NODE = {first!r}\n")
        until(lambda: decided() == (first, code), "a decision by the first version")


def test_what_fails_leaves_all_modules_as_they_were(package: Path) -> None:
    kind = importlib.import_module("edited_rules").Edited
    before = {name: module for name, module in sys.modules.items() if name.startswith("edited_rules")}
    files = PluginFiles(lambda: [kind])
    text = files.text()
    assert RULE in text
    (package / "new.py").write_text("1 / 0\n")
    (package / "rule.py").write_text("import edited_rules.new\n")
    assert files.text() != text
    with (
        pytest.raises(InvalidArgumentError, match=r"new\.py:1: ZeroDivisionError: division by zero"),
        files.imported_again(),
    ):
        importlib.import_module("edited_rules")
    after = {name: module for name, module in sys.modules.items() if name.startswith("edited_rules")}
    assert after == before


def test_a_module_beside_that_of_the_plugin_is_imported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    wanted = tmp_path / "edited_wanted.py"
    wanted.write_text("NODE = 'first'\n")
    (tmp_path / "edited_rule.py").write_text(RULE.replace("edited_rules.wanted", "edited_wanted"))
    module = importlib.import_module("edited_rule")
    try:
        files = PluginFiles(lambda: [module.Edited])
        wanted.write_text("NODE = 'second'\n")
        assert "second" in files.text()
        with files.imported_again():
            assert importlib.import_module("edited_rule").NODE == "second"
    finally:
        for name in ("edited_rule", "edited_wanted"):
            del sys.modules[name]


@pytest.mark.usefixtures("package")
def test_a_fault_that_is_elsewhere_stays_as_it_is() -> None:
    kind = importlib.import_module("edited_rules").Edited
    with pytest.raises(KeyError), PluginFiles(lambda: [kind]).imported_again():
        raise KeyError


def test_without_a_configuration_there_is_nothing_to_reload(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "serve", "--source", "sample", "--reload")
    assert result.code == 2
    assert "--reload needs --config" in result.err
