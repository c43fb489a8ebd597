"""``mooring plugins new NAME --language``: each host builds, passes its tests and the checks, and decides."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mooring.cli.plugin_kinds import GUEST_KINDS, HOST_KINDS, LANGUAGES
from mooring.plugin_hosts.hosts import close_connections
from tests.cli.commands import call
from tests.clients.building import ROOT, built
from tests.process import until

CLIENTS = {"ts": "typescript"}
"""The folder of a language's client, if it has another name."""


def test_a_name_that_is_taken_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = ("plugins", "new", "NodeName", "--language", "go", "--directory", tmp_path)
    assert "a plugin named NodeName already exists" in call(capsys, *new).err


def test_a_kind_that_no_host_can_have_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = ("plugins", "new", "GpuRack", "--language", "go", "--kind", "holding", "--directory", tmp_path)
    assert "a host can't have a plugin that is holding" in call(capsys, *new).err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", HOST_KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_placeholder_is_left(
    language: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = ("plugins", "new", "GpuRack", "--language", language, "--kind", kind, "--directory", tmp_path)
    made = call(capsys, *new)
    assert made.out == f"wrote {tmp_path}/gpu-rack; next: {tmp_path}/gpu-rack/README.md\n"
    texts = {each.name: each.read_text() for each in tmp_path.rglob("*") if each.is_file()}
    assert [name for name, text in texts.items() if "$" in name or "$name" in text or "$dis" in text] == []
    assert any('"GpuRack"' in text for text in texts.values())


@pytest.mark.clients
@pytest.mark.parametrize("kind", HOST_KINDS)
@pytest.mark.parametrize(
    "language",
    [pytest.param(each, marks=pytest.mark.xdist_group(CLIENTS.get(each, each))) for each in LANGUAGES],
)
def test_a_new_host_is_built_and_decides(
    language: str,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = built(CLIENTS.get(language, language)) / "target"
    monkeypatch.setenv("CARGO_TARGET_DIR", str(target))
    new = ("plugins", "new", "GpuRack", "--language", language, "--kind", kind, "--directory", tmp_path)
    assert call(capsys, *new).code == 0
    folder = tmp_path / "gpu-rack"
    lines = (folder / "README.md").read_text().splitlines()
    get, test, run, *others = [line.strip() for line in lines if line.startswith("    ")]
    get = get.replace("CLIENTS", str(ROOT / "clients"))
    run = run.replace("target/debug", f"{target}/debug")
    for command in (get, test):
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    socket = folder / "host.sock"
    process = subprocess.Popen(f"exec {run}", shell=True, cwd=folder)
    try:
        until(socket.exists)
        address = f"unix:{socket}"
        checked = call(capsys, "conformance", "host", address, "--evaluate-timeout", "20s")
        assert checked.code == 0, checked.out
        judged = call(capsys, "plugins", "check", "GpuRack", "--plugin-host", address)
        assert judged.out.splitlines()[0] == "GpuRack: no fault found"
    finally:
        close_connections()
        process.terminate()
        process.wait()
    if kind not in GUEST_KINDS:
        assert not others[3:]
    elif "guest" in LANGUAGES[language] and (language != "rust" or shutil.which("rustup")):
        build, _, check = others[3:]
        subprocess.run(build, shell=True, cwd=folder, check=True)
        path = check.rpartition("wasm:")[2].replace("target/", f"{target}/")
        judged = call(capsys, "plugins", "check", "GpuRack", "--plugin-host", f"wasm:{folder / path}")
        close_connections()
        assert judged.out.splitlines()[0] == "GpuRack: no fault found"
