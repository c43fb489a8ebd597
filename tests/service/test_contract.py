"""Promises of the .proto files to clients in every language: names, idempotency, and the service config."""

import hashlib
import importlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodOptions,
)

from mooring.framework.errors import UnavailableError
from mooring.service.plugins import CONTRACT_REVISION, IMPLEMENTED
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import cluster_service_pb2_grpc
from tests.service.backends import Direct
from tests.service.harness import LONG, failed, running

PROTOS = Path(__file__).parents[2] / "protos"
PUBLIC = ("mooring/plugin_host/v1", "mooring/recording/v1", "mooring/v1")

BASELINE = {"ce5e883533b9b96b": 2}
"""The digest of protos/mooring.binpb and its revision."""

OF_LIBRARIES = {"Channel", "Code", "Context", "Metadata", "Request", "Response", "Server", "Status"}
"""Names of classes that gRPC's own libraries have in Go, Java, Rust, TypeScript and C#."""


def declared(text: str) -> set[str]:
    return set(re.findall(r"^\s*(?:message|enum|service) (\w+)", text, re.MULTILINE))


def test_protos_holds_the_public_packages_alone() -> None:
    """A user points a generator at the folder as a whole."""
    assert {str(file.parent.relative_to(PROTOS)) for file in PROTOS.rglob("*.proto")} == set(PUBLIC)


@pytest.mark.parametrize("package", PUBLIC)
def test_no_file_has_the_name_of_a_message_in_java(package: str) -> None:
    """Java makes a class of each file, next to those of the messages of all other files."""
    files = sorted((PROTOS / package).glob("*.proto"))
    for file in files:
        outer = "".join(part.capitalize() for part in file.stem.split("_"))
        assert outer not in set().union(*(declared(each.read_text()) for each in files if each != file))


def test_no_message_has_the_name_of_a_class_of_grpc_libraries() -> None:
    found = {name for file in PROTOS.rglob("*.proto") for name in declared(file.read_text())}
    assert "Verdict" in found
    assert not found & OF_LIBRARIES


def digest_of(files: Iterable[FileDescriptorProto]) -> str:
    """Return a digest of the files without comments and what buf adds."""
    made = hashlib.sha256()
    for file in sorted(files, key=lambda each: each.name):
        plain = FileDescriptorProto.FromString(file.SerializeToString())
        plain.ClearField("source_code_info")
        plain.DiscardUnknownFields()
        _without_json_names(plain.message_type)
        made.update(plain.SerializeToString(deterministic=True))
    return made.hexdigest()[:16]


def _without_json_names(messages: Iterable[DescriptorProto]) -> None:
    for message in messages:
        for field in message.field:
            field.ClearField("json_name")
        _without_json_names(message.nested_type)


def test_a_change_of_the_contract_raises_its_revision() -> None:
    """Without a change the revision is that of the baseline, with one it is higher."""
    known = FileDescriptorSet.FromString((PROTOS / "mooring.binpb").read_bytes()).file
    baseline = digest_of(file for file in known if file.package == "mooring.v1")
    assert baseline in BASELINE, f"the baseline is another one: state {baseline} and CONTRACT_REVISION"
    present = []
    for file in sorted((PROTOS / "mooring/v1").glob("*.proto")):
        module = importlib.import_module(f"mooring_client.v1.{file.stem}_pb2")
        present.append(FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb))
    changed = digest_of(present) != baseline
    assert BASELINE[baseline] + changed == CONTRACT_REVISION, "protos/mooring/v1 has changed: raise it by one"


def levels() -> Iterator[tuple[str, int]]:
    """Yield each call with its idempotency level."""
    for service in Direct.DESCRIPTORS.values():
        for method in service.methods:
            assert method.GetOptions().HasField("idempotency_level"), method.full_name
            yield f"{service.full_name}/{method.name}", method.GetOptions().idempotency_level


def test_the_service_config_repeats_each_idempotent_call_and_no_other() -> None:
    config = json.loads((PROTOS / "mooring/v1/service_config.json").read_text())
    (repeated,) = config["methodConfig"]
    named = {f"{each['service']}/{each['method']}" for each in repeated["name"]}
    assert named == {name for name, level in levels() if level != MethodOptions.IDEMPOTENCY_UNKNOWN}
    assert named <= set(IMPLEMENTED)
    assert set(IMPLEMENTED) - named == {
        f"mooring.v1.SimulationService/{name}"
        for name in ("OpenSession", "ChangeSession", "MarkSession", "RevertSession", "CommitSession")
    }


@pytest.mark.parametrize(
    ("failures", "answered"), [pytest.param(2, True, id="twice"), pytest.param(9, False, id="for ever")]
)
def test_a_grpc_library_takes_the_service_config(failures: int, answered: bool) -> None:
    calls = []

    def answer(_: Any) -> cluster_pb.GetClusterInfoResponse:
        calls.append(1)
        if len(calls) <= failures:
            raise UnavailableError("not yet", reason="NOT_SYNCED")
        return cluster_pb.GetClusterInfoResponse(synced=True)

    options = (("grpc.service_config", (PROTOS / "mooring/v1/service_config.json").read_text()),)
    with running(answer) as mooring, grpc.insecure_channel(mooring.server.address, options) as channel:
        stub = cluster_service_pb2_grpc.ClusterServiceStub(channel)
        if answered:
            assert stub.GetClusterInfo(cluster_pb.GetClusterInfoRequest(), timeout=LONG).synced
        else:
            failure = failed(lambda: stub.GetClusterInfo(cluster_pb.GetClusterInfoRequest(), timeout=LONG))
            assert failure.info.reason == "NOT_SYNCED"
        assert len(calls) == (failures + 1 if answered else 4)
