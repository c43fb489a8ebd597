"""Rows D-: each listener of each program, attacked by rows E and F.

``DOORS`` lists all of them. `tests/house/test_doors.py` compares it with the listeners that the code opens,
so a new one comes with its row.
"""

from __future__ import annotations

import re
import socket
import ssl
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import grpc

from mooring.testing.builders import node_manifest
from tests.cli.commands import ANY_PORT, BIN, Started, program
from tests.cli.schedulers import scheduler
from tests.fake_api_server import FakeApiServer
from tests.laboratories.soak.asking import smuggled
from tests.laboratories.soak.attacked import MIB, attacked
from tests.laboratories.soak.floods import FLOODS, flood
from tests.laboratories.soak.rounds import AT_END, Round, Row
from tests.process import free_port
from tests.service import frames
from tests.service.wire import field

PATIENCE: Final = 60.0
GROWTH: Final = 256 * MIB
CHECK: Final = "/grpc.health.v1.Health/Check"


@dataclass(frozen=True)
class Opened:
    """A program with its listeners.

    Attributes:
        started: The program.
        addresses: HOST:PORT, by the names that doors give its listeners.
    """

    started: Started
    addresses: dict[str, str]


def _run(*command: object) -> Started:
    folder = Path(AT_END.enter_context(tempfile.TemporaryDirectory()))
    started = AT_END.enter_context(program(folder, *command))
    assert started.ready, started.log.read_text()
    return started


@cache
def _serve() -> Opened:
    target = attacked()
    names = ("grpc", "health", "metrics")
    addresses = {name: target.started.address(name) for name in names}
    return Opened(target.started, {**addresses, "extender": target.extender})


@cache
def _adapter(name: str) -> Opened:
    server = _serve().addresses["grpc"]
    started = _run(BIN / name, "--listen", ANY_PORT, "--health-listen", ANY_PORT, "--server", server)
    *_, health, calls = started.ready.split()
    return Opened(started, {"grpc": calls, "health": health.removeprefix("health=")})


@cache
def _extender() -> Opened:
    started = _run(BIN / "mooring-extender", "--listen", ANY_PORT, "--server", _serve().addresses["grpc"])
    return Opened(started, {"extender": started.ready.split("//")[1]})


@cache
def _watcher() -> Opened:
    target = _serve().addresses["grpc"]
    flags = ("--source", "sample", "--replica", target, "--metrics-listen", ANY_PORT)
    started = _run(BIN / "mooring", "push", *flags)
    return Opened(started, {"metrics": started.address("metrics")})


@cache
def _page() -> Opened:
    health = f"127.0.0.1:{free_port()}"
    flags = ("--listen", ANY_PORT, "--health-listen", health, "--server", _serve().addresses["grpc"])
    started = _run(BIN / "mooring", "web", *flags)
    return Opened(started, {"page": started.ready.split("//")[1].rstrip("/"), "health": health})


@cache
def _scheduler() -> Opened:
    folder = Path(AT_END.enter_context(tempfile.TemporaryDirectory()))
    fake = AT_END.enter_context(FakeApiServer())
    fake.add(node_manifest("n0"))
    secure, calls = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    flags = (f"--secure-port={secure.rpartition(':')[2]}", f"--grpc-listen={calls}")
    started = AT_END.enter_context(scheduler(fake, folder, "--leader-elect=false", *flags))
    assert started.ready, started.log.read_text()
    return Opened(started, {"https": secure, "grpc": calls})


@dataclass(frozen=True)
class Door:
    """A listener.

    Attributes:
        id: The program's command and the listener's name.
        opens: Where the code opens it: the module and the class.
        program: Starts its program, once.
        listener: Which of the program's it is.
        good: The good request: a gRPC method, whose empty request is answered, or an HTTP path.
    """

    id: str
    opens: tuple[str, str]
    program: Callable[[], Opened]
    listener: str
    good: str

    @property
    def is_grpc(self) -> bool:
        """Whether gRPC is spoken here; HTTP otherwise."""
        return self.opens[1] in ("CallListener", "HealthListener")


_INFO: Final = "/mooring.v1.ClusterService/GetClusterInfo"
_OF_SERVICE: Final = "mooring.service.server"
_OF_ADAPTER: Final = "mooring_adapter.listener"
_ESTIMATOR: Final = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableReplicas"
_expander, _estimator = partial(_adapter, "mooring-expander"), partial(_adapter, "mooring-estimator")

DOORS: Final = (
    Door("serve-grpc", (_OF_SERVICE, "CallListener"), _serve, "grpc", _INFO),
    Door("serve-health", (_OF_SERVICE, "HealthListener"), _serve, "health", CHECK),
    Door("serve-metrics", (_OF_SERVICE, "PageListener"), _serve, "metrics", "/metrics"),
    Door("serve-extender", ("mooring.app.extender", "HttpServer"), _serve, "extender", "/healthz"),
    Door("scheduler-grpc", (_OF_SERVICE, "CallListener"), _scheduler, "grpc", _INFO),
    Door("scheduler-https", ("mooring.app.secure_serving", "PageListener"), _scheduler, "https", "/livez"),
    Door("push-metrics", ("mooring.app.push", "PageListener"), _watcher, "metrics", "/metrics"),
    Door("web-page", ("mooring.web.server", "HttpServer"), _page, "page", "/healthz"),
    Door("web-health", ("mooring.web.server", "HealthListener"), _page, "health", CHECK),
    Door("extender", ("mooring_extender.cli", "HttpServer"), _extender, "extender", "/healthz"),
    Door(
        "expander-grpc", (_OF_ADAPTER, "CallListener"), _expander, "grpc", "/grpcplugin.Expander/BestOptions"
    ),
    Door("expander-health", (_OF_ADAPTER, "HealthListener"), _expander, "health", CHECK),
    Door("estimator-grpc", (_OF_ADAPTER, "CallListener"), _estimator, "grpc", _ESTIMATOR),
    Door("estimator-health", (_OF_ADAPTER, "HealthListener"), _estimator, "health", CHECK),
)
"""`mooring run` starts `mooring serve`, `mooring web` and `mooring-extender`; `mooring mcp` has no port."""


