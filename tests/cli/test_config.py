"""`mooring config`: checked, shown, converted; what to know goes to standard error, the document does not."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, scoring, write_config, write_manifests

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
    [
        pytest.param([], 0, "ok\n", id="accepted"),
        pytest.param(["--strict"], 1, "", id="rejected when strict"),
    ],
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


def config_map(name: str, *texts: str) -> dict[str, Any]:
    data = {f"file-{number}": text for number, text in enumerate(texts)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


FILE = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{schedulerName: mine}]\n"
)
OTHER: dict[str, Any] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other"}}
CARRIED = [
    pytest.param([config_map("one", FILE)], id="a ConfigMap"),
    pytest.param([OTHER, config_map("one", "a: 1", FILE), OTHER], id="among other objects"),
    pytest.param([OTHER, yaml.safe_load(FILE)], id="by itself among other objects"),
    pytest.param(
        [{"apiVersion": "v1", "kind": "List", "items": [OTHER, config_map("one", FILE)]}], id="a List"
    ),
    pytest.param(
        [{"kind": "SchedulerConfiguration", "spec": {"rawConfig": FILE}}], id="config-in-a-resource"
    ),
    pytest.param(
        [{"version": "v1alpha1", "cluster": {"scheduler": {"config": yaml.safe_load(FILE)}}}],
        id="an object in an object",
    ),
    pytest.param(
        [{"kind": "KubeadmControlPlane", "spec": {"files": [{"path": "/x", "content": FILE}]}}],
        id="a file of a machine",
    ),
    pytest.param(
        [
            config_map("one", FILE),
            {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": []},
            {"kind": "Tiers", "note": "tiers: a: b", "text": "set kind KubeSchedulerConfiguration"},
        ],
        id="beside what only looks like one",
    ),
]


@pytest.mark.parametrize("objects", CARRIED)
def test_a_configuration_is_found_in_the_manifests_that_carry_it(
    objects: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_manifests(tmp_path / "c.yaml", *objects)
    assert call(capsys, "config", "check", file).out == "ok\n"
    for verb in ("show", "convert"):
        shown = yaml.safe_load(call(capsys, "config", verb, file).out)
        assert [profile["schedulerName"] for profile in shown["profiles"]] == ["mine"]
    pods = write_manifests(tmp_path / "m.yaml", node_manifest("n"), pod_manifest("p"))
    placed = call(capsys, "schedule", "--config", file, "--profile", "mine", "--manifests", pods)
    assert placed.code == 0, placed.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("scheduler.json", json.dumps(yaml.safe_load(FILE), indent="\t"), id="config-json-tabs"),
        pytest.param(
            "scheduler.yaml",
            f"{FILE}leaderElection: {{leaderElect: yes}}\npodInitialBackoffSeconds: 4.0\n",
            id="config-yes",
        ),
    ],
)
def test_files_that_kube_scheduler_loads_are_right(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert call(capsys, "config", "check", tmp_path / name).out == "ok\n"
    shown = call(capsys, "config", "show", "--config", tmp_path / name).out
    assert shown == call(capsys, "config", "show", tmp_path / name).out
    assert "schedulerName: mine" in shown


def test_one_of_several_is_chosen_by_its_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = json.dumps({"kind": "Policy", "apiVersion": "v1", "priorities": []})
    other = FILE.replace("mine", "other")
    file = write_manifests(tmp_path / "c.yaml", config_map("one", FILE, policy, other))
    assert "choose what a key has by FILE#KEY" in call(capsys, "config", "check", file).err
    shown = yaml.safe_load(call(capsys, "config", "show", f"{file}#file-2").out)
    assert [profile["schedulerName"] for profile in shown["profiles"]] == ["other"]
    assert call(capsys, "config", "convert", f"{file}#file-1").out.startswith(
        "# converted from a scheduler P"
    )
    pods = write_manifests(tmp_path / "m.yaml", node_manifest("n"), pod_manifest("p"))
    placed = call(capsys, "schedule", "--config", f"{file}#file-2", "--profile", "other", "--manifests", pods)
    assert placed.code == 0, placed.err
    missing = call(capsys, "config", "check", f"{file}#file-7")
    assert (missing.code, "file-7: one text is expected under this key, found 0" in missing.err) == (1, True)


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        pytest.param([OTHER, OTHER], "by itself or in another object, found none", id="none"),
        pytest.param(
            [config_map("one", "a: 1")], "by itself or in another object, found none", id="an empty one"
        ),
        pytest.param(
            [config_map("one", FILE), config_map("two", FILE)],
            "found 2: document 1.data[file-0], document 2.data[file-0]; choose what a key has by FILE#KEY",
            id="two",
        ),
        pytest.param(
            [config_map("one", f"{FILE}---\n{FILE}")],
            "found 2: document 1.data[file-0], document 1.data[file-0]",
            id="two under one key",
        ),
        pytest.param(
            [config_map("one", f"{FILE}kind: Policy\n")],
            "document 1.data[file-0]: kind: line 4: given twice, first on line 2",
            id="a broken one",
        ),
        pytest.param(
            [{"apiVersion": "v1", "kind": "Config", "clusters": []}],
            "give it as --kubeconfig",
            id="kubeconfig",
        ),
    ],
)
def test_what_carries_no_configuration(
    objects: list[dict[str, Any]], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_manifests(tmp_path / "c.yaml", *objects)
    for argv in (["config", "check", file], ["scheduler", "--config", file], ["config", "convert", file]):
        result = call(capsys, *argv)
        assert (result.code, result.out) == (1, "")
        assert said in result.err


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(POLICY)))
    converted = call(capsys, "config", "convert", "-")
    assert converted.code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(converted.out))
    assert call(capsys, "config", "check", "--strict", "-").out == "ok\n"


BANDWIDTH = "example.com/bandwidth"


def counting(name: str = "default", ignored: list[str] | None = None) -> dict[str, Any]:
    """Return a profile whose NodeResourcesFit counts bandwidth, unless that is ignored."""
    args = {"ignoredResources": ignored or []}
    return {"schedulerName": name, "pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}


def asking(
    profile: str = "", *, managed: bool = True, ignored: bool = True, binds: bool = False
) -> dict[str, Any]:
    """Return an extender that asks a profile about bandwidth."""
    path = f"/profiles/{profile}" if profile else ""
    stanza: dict[str, Any] = {"urlPrefix": f"http://127.0.0.1:8888{path}", "filterVerb": "filter"}
    if binds:
        stanza["bindVerb"] = "bind"
    if managed:
        stanza["managedResources"] = [{"name": BANDWIDTH, "ignoredByScheduler": ignored}]
    return stanza


@pytest.mark.parametrize(
    ("profiles", "extenders", "at_fault"),
    [
        pytest.param([counting()], [asking()], [0], id="ignored and counted"),
        pytest.param([counting()], [asking(ignored=False)], [], id="kube-scheduler holds it"),
        pytest.param([counting(ignored=[BANDWIDTH])], [asking()], [], id="not counted"),
        pytest.param([counting()], [asking(binds=True)], [], id="its extender binds"),
        pytest.param(
            [counting()], [asking(), asking(managed=False, binds=True)], [], id="another one binds all pods"
        ),
        pytest.param(
            [counting("a"), counting("b")], [asking()], [0, 1], id="each profile, where none is named"
        ),
        pytest.param([counting("a"), counting("b")], [asking("b")], [1], id="the profile that is asked"),
        pytest.param(
            [counting("a"), counting("b")],
            [asking("a"), asking("b", managed=False)],
            [0, 1],
            id="both are asked",
        ),
        pytest.param(
            [counting("a"), counting("b", [BANDWIDTH])],
            [asking("a"), asking("b", managed=False, binds=True)],
            [0],
            id="the one that binds does not count it",
        ),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_what_kube_scheduler_is_told_to_ignore_is_held_by_somebody(
    profiles: list[dict[str, Any]],
    extenders: list[dict[str, Any]],
    at_fault: list[int],
    strict: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours = write_config(tmp_path / "mooring.yaml", *profiles)
    theirs = write_config(tmp_path / "scheduler.yaml", {"schedulerName": "default"}, extenders=extenders)
    strictly = ["--strict"] if strict else []
    result = call(capsys, "config", "check", *strictly, "--extenders", theirs, ours)
    assert result.code == (1 if at_fault else 0), result.err
    found = [line for line in result.complaints if f"NodeResourcesFit counts {BANDWIDTH}" in line]
    assert [line.partition("profiles[")[2][0] for line in found] == list(map(str, at_fault))


UNDERLAY = {"schedulerName": "ip", "plugins": {"multiPoint": {"enabled": [{"name": "UnderlayIP"}]}}}
FILTER = {"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter", "nodeCacheCapable": True}
BIND = {**FILTER, "urlPrefix": "http://127.0.0.1:8889", "bindVerb": "bind"}
ELSEWHERE = {**BIND, "urlPrefix": "http://127.0.0.1:8889/profiles/other"}
NEEDS_BIND = "UnderlayIP reserves, so an extender that asks this profile needs bindVerb"


@pytest.mark.parametrize(
    ("profile", "extenders", "fault"),
    [
        pytest.param(UNDERLAY, [FILTER], NEEDS_BIND, id="a reserving plugin, no bind verb"),
        pytest.param(UNDERLAY, [BIND], "", id="a bind verb"),
        pytest.param(UNDERLAY, [FILTER, BIND], "", id="a bind verb of another extender"),
        pytest.param(UNDERLAY, [FILTER, ELSEWHERE], NEEDS_BIND, id="a bind verb for another profile"),
        pytest.param(UNDERLAY, [ELSEWHERE], "", id="asked by none of them"),
        pytest.param({"schedulerName": "default"}, [FILTER], "", id="only kube-scheduler's own reserve"),
        pytest.param(UNDERLAY, [], "extenders: ", id="no extender"),
        pytest.param(
            {"schedulerName": "default"},
            [{**FILTER, "filterVerb": "filter/"}],
            "",
            id="a slash behind the verb, which the adapter serves",
        ),
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
