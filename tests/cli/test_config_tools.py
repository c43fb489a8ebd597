"""`mooring config show --resolved`, `diff`, `schema`, and the linter of extenders' stanzas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.commands import call, scoring, write_config

GOOD: dict[str, Any] = {
    "urlPrefix": "http://mooring:8888",
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "weight": 1,
    "nodeCacheCapable": True,
}


def test_what_is_in_force_by_point_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_config(tmp_path / "c.yaml", scoring(("ImageLocality", 7), ("NodeResourcesFit", 2)))
    resolved = yaml.safe_load(call(capsys, "config", "show", "--resolved", file).out)["default-scheduler"]
    assert resolved["score"] == [
        {"name": "ImageLocality", "weight": 7},
        {"name": "NodeResourcesFit", "weight": 2},
    ]
    assert resolved["queueSort"] == ["PrioritySort"]
    assert "permit" not in resolved


def test_without_a_file_the_default_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    resolved = yaml.safe_load(call(capsys, "config", "show", "--resolved").out)
    assert {"name": "TaintToleration", "weight": 3} in resolved["default-scheduler"]["score"]


def test_two_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write_config(tmp_path / "one.yaml", scoring(("ImageLocality", 7)))
    other = write_config(tmp_path / "other.yaml", scoring(("ImageLocality", 8)))
    same = call(capsys, "config", "diff", one, one)
    assert (same.out, same.code) == ("", 0)
    differs = call(capsys, "config", "diff", one, other)
    assert differs.code == 1
    assert differs.out.startswith(f"--- {one}\n+++ {other}\n")
    assert {"-    weight: 7", "+    weight: 8"} <= set(differs.out.splitlines())


def test_a_fault_of_the_other_file_is_told_under_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write_config(tmp_path / "one.yaml", {})
    other = write_config(tmp_path / "other.yaml", {}, parallelism=0)
    result = call(capsys, "config", "diff", one, other)
    assert result.code == 1
    assert re.match(rf"mooring: {other}:\d+: parallelism: ", result.err)


def test_the_schema_knows_every_field_and_the_arguments_of_plugins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    schema = call(capsys, "config", "schema").document
    assert {"profiles", "extenders", "leaderElection"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    assert "scoringStrategy" in schema["$defs"]["NodeResourcesFitArgs"]["properties"]
    rules = {rule["if"]["properties"]["name"]["const"] for rule in schema["$defs"]["PluginConfig"]["allOf"]}
    assert {"NodeResourcesFit", "InterPodAffinity", "DefaultPreemption"} <= rules


@pytest.mark.parametrize(
    ("changes", "said", "code"),
    [
        pytest.param({}, "", 0, id="good"),
        pytest.param({"filterVerb": "/filter"}, "extenders[0].filterVerb: begins with /", 1, id="slash"),
        pytest.param(
            {"prioritizeVerb": "prioritise"}, "the adapter serves prioritize, not prioritise", 1, id="verb"
        ),
        pytest.param({"urlPrefix": "mooring:8888"}, "must begin with http://", 1, id="no scheme"),
        pytest.param({"filterVerb": "", "prioritizeVerb": ""}, "has no verb", 1, id="no verb"),
        pytest.param({"weight": 0}, "extenders[0].weight: must be greater", 1, id="fault of the file"),
        pytest.param({"nodeCacheCapable": False}, "warning: ", 0, id="whole nodes"),
        pytest.param(
            {"httpTimeout": "30s"},
            "extenders[0].httpTimeout: one pod may delay all others for this long",
            0,
            id="long timeout",
        ),
        pytest.param({"enableHTTPS": True}, "extenders[0].tlsConfig: without caFile", 0, id="no CA"),
    ],
)
def test_stanzas_of_extenders(
    changes: dict[str, Any], said: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = write_config(tmp_path / "ours.yaml", {})
    theirs = write_config(tmp_path / "theirs.yaml", {"schedulerName": "x"}, extenders=[GOOD | changes])
    result = call(capsys, "config", "check", "--extenders", theirs, ours)
    assert result.code == code, result.err
    assert said in result.err
    if code:
        assert re.search(rf"{theirs}:\d+: extenders\[0\]", result.err)
        assert str(ours) not in result.err


def test_each_of_several_files_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = write_config(tmp_path / "good.yaml"), tmp_path / "bad.yaml"
    bad.write_text("kind: Nope")
    found = call(capsys, "config", "check", bad, tmp_path / "none.yaml", good)
    assert (found.code, found.out) == (1, f"{good}: ok\n")
    assert found.complaints[0].startswith(f"mooring: {bad}:1: ")
    assert found.complaints[-1].startswith(f"mooring: {tmp_path}/none.yaml: can't be read")
