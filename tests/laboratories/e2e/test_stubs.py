"""Stubs of protos/ as a whole generate without an option in the languages that protoc knows by itself."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tests.process import environment

from .build import CACHE, ROOT

pytestmark = pytest.mark.e2e

PROTOC = "com.google.protobuf:protoc:4.35.1:exe:linux-x86_64"
PROTOS = ROOT / "protos"


@pytest.fixture(scope="session", autouse=True)
def binaries() -> None:
    """None of the programs that other tests need."""


@pytest.fixture(scope="module")
def protoc() -> Path:
    """Return the protoc of Maven's repository, whose generators grpc_tools' own lacks."""
    name, version, kind, system = PROTOC.split(":")[1:]
    program = CACHE / f"{name}-{version}-{system}.{kind}"
    if not program.exists():
        maven = shutil.which("mvn")
        assert maven is not None, "protoc comes from Maven's repository, which needs mvn"
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        command = [maven, "-q", "-B", copy, f"-Dartifact={PROTOC}", f"-DoutputDirectory={CACHE}"]
        subprocess.run(command, cwd=CACHE, env=environment(), check=True)
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("language", "suffix"),
    [
        ("cpp", ".cc"),
        ("csharp", ".cs"),
        ("java", ".java"),
        ("kotlin", ".kt"),
        ("objc", ".m"),
        ("php", ".php"),
        ("ruby", ".rb"),
    ],
)
def test_the_whole_folder_generates(language: str, suffix: str, protoc: Path, tmp_path: Path) -> None:
    sources = sorted(map(str, PROTOS.rglob("*.proto")))
    well_known = files("grpc_tools") / "_proto"
    command = [str(protoc), f"-I{PROTOS}", f"-I{well_known}", f"--{language}_out={tmp_path}", *sources]
    subprocess.run(command, check=True)
    assert len(list(tmp_path.rglob(f"*{suffix}"))) >= len(sources) - 1
