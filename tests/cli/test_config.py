"""`mooring config`: checked, shown, converted; what to know goes to standard error, the document does not."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import call, scoring, write_config

POLICY = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "HostName"}], "priorities": []}


def old(folder: Path) -> Path:
    file = folder / "old.yaml"
    file.write_text("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n")
    return file


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "config", "check", write_config(tmp_path / "c.yaml", scoring(("NodeAffinity", 3))))
    assert (result.code, result.out) == (0, "ok\n")
    assert [line for line in result.complaints if not line.startswith("warning: ")] == []


@pytest.mark.parametrize(
    ("flags", "code", "out"),
    [pytest.param([], 0, "ok\n", id="accepted"), pytest.param(["--strict"], 1, "", id="refused when strict")],
)
def test_an_older_version(
    flags: list[str], code: int, out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = call(capsys, "config", "check", *flags, old(tmp_path))
    assert (result.code, result.out) == (code, out)
    assert "v1beta3" in result.err


def test_show_is_a_file_with_every_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, "config", "show", write_config(tmp_path / "c.yaml", scoring(("VolumeBinding", 3))))
    assert shown.code == 0
    document = yaml.safe_load(shown.out)
    assert document["parallelism"] == 16
    assert document["profiles"][0]["plugins"]["score"]["enabled"] == [{"name": "VolumeBinding", "weight": 3}]
    unsupported = [line for line in shown.complaints if "unsupported" in line]
    assert all(line.startswith("warning: unsupported in profile default-scheduler: ") for line in unsupported)
    assert not any("VolumeBinding" in line for line in unsupported)
    again = tmp_path / "again.yaml"
    again.write_text(shown.out)
    assert yaml.safe_load(call(capsys, "config", "show", again).out) == document


def test_convert_needs_no_plugin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    converted = call(capsys, "config", "convert", old(tmp_path))
    assert (converted.code, converted.err) == (0, "")
    assert yaml.safe_load(converted.out)["apiVersion"] == "kubescheduler.config.k8s.io/v1"


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(POLICY)))
    converted = call(capsys, "config", "convert", "-")
    assert converted.code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(converted.out))
    assert call(capsys, "config", "check", "--strict", "-").out == "ok\n"


UNDERLAY = {"schedulerName": "ip", "plugins": {"multiPoint": {"enabled": [{"name": "UnderlayIP"}]}}}
FILTER = {"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter", "nodeCacheCapable": True}
BIND = {**FILTER, "urlPrefix": "http://127.0.0.1:8889", "bindVerb": "bind"}
NEEDS_BIND = "profiles[0].plugins.reserve: UnderlayIP reserves, so one of the extenders needs bindVerb"


@pytest.mark.parametrize(
    ("profile", "extenders", "fault"),
    [
        pytest.param(UNDERLAY, [FILTER], NEEDS_BIND, id="a reserving plugin, no bind verb"),
        pytest.param(UNDERLAY, [BIND], "", id="a bind verb"),
        pytest.param(UNDERLAY, [FILTER, BIND], "", id="a bind verb of another extender"),
        pytest.param({"schedulerName": "default"}, [FILTER], "", id="only kube-scheduler's own reserve"),
        pytest.param(UNDERLAY, [], "extenders: ", id="no extender"),
    ],
)
def test_reserving_plugins_behind_kube_scheduler_need_the_bind_verb(
    profile: dict[str, object],
    extenders: list[dict[str, object]],
    fault: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours = write_config(tmp_path / "mooring.yaml", profile)
    theirs = write_config(tmp_path / "scheduler.yaml", {"schedulerName": "default"}, extenders=extenders)
    result = call(capsys, "config", "check", "--extenders", theirs, ours)
    assert (result.code, fault in result.err) == (1 if fault else 0, True)
    assert call(capsys, "config", "check", ours).code == 0
    if extenders:
        # In one file they are those of mooring scheduler, which reserves by itself.
        together = write_config(tmp_path / "both.yaml", profile, extenders=extenders)
        assert call(capsys, "config", "check", together).code == 0
