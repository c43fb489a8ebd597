"""Requests of strangers and tenants take neither server nor adapter over 512 MiB, next to a good client."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.testing.builders import make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.cli.commands import ANY_PORT, LISTENERS, Started, fetch, program
from tests.service.backends import sent
from tests.service.wire import field

pytestmark = pytest.mark.e2e

CONTAINER_BYTES = 512 << 20
PATIENCE = 60.0
SERVICE = "/mooring.v1.SchedulingService"
EMPTIES = b"\x0a\x00" * (31 << 20)
POD = b'{"metadata":{"name":"x","namespace":"d","uid":"u"},"spec":{"containers":[{"name":"c"}]}}'

# The limit is that of a container; this test does not run in one.
IN_CONTAINER = """
import sys
from pathlib import Path
from mooring.framework import memory
memory._LIMIT_FILES = (Path(sys.argv[1]),)
del sys.argv[1]
"""


SENT_POD = field(1, field(1, field(1, POD)))


def in_container(folder: Path, run: str, *arguments: object) -> Any:
    limit = folder / "memory.max"
    limit.write_text(f"{CONTAINER_BYTES}\n")
    return program(folder, sys.executable, "-c", IN_CONTAINER + run, limit, *arguments)


@contextmanager
def server(folder: Path) -> Iterator[Started]:
    run = "from mooring.cli import main\nsys.exit(main())"
    listeners = [word for name in LISTENERS for word in (f"--{name}", ANY_PORT)]
    with in_container(
        folder, run, "serve", "--drain-delay", "0", "--source", "sample", *listeners
    ) as started:
        yield started


@contextmanager
def adapter(folder: Path, of: Started) -> Iterator[Started]:
    run = "from mooring_extender.cli import main\nsys.exit(main())"
    arguments = ("--listen", ANY_PORT, "--server", of.address("grpc"), "--drain-delay", "0")
    (folder / "adapter").mkdir()
    with in_container(folder / "adapter", run, *arguments) as started:
        yield started


class Good:
    """A client that asks about a small pod repeatedly, in parallel with the others."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._ended = threading.Event()
        self.seconds: list[float] = []
        self.failures: list[str] = []

    @contextmanager
    def asking(self) -> Iterator[None]:
        thread = threading.Thread(target=self._go_on)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _go_on(self) -> None:
        while not self._ended.wait(0.02):
            began = time.perf_counter()
            try:
                self._ask()
            except Exception as error:  # noqa: BLE001 - whatever it is, the good client was not answered
                self.failures.append(repr(error))
            self.seconds.append(time.perf_counter() - began)


def over_grpc(address: str) -> Callable[[], object]:
    stub: Callable[..., bytes] = grpc.insecure_channel(address).unary_unary(f"{SERVICE}/Schedule")
    body = pb.ScheduleRequest(templates=[pb.PodTemplate(pod=sent(make_pod()))]).SerializeToString()
    return lambda: stub(body, timeout=PATIENCE)


def over_http(url: str) -> Callable[[], object]:
    names = ",".join(f'"node-{number}"' for number in range(1, 7))
    body = b'{"Pod":%s,"Nodes":null,"NodeNames":[%s]}' % (POD, names.encode())

    def ask() -> None:
        assert fetch(f"{url}/filter", body)[0] == 200

    return ask


def calls(address: str, method: str, bodies: Iterable[bytes], *, compressed: bool, at_once: int) -> None:
    """Call a method with each of the bodies, without reading the answers."""
    compression = grpc.Compression.Gzip if compressed else None
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with (
        grpc.insecure_channel(address, options, compression) as channel,
        ThreadPoolExecutor(at_once) as threads,
    ):
        call: Callable[..., bytes] = channel.unary_unary(method)

        def one(body: bytes) -> None:
            with suppress(grpc.RpcError):
                call(body, timeout=PATIENCE)

        deque(threads.map(one, bodies), maxlen=0)


def bombs(method: str, body: bytes) -> Callable[[str], None]:
    """Return some compressed messages of 62 MB at once."""
    return lambda address: calls(address, f"{SERVICE}/{method}", [body] * 3, compressed=True, at_once=3)


def asked_about(count: int, keys: int, spec: Callable[[int, int], dict[str, Any]]) -> Callable[[str], None]:
    """Return a sender of pods with different large templates, each sent twice."""

    def bodies() -> Iterator[bytes]:
        for number in range(count):
            document = {
                "metadata": {"name": "p", "namespace": "d", "uid": f"u{number}"},
                "spec": {"containers": [{"name": "c"}], **spec(number, keys)},
            }
            pod = field(1, field(1, field(1, json.dumps(document).encode())))
            yield from (field(1, pod), field(1, pod))

    return lambda address: calls(address, f"{SERVICE}/Schedule", bodies(), compressed=False, at_once=2)


def node_selector(number: int, keys: int) -> dict[str, Any]:
    return {"nodeSelector": {f"k{number}-{key}": "value" for key in range(keys)}}