class _Attack:
    """A door that is being attacked in a round."""

    def __init__(self, door: Door, round_: Round) -> None:
        self._door = door
        self._round = round_
        self._opened = door.program()
        self.address = self._opened.addresses[door.listener]

    def good(self) -> None:
        """Ask what has to be answered."""
        self._round.inputs += 1
        if self._door.is_grpc:
            with grpc.insecure_channel(self.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
                call: Any = channel.unary_unary(self._door.good)
                call(b"", timeout=PATIENCE)
        else:
            head = f"GET {self._door.good} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            received = self.said(head.encode())
            assert received[9:13] == b"200 ", received[:80]

    def connect(self) -> socket.socket:
        """Return a connection, with TLS if the listener has it."""
        host, _, port = self.address.rpartition(":")
        connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
        if self._door.listener != "https":
            return connection
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(connection)

    def said(self, sent: bytes) -> bytes:
        """Return all that comes back for some bytes until the listener closes; b"" where it just closes."""
        received = b""
        with self.connect() as connection:
            try:
                connection.sendall(sent)
                while piece := connection.recv(65536):
                    received += piece
            except OSError:
                # It closed already: a broken pipe, or a reset.
                pass
        return received

    def check(self) -> None:
        """Check the invariants afterwards."""
        self.good()
        assert self._opened.started.process.poll() is None, "the program has ended"
        before, found, after = self._opened.started.log.read_text().rpartition("Traceback")
        assert not found, f"{before[-500:]}{found}{after[:2000]}"

    @property
    def resident(self) -> int:
        """Bytes of memory that the process holds now."""
        return self._opened.started.memory()


def _grpc(attack: _Attack, door: Door, round_: Round) -> None:
    dice = round_.dice
    for body in (b"", b"\0\0\0\1\0ab"):
        with frames.Insistent(attack.address, door.good, round_.some(2, 10), 16, body):
            attack.good()
    unread = frames.headers(door.good)
    for _ in range(round_.some(10, 40)):
        with frames.connect(attack.address) as one:
            head = dice.choice((dice.randbytes(100), unread + b"\0\5x-bin\x03\xff\xfe\xfd", unread * 50))
            one.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, head[:16384]))
        round_.inputs += 1
    with grpc.insecure_channel(
        attack.address, [("grpc.max_send_message_length", -1)], grpc.Compression.Gzip
    ) as channel:
        for size in (80, 120):
            bomb: Any = channel.unary_unary(door.good, request_serializer=bytes)
            code = bomb.future(field(15, bytes(size * MIB)), timeout=PATIENCE).code()
            assert code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED)
            round_.inputs += 1
    for name in dice.sample(sorted(FLOODS), round_.some(1, len(FLOODS))):
        with flood(name, attack.address, door.good):
            attack.good()
        round_.inputs += 1


STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] \d")
BEGINNINGS: Final = (
    b"",
    b"P",
    b"POST / HTTP/1.1\r\n",
    b"POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{",
)


def _http(attack: _Attack, _door: Door, round_: Round) -> None:
    dice = round_.dice
    with ExitStack() as open_:
        for _ in range(round_.some(16, 200)):
            slow = open_.enter_context(attack.connect())
            slow.sendall(dice.choice(BEGINNINGS))
            round_.inputs += 1
        attack.good()
    for _ in range(round_.some(20, 100)):
        second = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        received = attack.said(smuggled(dice) + second)
        assert len(STATUS_LINE.findall(received)) <= 1, received[:200]
        assert b" 200 " not in received[:20], received[:80]
        round_.inputs += 1
    long_head = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%05d: %s\r\n" % (at, b"y" * 1000) for at in range(100))
    assert b" 200 " not in attack.said(long_head + b"\r\n")[:20]
    announced = b"POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % 2**40
    assert b" 200 " not in attack.said(announced + b" " * MIB)[:20]
    round_.inputs += 2


def _play(door: Door, round_: Round) -> None:
    attack = _Attack(door, round_)
    attack.good()
    before = attack.resident
    (_grpc if door.is_grpc else _http)(attack, door, round_)
    with ExitStack() as open_:
        for _ in range(round_.some(50, 300)):
            host, _, port = attack.address.rpartition(":")
            open_.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
        if door.listener != "https":
            attack.good()
    round_.faults += 1
    # A listener for pages ends the oldest of its connections, which takes it a moment.
    time.sleep(0.1)
    attack.check()
    assert attack.resident - before <= GROWTH


ROWS: Final = tuple(Row(f"D-{door.id}", f"the door {door.id}", partial(_play, door)) for door in DOORS)
