"""One call by the stubs that gRPC's own generators make of protos/, in languages without a client of ours."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from mooring.service.plugins import CONTRACT_REVISION
from tests.cli.commands import serving
from tests.process import run

ROOT = Path(__file__).parents[2]
PROTOS = ROOT / "protos"
CACHE = ROOT / ".cache" / "generated-clients"
PACKAGES = "apt-get install protobuf-compiler-grpc libgrpc++-dev pkg-config ruby-grpc"

RUBY = """
require "mooring/v1/plugin_service_services_pb"

stub = Mooring::V1::PluginService::Stub.new(ARGV[0], :this_channel_is_insecure)
puts stub.get_capabilities(Mooring::V1::GetCapabilitiesRequest.new, deadline: Time.now + 20).contract_revision
"""

CPP = """
#include <iostream>

#include <grpcpp/grpcpp.h>

#include "mooring/v1/plugin_service.grpc.pb.h"

int main(int, char** arguments) {
  auto channel = grpc::CreateChannel(arguments[1], grpc::InsecureChannelCredentials());
  auto stub = mooring::v1::PluginService::NewStub(channel);
  grpc::ClientContext context;
  mooring::v1::GetCapabilitiesResponse answer;
  auto status = stub->GetCapabilities(&context, mooring::v1::GetCapabilitiesRequest(), &answer);
  std::cout << answer.contract_revision() << std::endl;
  std::cerr << status.error_message();
  return status.ok() ? 0 : 1;
}
"""


def generated(language: str, program: str) -> Path:
    """Return a folder with the stubs and the program, which is kept until one of them changes."""
    sources = sorted((PROTOS / "mooring" / "v1").glob("*.proto"))
    digest = sha256(b"".join([program.encode(), *(source.read_bytes() for source in sources)])).hexdigest()
    folder = CACHE / f"{language}-{digest[:16]}"
    if folder.exists():
        return folder
    plugin = shutil.which(f"grpc_{language}_plugin")
    assert plugin, f"the generator of {language} is missing: {PACKAGES}"
    made = folder.with_suffix(".new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    outputs = (f"--{language}_out={made}", f"--grpc_out={made}", f"--plugin=protoc-gen-grpc={plugin}")
    run("protoc", f"-I{PROTOS}", *outputs, *sources)
    (made / "program").write_text(program)
    made.rename(folder)
    return folder


def ruby() -> list[str]:
    """Return the command of the program in Ruby."""
    folder = generated("ruby", RUBY)
    return ["ruby", f"-I{folder}", str(folder / "program")]


def cpp() -> list[str]:
    """Return the command of the program in C++, built from the messages that its call needs."""
    folder = generated("cpp", CPP)
    binary = folder / "built"
    if not binary.exists():
        names = ("errors", "findings", "nodes", "objects", "plugin_service", "scheduling_service", "verdicts")
        messages = [folder / "mooring/v1" / f"{name}.pb.cc" for name in names]
        flags = run("pkg-config", "--cflags", "--libs", "grpc++", "protobuf").split()
        stubs = folder / "mooring/v1/plugin_service.grpc.pb.cc"
        run(
            "g++",
            "-std=c++17",
            "-O0",
            f"-I{folder}",
            "-x",
            "c++",
            folder / "program",
            stubs,
            *messages,
            "-x",
            "none",
            "-o",
            binary,
            *flags,
        )
    return [str(binary)]


@pytest.mark.clients
@pytest.mark.parametrize("command", [ruby, cpp])
def test_one_call(command: Callable[[], list[str]]) -> None:
    program = command()
    with serving() as started:
        done = subprocess.run(
            [*program, started.address("grpc")], capture_output=True, text=True, check=False
        )
    assert (done.stdout, done.returncode) == (f"{CONTRACT_REVISION}\n", 0), done.stderr
