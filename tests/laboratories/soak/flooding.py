"""Rows F: streams, frames and connections that no honest client would send."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration

from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import cluster_service_pb2_grpc as pb_grpc
from mooring_client.v1 import simulation_service_pb2 as simulation_pb
from mooring_client.v1 import simulation_service_pb2_grpc as simulation_grpc
from tests.laboratories.soak.attacked import MIB, unharmed
from tests.laboratories.soak.floods import flood
from tests.laboratories.soak.rounds import Round, Row, at_once
from tests.service import frames
from tests.service.wire import field

METHODS = (
    "/mooring.v1.SchedulingService/Schedule",
    "/mooring.v1.SchedulingService/Filter",
    "/mooring.v1.ClusterService/GetClusterInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
)
GROWTH = 256 * MIB
"""Memory of gRPC's core for streams that wait or were reset, and for long heads, is out of our hands."""


def thread_starvation(round_: Round) -> None:
    """Streams with a head, perhaps half a body, and no end; each that is ended is opened again."""
    dice = round_.dice
    with unharmed(round_, growth=GROWTH) as target:
        for _ in range(round_.some(2, 4)):
            connections, streams = round_.some(5, 20), dice.randrange(50, 200)
            body = dice.choice((b"", b"\0\0\0\1\0ab"))
            with frames.Insistent(target.address, dice.choice(METHODS), connections, streams, body) as held:
                time.sleep(dice.uniform(0.5, 3.0))
                round_.inputs += connections * streams + held.ended


def grpc_gzip_bomb(round_: Round) -> None:
    """Send messages of some kB that become many MB: two at a time, each with 64 MiB that malloc keeps."""
    with unharmed(round_, growth=2 * 64 * MIB + 32 * MIB) as target:
        sizes = [round_.dice.randrange(80, 512) * MIB for _ in range(round_.some(4, 12))]

        def ask(size: int) -> grpc.StatusCode:
            unknown_field = field(15, bytes(size))
            options = [("grpc.max_send_message_length", -1)]
            with grpc.insecure_channel(target.address, options, grpc.Compression.Gzip) as channel:
                call: Any = channel.unary_unary(METHODS[0], request_serializer=bytes)
                code: grpc.StatusCode = call.future(unknown_field, timeout=60).code()
                return code

        codes = at_once(2, ask, sizes)
        assert {*codes} <= {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED}, codes
        round_.inputs += len(sizes)


def flooded(*names: str) -> Callable[[Round], None]:
    """Return a row of floods, one after the other; each is as much as two connections can send."""

    def play(round_: Round) -> None:
        with unharmed(round_, growth=GROWTH, slower=20.0) as target:
            for name in round_.dice.sample(names, round_.some(len(names), len(names))):
                with flood(name, target.address, METHODS[2]):
                    time.sleep(round_.dice.uniform(0.5, 1.5))
                round_.inputs += 1

    return play


def header_fuzz(round_: Round) -> None:
    """Heads of 14 kB and more, names that gRPC does not know, and blocks that no table can decode."""
    dice = round_.dice

    def head() -> bytes:
        if dice.random() < 0.3:
            return dice.randbytes(dice.randrange(1, 200))
        name = dice.choice((b"x-pad", b"x-bin", b"grpc-timeout", b"grpc-encoding", b"te", b":path"))
        value = dice.choice((b"!" * 120, dice.randbytes(60), b""))
        field = b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value
        return frames.headers(dice.choice(METHODS)) + field * dice.choice((1, 10, 100))

    with unharmed(round_, growth=GROWTH) as target:
        for _ in range(round_.some(30, 60)):
            with frames.connect(target.address) as one:
                for stream in range(1, 41, 2):
                    try:
                        one.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, stream, head()[:16384]))
                    except OSError:
                        break
                    round_.inputs += 1


def connection_flood(round_: Round) -> None:
    """Open connections that send nothing; when they are gone, all is well again."""
    with unharmed(round_, growth=GROWTH) as target, ExitStack() as open_:
        host, _, port = target.address.rpartition(":")
        count = round_.some(300, 600)
        for _ in range(count):
            open_.enter_context(socket.create_connection((host, int(port)), timeout=30))
        round_.inputs += count
        time.sleep(1.0)


def deadline_and_cancel(round_: Round) -> None:
    """Make calls that are over before they begin, and calls whose client has left."""
    dice = round_.dice
    with unharmed(round_) as target, grpc.insecure_channel(target.address) as channel:
        stub = pb_grpc.ClusterServiceStub(channel)
        for _ in range(round_.some(300, 600)):
            timeout = dice.choice((0.0001, 0.001, 10.0))
            call = stub.GetClusterInfo.future(pb.GetClusterInfoRequest(), timeout=timeout)
            if dice.random() < 0.8:
                call.cancel()
            round_.inputs += 1
        assert stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=60).synced


def sessions_taken(round_: Round) -> None:
    """Clients open as many sessions as they may, some with configurations; others still get theirs."""
    dice = round_.dice
    with unharmed(round_) as target:

        def take(_: int) -> None:
            options = [("grpc.use_local_subchannel_pool", 1)]
            with grpc.insecure_channel(target.address, options) as channel:
                stub = simulation_grpc.SimulationServiceStub(channel)
                for _ in range(round_.some(20, 60)):
                    text = configuration(dice.choice((1, 17, 500, 2_000))) if dice.random() < 0.2 else ""
                    request = simulation_pb.OpenSessionRequest(lease=LEASE, configuration=text)
                    calls = [stub.OpenSession.future(request, timeout=30) for _ in range(3 if text else 90)]
                    codes = {call.code() for call in calls}
                    assert codes <= TOLD, codes
                    round_.inputs += len(calls)

        at_once(3, take, range(3))
        with grpc.insecure_channel(target.address) as channel:
            stub = simulation_grpc.SimulationServiceStub(channel)
            stub.PlanRemoval(simulation_pb.PlanRemovalRequest(nodes=["worker-a1"]), timeout=60)
            opened = stub.OpenSession(simulation_pb.OpenSessionRequest(), timeout=60).session.id
            stub.CloseSession(simulation_pb.CloseSessionRequest(session=opened), timeout=60)


LEASE = Duration(seconds=5)

TOLD = {
    grpc.StatusCode.OK,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
"""Possible results of a call to open a session among many others."""


def configuration(profiles: int) -> str:
    """Return a configuration with ``profiles`` profiles."""
    named = "".join(f"- schedulerName: s{at}\n" for at in range(profiles))
    kind = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    return f"{kind}profiles:\n{named}"


ROWS = (
    Row("F1", "thread_starvation", thread_starvation),
    Row("F2", "grpc_gzip_bomb", grpc_gzip_bomb),
    Row(
        "F3",
        "rapid_reset",
        flooded(
            "streams that are reset", "streams that the server has to reset", "answers that have no window"
        ),
    ),
    Row(
        "F4",
        "h2_frame_floods",
        flooded("settings", "pings", "priorities", "window updates", "empty data", "continuations"),
    ),
    Row("F5", "header_fuzz", header_fuzz),
    Row("F", "long_heads", flooded("heads of 14 kB")),
    Row("F6", "connection_flood", connection_flood),
    Row("F9", "deadline_and_cancel", deadline_and_cancel),
    Row("F10", "sessions_taken", sessions_taken),
)
