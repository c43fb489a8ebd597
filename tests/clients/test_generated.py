"""One call by stubs that are generated without an option, in languages without a client of ours."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import grpc
import pytest

from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2 import PodTemplate, ScheduleRequest
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import BIN, program, serving
from tests.process import run

ROOT = Path(__file__).parents[2]
PROTOS = ROOT / "protos"
PROGRAMS = ROOT / "clients" / "generated"
UNSAFE = Path(__file__).with_name("mono_unsafe.cs")
CACHE = ROOT / ".cache" / "generated-clients"
PACKAGES = (
    "apt-get install protobuf-compiler-grpc libprotobuf-dev libgrpc++-dev pkg-config ruby-grpc mono-mcs"
    " php-cli php-curl php-google-protobuf"
)
"""Debian's packages for all programs but the one in Kotlin, which needs Java and Maven."""

POD = b'{"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}}'
"""The pod of all programs."""


def stubs(language: str, *programs: Path, services: bool = True) -> Path:
    """Return a folder with the stubs of a language, which is kept until they or the programs change."""
    sources = sorted((PROTOS / "mooring" / "v1").glob("*.proto"))
    digest = sha256(b"".join(source.read_bytes() for source in (*sources, *programs)))
    folder = CACHE / f"{language}-{digest.hexdigest()[:16]}"
    if folder.exists():
        return folder
    assert shutil.which("protoc"), f"protoc is missing: {PACKAGES}"
    made = folder.with_suffix(".new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    outputs = [f"--{language}_out={made}"]
    if services:
        plugin = shutil.which(f"grpc_{language}_plugin")
        outputs += [f"--grpc_out={made}", f"--plugin=protoc-gen-grpc={plugin}"]
    run("protoc", f"-I{PROTOS}", *outputs, *sources)
    made.rename(folder)
    return folder


def cpp() -> list[str]:
    """Return the command of the program in C++, built from the messages that its call needs."""
    source = PROGRAMS / "schedule.cc"
    folder = stubs("cpp", source)
    binary = folder / "schedule"
    if not binary.exists():
        names = ("errors", "findings", "nodes", "objects", "scheduling_service", "verdicts")
        files = [folder / "mooring/v1" / f"{name}.pb.cc" for name in names]
        files.append(folder / "mooring/v1/scheduling_service.grpc.pb.cc")
        flags = run("pkg-config", "--cflags", "--libs", "grpc++", "protobuf").split()
        run("g++", "-std=c++17", "-O0", f"-I{folder}", source, *files, "-o", binary, *flags)
    return [str(binary)]


def csharp() -> list[str]:
    """Return the command of the program in C#, compiled by mono with all messages.

    Debian has no generator of services for C#.
    """
    source = PROGRAMS / "Schedule.cs"
    folder = stubs("csharp", source, UNSAFE, services=False)
    binary = folder / "Schedule.exe"
    if not binary.exists():
        library = google_protobuf(folder)
        run("mcs", "-langversion:7.2", f"-r:{library}", f"-out:{binary}", source, *folder.glob("*.cs"))
    return ["mono", str(binary)]


def google_protobuf(folder: Path) -> Path:
    """Build Google.Protobuf, which only NuGet has built, from the source of Debian's protoc."""
    apt = folder / "apt"
    (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    packages = Path("/etc/apt/sources.list.d/debian.sources").read_text()
    (apt / "debian.sources").write_text(re.sub("(?m)^Types: deb$", "Types: deb-src", packages))
    places = {"Etc::sourcelist": "/dev/null", "Etc::sourceparts": apt, "State::lists": apt / "lists"}
    options = [f"-oDir::{name}={place}" for name, place in places.items()]
    run("apt-get", *options, "update")
    run("apt-get", *options, "source", "--download-only", "protobuf", directory=apt)
    (archive,) = apt.glob("*.orig.tar.gz")
    part = "*/csharp/src/Google.Protobuf"
    run("tar", f"--directory={apt}", "-xzf", archive, "--strip-components=4", "--wildcards", part)
    library = folder / "Google.Protobuf.dll"
    sources = (UNSAFE, apt / "Reflection" / "Descriptor.cs", f"-recurse:{apt}/*.cs")
    run("mcs", "-target:library", "-unsafe", "-langversion:7.2", "-nowarn:436", f"-out:{library}", *sources)
    shutil.rmtree(apt)
    return library


def kotlin() -> list[str]:
    """Return the command of the program in Kotlin, which Maven generates and builds."""
    folder = PROGRAMS / "kotlin"
    run("mvn", "--batch-mode", "--quiet", "process-classes", directory=folder)
    target = folder / "target"
    libraries = (target / "classpath").read_text()
    return ["java", "-cp", f"{target / 'classes'}:{libraries}", "ScheduleKt"]


def php() -> list[str]:
    """Return the command of the program in PHP."""
    return ["php", str(PROGRAMS / "schedule.php"), str(stubs("php"))]


def ruby() -> list[str]:
    """Return the command of the program in Ruby."""
    return ["ruby", f"-I{stubs('ruby')}", str(PROGRAMS / "schedule.rb")]


def node_of_the_pod(server: str) -> str:
    """Return what the stubs in Python answer."""
    pod = PodSource(object=KubernetesObject(json=POD))
    with grpc.insecure_channel(server) as channel:
        request = ScheduleRequest(templates=[PodTemplate(pod=pod)])
        return SchedulingServiceStub(channel).Schedule(request, timeout=20).nodes.names.names[0]


def check(*command: str, node: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"{node}\n", 0), done.stderr


@pytest.mark.clients
@pytest.mark.parametrize(
    "command",
    [
        cpp,
        # In one process with the client in Java: two Mavens would write to one local repository.
        pytest.param(kotlin, marks=pytest.mark.xdist_group("java")),
        php,
        ruby,
    ],
)
def test_one_call(command: Callable[[], list[str]]) -> None:
    words = command()
    with serving() as started:
        server = started.address("grpc")
        check(*words, server, node=node_of_the_pod(server))


@pytest.mark.clients
def test_one_call_of_the_gateway(tmp_path: Path) -> None:
    words = csharp()
    with serving() as started:
        server = started.address("grpc")
        page = (BIN / "mooring", "web", "--server", server, "--listen", "127.0.0.1:0")
        with program(tmp_path, *page) as web:
            check(*words, web.ready.split()[2].rstrip("/"), node=node_of_the_pod(server))