def affinity(number: int, keys: int) -> dict[str, Any]:
    terms = [
        {"topologyKey": f"k{number}-{key}", "labelSelector": {"matchLabels": {"a": "b"}}}
        for key in range(keys)
    ]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def inline_nodes(address: str) -> None:
    """Large node objects, each time others."""

    def body(at: int) -> bytes:
        note = "x" * 100_000
        nodes = (
            json.dumps({"metadata": {"name": f"n{at}-{number}", "annotations": {"note": note}}}).encode()
            for number in range(300)
        )
        return SENT_POD + field(2, field(6, b"".join(field(1, field(1, node)) for node in nodes)))

    calls(address, f"{SERVICE}/Filter", map(body, range(8)), compressed=False, at_once=2)


def ties(address: str) -> None:
    """Many pods with all the nodes that are as good, by the names of nodes that are sent along."""
    nodes = b"".join(
        field(
            1,
            field(
                1, b'{"metadata":{"name":"node-%060d"},"status":{"allocatable":{"pods":"99999"}}}' % number
            ),
        )
        for number in range(1_000)
    )
    request = pb.ScheduleRequest(
        templates=[pb.PodTemplate(pod=sent(make_pod()))],
        pods=pb.PodColumns(
            template_indices=[0] * 20_000, uids=[f"u{number}" for number in range(20_000)], names=["p"]
        ),
        include_ties=True,
    ).SerializeToString()
    body = request + field(3, field(6, nodes))
    calls(address, f"{SERVICE}/Schedule", [body] * 2, compressed=False, at_once=2)


SERVER_ATTACKS = {
    "inline nodes": bombs("Filter", SENT_POD + field(2, field(6, EMPTIES))),
    "templates": bombs("Schedule", EMPTIES),
    "candidates": bombs("Preempt", SENT_POD + field(4, EMPTIES)),
    "pushed events": lambda address: calls(
        address,
        "/mooring.v1.ClusterService/PushObjects",
        [b"\x22\x00" * (31 << 20)] * 3,
        compressed=True,
        at_once=3,
    ),
    "zeros": bombs("Bind", bytes(1 << 27)),
    "node selectors": asked_about(50, 1_000, node_selector),
    "terms": asked_about(50, 300, affinity),
    "large pods": asked_about(4, 50_000, node_selector),
    "large nodes": inline_nodes,
    "ties": ties,
}


@pytest.mark.parametrize("attack", SERVER_ATTACKS.values(), ids=SERVER_ATTACKS)
def test_the_server_stays_in_its_container(attack: Callable[[str], None], tmp_path: Path) -> None:
    with server(tmp_path) as running:
        good = Good(over_grpc(running.address("grpc")))
        with good.asking():
            attack(running.address("grpc"))
        assert running.process.poll() is None
        assert not good.failures
        assert running.memory("VmHWM") < CONTAINER_BYTES


HEAD = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def whole(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


def sent_raw(count: int, data: bytes) -> Callable[[str], None]:
    """Return a sender that sends these bytes over some connections at once, and waits a while for answers."""

    def send(address: str) -> None:
        host, _, port = address.rpartition(":")
        with ExitStack() as stack, ThreadPoolExecutor(count) as threads:
            connections = [
                stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(count)
            ]

            def one(connection: socket.socket) -> None:
                connection.settimeout(3)
                with suppress(OSError):
                    connection.sendall(data)
                    connection.recv(1)

            deque(threads.map(one, connections), maxlen=0)

    return send


def named(count: int, name: str) -> bytes:
    return b'{"Pod":%s,"Nodes":null,"NodeNames":[%s]}' % (POD, b",".join([b'"%s"' % name.encode()] * count))


def listed(count: int, node: bytes) -> bytes:
    return b'{"Pod":%s,"Nodes":{"items":[%s]},"NodeNames":null}' % (POD, b",".join([node] * count))


LARGE_NODE = b'{"metadata":{"name":"n","annotations":{"note":"%s"}}}' % (b"x" * 10_000)
ADAPTER_ATTACKS = {
    "long names": sent_raw(2, whole(named(100_000, "n" * 500))),
    "tiny nodes": sent_raw(2, whole(listed(1_600_000, b'{"metadata":{"name":"n"}}'))),
    "large nodes": sent_raw(4, whole(listed(5_000, LARGE_NODE))),
    "silent bodies": sent_raw(30, whole(named(1_000_000, "n" * 57))[:-1]),
    "miscased": sent_raw(2, whole(b'{"NODES":{"items":[%s]}}' % b",".join([b'{"METADATA":{}}'] * 500_000))),
    "trailers": sent_raw(
        2,
        HEAD
        + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
        + b"X-Trailer: %s\r\n" % (b"y" * 8_000) * 10_000,
    ),
}


@pytest.mark.parametrize("attack", ADAPTER_ATTACKS.values(), ids=ADAPTER_ATTACKS)
def test_the_adapter_stays_in_its_container(attack: Callable[[str], None], tmp_path: Path) -> None:
    with server(tmp_path) as behind, adapter(tmp_path, behind) as running:
        url = running.ready.split()[-1]
        good = Good(over_http(url))
        with good.asking():
            attack(url.removeprefix("http://"))
        assert running.process.poll() is None
        assert not good.failures
        assert max(running.memory("VmHWM"), behind.memory("VmHWM")) < CONTAINER_BYTES
