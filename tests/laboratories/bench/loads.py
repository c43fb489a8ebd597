"""The calls of deploy/load: ghz's requests, and the answers of a server that does nothing."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory

from mooring_client.v1 import scheduling_service_pb2 as _pb  # noqa: F401 - its services are in the pool
from tests.laboratories.bench.cluster import node_name
from tests.laboratories.bench.processes import started
from tests.laboratories.e2e.build import ROOT

LOAD = ROOT / "deploy" / "load"

_SAMPLE_NODE = "worker-a1"


def text_of(name: str) -> str:
    """Return a configuration of deploy/load, about a node of the benchmarks instead of one of the sample."""
    return (LOAD / f"{name}.json").read_text(encoding="utf-8").replace(_SAMPLE_NODE, node_name(0))


@dataclass(frozen=True, slots=True)
class Load:
    """A call that is sent again and again.

    Attributes:
        method: The path of its RPC.
        request: Its message, with ghz's template, such as a UID for each call, as it is written.
    """

    method: str
    request: bytes

    @classmethod
    def of(cls, name: str) -> Load:
        """Return that of a configuration."""
        config = json.loads(text_of(name))
        service, _, method = config["call"].partition("/")
        sent = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method].input_type
        message = json_format.ParseDict(config["data"], message_factory.GetMessageClass(sent)())
        return cls(f"/{config['call']}", message.SerializeToString())

    def answer(self, channel: grpc.Channel) -> bytes:
        """Return the server's answer to it."""
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(self.method, bytes, bytes)
        return call(self.request, timeout=20)


def start_null_server(running: ExitStack, answer: bytes) -> str:
    """Return a server that gives this answer to every call, and does nothing else; its address."""
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="mooring-bench-")))
    (folder / "answer").write_bytes(answer)
    line = running.enter_context(started("tests.laboratories.bench.null_server", str(folder / "answer")))
    return line.partition("grpc=")[2].strip()
