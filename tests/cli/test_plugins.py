"""`mooring plugins`: what there is, what failed to load and why, and the package of a new plugin."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

import pytest

from mooring.cli import with_plugin
from mooring.cli.plugin_kinds import KINDS
from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Status
from mooring.plugin_check import following
from tests.cli.commands import ROOT, call
from tests.missing_plugins import add_missing_plugin

LINES = ("--line-length", "110")
METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n"


class Mine(FilterPlugin[None]):
    name = "Mine"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS


def install(folder: Path, distribution: str, code: str, **plugins: str) -> None:
    """An installed distribution with one module, and its announced plugins."""
    module = distribution.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(name=distribution))
    points = "".join(f"{name} = {module}:{attribute}\n" for name, attribute in plugins.items())
    (info / "entry_points.txt").write_text(f"[mooring.plugins]\n{points}")


def states(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    result = call(capsys, "plugins", "-o", "json")
    assert result.code == 0, result.err
    return {entry["name"]: entry for entry in result.document}


def test_in_tree_plugins_and_those_that_are_not_built(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = add_missing_plugin(monkeypatch)
    known = states(capsys)
    assert known["NodeAffinity"] == {
        "name": "NodeAffinity",
        "points": ["preFilter", "filter", "preScore", "score"],
        "source": "in-tree",
        "supported": True,
        "loadError": None,
    }
    assert known[missing]["supported"] is False
    lines = {line.split()[0]: line for line in call(capsys, "plugins").out.splitlines()}
    assert lines["NodeAffinity"].split()[-2:] == ["in-tree", "available"]
    assert lines[missing].split()[-1] == "unsupported"


def test_words_stay_in_one_piece_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_missing_plugin(monkeypatch)
    lines = call(capsys, "plugins", columns=80).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert {line.split()[-1] for line in lines if "in-tree" in line} == {"available", "unsupported"}
    assert "NodeResourcesBalancedAllocation " in "\n".join(lines)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        pytest.param("import no_such_module", "No module named 'no_such_module'", id="missing dependency"),
        pytest.param("", "has no attribute 'Broken'", id="missing class"),
        pytest.param("def", "invalid syntax", id="bad syntax"),
        pytest.param("raise RuntimeError('no licence')", "RuntimeError: no licence", id="raises"),
        pytest.param("class Broken: pass", "a factory is a plugin class", id="no plugin"),
    ],
)
def test_what_failed_to_load_is_told_with_its_package(
    code: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "broken-package", code, Broken="Broken")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_package", raising=False)
    entry = states(capsys)["Broken"]
    assert entry["source"] == "broken-package 1.2 (broken_package:Broken)"
    assert cause in str(entry["loadError"])
    shown = call(capsys, "plugins", columns=1000)
    assert shown.code == 0
    lines = [line.split() for line in shown.out.splitlines() if "Broken" in line]
    assert lines[0] == ["Broken", "broken-package", "1.2", "(broken_package:Broken)", "failed"]
    assert " ".join(lines[1]) == entry["loadError"]


def test_two_packages_with_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "first-package", "", Twice="A")
    install(tmp_path, "second-package", "", Twice="B")
    monkeypatch.syspath_prepend(tmp_path)
    result = call(capsys, "plugins")
    assert (result.code, result.out) == (1, "")
    assert "a plugin named Twice already exists" in result.err
    assert "first-package 1.2" in result.err
    assert "second-package 1.2" in result.err


def test_a_reference(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOORING_PLUGIN", f"{__name__}:Mine")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Mine.__module__])
    assert states(capsys)["Mine"]["source"] == f"{__name__}:Mine"


def test_a_plugin_of_the_embedding_program(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "plugins", options=[with_plugin("Mine", Mine)])
    assert result.code == 0
    line = next(line for line in result.out.splitlines() if line.startswith("Mine "))
    assert line.split() == ["Mine", "filter", "in", "code", "available"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment that sees this one's packages, so that nothing has to be downloaded."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    here = [path for path in sys.path if path.endswith("site-packages")]
    sources = [str(ROOT / folder) for folder in ("server", "adapters", "clients/python")]
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "parent.pth").write_text("\n".join([*here, *sources]) + "\n")
    return folder


@pytest.mark.parametrize(
    ("name", "folder", "module"),
    [
        pytest.param("Quiet", "quiet", "quiet", id="one word"),
        pytest.param("GpuAwareness", "gpu-awareness", "gpu_awareness", id="words"),
        pytest.param("HTTPLimits2", "http-limits2", "http_limits2", id="capitals and a number"),
    ],
)
def test_names_of_a_new_package(
    name: str, folder: str, module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(capsys, "plugins", "new", name, "--kind", "score", "--directory", tmp_path).code == 0
    project = tomllib.loads((tmp_path / folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["mooring.plugins"] == {name: f"{module}:{name}"}
    assert f"class {name}(" in (tmp_path / folder / module / "plugin.py").read_text()


@pytest.fixture
def packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[dict[str, Path]]:
    """Yield the folder of a new package of each kind, by its module; what is imported goes with the test."""
    for kind in KINDS:
        name = f"Gpu{kind.title()}"
        assert call(capsys, "plugins", "new", name, "--kind", kind, "--directory", tmp_path).code == 0
    yield {f"gpu_{kind}": tmp_path / f"gpu-{kind}" for kind in KINDS}
    for module in [name for name in sys.modules if name.startswith("gpu_")]:
        del sys.modules[module]


def run(*command: object, path: Sequence[Path] = (), cwd: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        list(map(str, command)), env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_new_package_of_each_kind_passes_its_test_and_the_check(
    packages: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = list(packages.values())
    tests = run(sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", *folders, path=folders)
    assert f"{len(KINDS)} passed" in tests
    monkeypatch.setattr(following, "NODES", 20)
    for module, folder in packages.items():
        name = module.title().replace("_", "")
        monkeypatch.syspath_prepend(folder)
        result = call(capsys, "plugins", "check", f"{module}:{name}")
        assert result.out.splitlines()[0] == f"{name}: no fault found"
        assert "not kept" not in result.out
        assert (
            call(capsys, "config", "check", folder / "config.yaml", "--plugin", f"{module}:{name}").code == 0
        )


@pytest.mark.packaging
def test_new_packages_install_and_are_clean(environment: Path, packages: dict[str, Path]) -> None:
    folders, there = list(packages.values()), environment / "bin" / "python"
    ruff = (sys.executable, "-m", "ruff")
    for folder in folders:
        run(*ruff, "check", "--isolated", "--select", "E,F,I,B,UP,SIM,ANN", *LINES, ".", cwd=folder)
        run(*ruff, "format", "--check", "--isolated", *LINES, ".", cwd=folder)
    mypy = (sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".cache" / "mypy")
    run(*mypy, *(folder / module for module, folder in packages.items()))
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        there,
        "install",
        "--quiet",
    )
    run(*pip, "--no-build-isolation", "--no-deps", *(each for folder in folders for each in ("-e", folder)))
    for folder in folders:
        assert "1 passed" in run(there, "-m", "pytest", "-q", folder)
        assert run(there, "-m", "mooring", "config", "check", folder / "config.yaml") == "ok\n"


@pytest.mark.parametrize(("typed", "kind"), [("counting\n", "counting"), ("\n", "filter"), (None, "filter")])
def test_the_kind_is_asked_for_on_a_terminal(
    typed: str | None,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = io.StringIO(typed or "")
    monkeypatch.setattr(terminal, "isatty", lambda: typed is not None)
    monkeypatch.setattr("sys.stdin", terminal)
    assert call(capsys, "plugins", "new", "Gpu", "--directory", tmp_path).code == 0
    code = (tmp_path / "gpu" / "gpu" / "plugin.py").read_text()
    assert code == Template(KINDS[kind].plugin).substitute(name="Gpu")


def test_a_folder_that_exists_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rack-affinity").mkdir()
    result = call(capsys, "plugins", "new", "RackAffinity", "--directory", tmp_path)
    assert result.code == 1
    assert f"{tmp_path / 'rack-affinity'} exists; choose another name or directory" in result.err
    assert list((tmp_path / "rack-affinity").iterdir()) == []
