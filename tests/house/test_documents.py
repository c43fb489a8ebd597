"""The code of README and docs runs as it stands, the plugin tutorial in an environment of its own."""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml

from mooring.cli.main import COMMANDS
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.plugin_check import following, playing
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.lookup.signature import Signer
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_pod
from mooring.testing.question import NoBinder
from tests.cli.commands import call, serving

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = {file.stem: file.read_text() for file in ROOT.glob("docs/*.md")}
FILES = dict(
    re.findall(
        r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$",
        "".join([README, *PAGES.values()]),
        re.DOTALL | re.MULTILINE,
    )
)
SAMPLE = ROOT / "server/mooring/cluster/sources/sample.yaml"
TUTORIAL = ["rack_affinity.py", "pyproject.toml", "config.yaml", "test_rack_affinity.py"]
CACHED = "cached_rack_affinity.py"
PURE = "pure_rack_affinity.py"
LEDGER = "licences.py"
MEASURED = "quiet_nodes.py"
RECIPES = [*re.findall(r"^<!-- file: (\S+\.py) -->$", PAGES["plugin-cookbook"], re.MULTILINE)]
RULES = [name for name in RECIPES if not name.startswith("test_")]
RECIPE_ARGS = {"power_price": "{prices: {url: http://prices.example/}}"}
MOORING = Path(sys.executable).with_name("mooring")
UV = Path(sys.executable).with_name("uv")
"""Not pip, which an environment need not have."""


def plain_environment() -> dict[str, str]:
    """Return the environment without COLUMNS, which is set where tests run in parallel."""
    return {name: value for name, value in os.environ.items() if name != "COLUMNS"}


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = plain_environment()
    environment |= {"PYTHONPATH": str(path)} if path else {}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tutorial's folder; the package is installed in its folder ``installed``."""
    folder = tmp_path_factory.mktemp("tutorial")
    for name in TUTORIAL:
        (folder / name).write_text(FILES[name])
    install = (UV, "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    done = run(*install, "--python", sys.executable, "--target", folder / "installed", ".", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_tutorial_tests_pass(tutorial: Path) -> None:
    done = run(sys.executable, "-m", "pytest", "-q", cwd=tutorial, path=tutorial / "installed")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_tutorial_plugin_is_listed(tutorial: Path) -> None:
    done = run(MOORING, "plugins", cwd=tutorial, path=tutorial / "installed")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "RackAffinity" in line)
    assert "rack-affinity" in line


@pytest.mark.slow
def test_the_tutorial_configuration_is_valid(tutorial: Path) -> None:
    done = run(MOORING, "config", "check", "config.yaml", cwd=tutorial, path=tutorial / "installed")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.slow
def test_the_recipes_pass_their_tests(tmp_path: Path) -> None:
    for name in RECIPES:
        (tmp_path / name).write_text(FILES[name])
    done = run(sys.executable, "-m", "pytest", "-q", cwd=tmp_path, path=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("file", RULES)
def test_the_check_finds_no_fault_in_a_recipe(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = file.removesuffix(".py")
    (name,) = re.findall(r"^class (\w+)\(.*(?:Plugin|Ledger)\[", FILES[file], re.MULTILINE)
    (tmp_path / file).write_text(FILES[file])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(following, "NODES", 20)
    monkeypatch.setattr(playing, "SEEDS", (1,))
    try:
        done = call(capsys, "plugins", "check", f"{module}:{name}", "--args", RECIPE_ARGS.get(module, "{}"))
    finally:
        sys.modules.pop(module, None)
    assert done.code == 0, done.out + done.err
    verdict, *found = done.out.splitlines()
    assert verdict == f"{name}: no fault found"
    assert "not kept" not in "".join(found)
    assert len(found) == (0 if "Ledger[" in FILES[file] else 3)


def started() -> Iterator[tuple[str, str]]:
    """Yield the commands of the first story, each with its output."""
    for block in re.findall(r"^```console\n(.*?)^```$", PAGES["start"], re.DOTALL | re.MULTILINE):
        command, _, output = block.removeprefix("$ ").partition("\n")
        yield command, output


@pytest.mark.parametrize(("command", "output"), [pytest.param(*case, id=case[0]) for case in started()])
def test_the_story_of_the_first_ten_minutes_is_true(
    command: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("cluster.yaml", "own-rack.yaml", "own_rack.py"):
        (tmp_path / name).write_text(FILES[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    done = call(capsys, *command.removeprefix("PYTHONPATH=. ").split()[1:])
    sys.modules.pop("own_rack", None)
    assert [line.rstrip() for line in done.out.splitlines()] == output.splitlines(), done.err


@pytest.mark.parametrize("file", ["scheduler.yaml", "binding.yaml"])
def test_the_extender_stanza_is_valid(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / file).write_text(FILES[file])
    done = call(capsys, "config", "check", "--strict", tmp_path / file)
    assert (done.code, done.out) == (0, "ok\n"), done.err


@pytest.mark.slow
def test_the_plugins_of_the_pages_are_typed(tmp_path: Path) -> None:
    files = ["rack_affinity.py", CACHED, PURE, LEDGER, MEASURED, "own_rack.py", *RECIPES]
    for name in files:
        (tmp_path / name).write_text(FILES[name])
    mypy = (sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".cache" / "mypy")
    done = run(*mypy, *files, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "plugin", "cached"),
    [
        pytest.param("rack_affinity", "RackAffinity", False, id="plain"),
        pytest.param("cached_rack_affinity", "CachedRackAffinity", True, id="cacheable"),
        pytest.param("pure_rack_affinity", "PureRackAffinity", True, id="pure"),
        pytest.param("licences", "Licences", True, id="ledger"),
    ],
)
def test_only_the_cacheable_plugins_of_the_tutorial_are_cached(
    module: str, plugin: str, cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("rack_affinity.py", CACHED, PURE, LEDGER):
        (tmp_path / name).write_text(FILES[name])
        # The test removes the module that is imported under this name.
        monkeypatch.setitem(sys.modules, name.removesuffix(".py"), sys)
        del sys.modules[name.removesuffix(".py")]
    monkeypatch.syspath_prepend(tmp_path)
    registry = new_in_tree_registry()
    registry.register(plugin, getattr(importlib.import_module(module), plugin))
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": {"enabled": [{"name": plugin}]}}}],
    }
    configuration = from_document(document, registry.catalog())
    profile = build_engine(configuration, registry, State(), NoBinder()).profile()
    assert (Signer().sign(make_pod(), profile) is not None) is cached


@pytest.mark.slow
@pytest.mark.parametrize("installed", [False, True], ids=["not installed", "installed"])
def test_a_program_brings_its_plugin_along(installed: bool, tutorial: Path, tmp_path: Path) -> None:
    for name in ("my_mooring.py", "rack_affinity.py"):
        (tmp_path / name).write_text(FILES[name])
    path = tutorial / "installed" if installed else None
    done = run(sys.executable, "my_mooring.py", "plugins", cwd=tmp_path, path=path)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "RackAffinity" in line)
    assert line.split() == ["RackAffinity", "score", "in", "code", "available"]


def test_the_decision_shown_is_the_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    shown = README[README.index("pod default/web-3") : README.index("\n...\nmooring ready:")]
    done = call(capsys, "explain", "web-3", "--by", "node", "--manifests", SAMPLE)
    assert [line.rstrip() for line in done.out.splitlines()][: shown.count("\n") + 1] == shown.split("\n")


def shell_lines(text: str) -> list[str]:
    """Return the commands of the console blocks in ``text``, without their comments."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^\$ (.*?)(?: +#.*)?$", "".join(blocks), re.MULTILINE)


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with mooring's dependencies, without mooring, pytest and its plugins."""
    folder = tmp_path_factory.mktemp("dependencies")
    for entry in Path(pytest.__file__).parents[1].iterdir():
        if not any(name in entry.name for name in ("hypothesis", "mooring", "pytest")):
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.mark.packaging
def test_the_commands_work_in_an_environment_of_ones_own(dependencies: Path, tmp_path: Path) -> None:
    for name in TUTORIAL:
        (tmp_path / name).write_text(FILES[name])
    set_up = [line for line in shell_lines(README) if not line.startswith(("make ", ". .venv"))]
    tutorial = [
        line for line in shell_lines(PAGES["writing-a-plugin"]) if not line.startswith("mooring serve")
    ]
    assert set_up
    assert tutorial
    script = ["set -e", f"cd {ROOT}", *set_up, f"cd {tmp_path}", *tutorial]
    own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        env={**plain_environment(), **own, "PYTHONPATH": str(dependencies), "PIP_QUIET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert re.search(r"^RackAffinity +score +rack-affinity 0\.1\.0 ", done.stdout, re.MULTILINE)


def test_the_generators_are_pinned_or_told() -> None:
    """Each is fetched in the Go client's version, or stands in the clients' table."""
    go = yaml.safe_load((ROOT / "buf.gen.yaml").read_text())["plugins"]
    java = yaml.safe_load((ROOT / "buf.gen.java.yaml").read_text())["plugins"]
    pinned = (ROOT / "clients/go/go.mod").read_text()
    fetched = [plugin["local"] for plugin in go]
    assert [command[0] for command in fetched] == ["go", "go", "npx"]
    for command in fetched[:2]:
        module, _, version = command[2].partition("@")
        assert any(f"{name} {version}" in pinned for name in (module, module.partition("/cmd/")[0]))
    assert re.search(r"@\d+\.\d+\.\d+$", fetched[2][2])
    assert [plugin.get("local", "protoc") for plugin in java] == ["protoc", "protoc-gen-grpc-java"]
    assert "| protoc 35.1, protoc-gen-grpc-java 1.80 |" in PAGES["clients"]


def commands() -> Iterator[str]:
    """Yield the commands and flags of the tables."""
    for first in re.findall(r"^\| (`.*?`) \|", PAGES["commands"], re.MULTILINE):
        yield from re.findall(r"`(.*?)`", first)


def test_the_commands_and_flags_exist(capsys: pytest.CaptureFixture[str]) -> None:
    names = [*COMMANDS, "completion", "version"]
    questions = [f"what-if {question}" for question in ("capacity", "removal", "node-groups")]
    helps = {name: call(capsys, *name.split(), "--help").out for name in (*names, *questions)}
    for text in commands():
        words = text.split()
        if words[0] == "mooring" and not words[1].startswith("-"):
            assert helps[words[1]].startswith(f"usage: mooring {words[1]}"), text
        flags = [word.partition("=")[0] for word in words if word.startswith("-") and word != "--version"]
        assert [flag for flag in flags if not any(flag in shown for shown in helps.values())] == []


def test_the_second_schedulers_configuration_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "second-scheduler.yaml"
    file.write_text(FILES[file.name])
    done = call(capsys, "config", "check", file)
    assert done.code == 0, done.err


@pytest.fixture
def server() -> Iterator[str]:
    """Yield the address of a server on the embedded sample cluster."""
    with serving() as started:
        yield started.address("grpc")


def printed(name: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the output of a script of the documents."""
    capsys.readouterr()
    with patch.object(sys, "argv", [name, *arguments]):
        exec(compile(FILES[name], name, "exec"), {"__name__": "__main__"})
    return capsys.readouterr().out


def test_the_client_is_told_a_node(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"[a-z0-9.-]+\n", printed("client.py", capsys, server))


@pytest.mark.parametrize("name", ["ten_lines.py", "ten_minutes.py"])
def test_a_first_client_places_two_pods(name: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"web-1 worker-\w+\nweb-2 worker-\w+\n", printed(name, capsys, server))


def test_a_batch_is_placed(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split()[0] for line in printed("batch.py", capsys, server).splitlines()] == [
        f"web-{number}" for number in range(100)
    ]


def test_a_group_is_placed_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gang.yaml").write_text(FILES["gang.yaml"])
    (command,) = (line for line in shell_lines(PAGES["clients"]) if line.startswith("mooring schedule"))
    done = call(capsys, *command.split()[1:])
    assert (done.code, done.err) == (0, "")
    nodes = [line.split()[1] for line in done.out.splitlines() if line.startswith("default/worker")]
    assert sorted(nodes) == ["b1", "b2"]
    gates = command.split()[-2:]
    with serving("--source", "files:gang.yaml", *gates) as started:
        answered = printed("groups.py", capsys, started.address("grpc"))
    assert [line.split()[0] for line in answered.splitlines()] == ["a", "b", "worker-0", "worker-1"]


def test_the_session_of_the_page_places_a_pod_twice(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, _, second = printed("session.py", capsys, server).strip().partition(", and without it ")
    assert first
    assert second not in ("", first)


def test_every_marked_file_is_used() -> None:
    assert sorted(FILES) == sorted(
        [
            *TUTORIAL,
            *RECIPES,
            CACHED,
            PURE,
            LEDGER,
            MEASURED,
            "batch.py",
            "binding.yaml",
            "client.py",
            "cluster.yaml",
            "gang.yaml",
            "groups.py",
            "my_mooring.py",
            "own-rack.yaml",
            "own_rack.py",
            "scheduler.yaml",
            "second-scheduler.yaml",
            "session.py",
            "ten_lines.py",
            "ten_minutes.py",
        ]
    )
