"""Certificates, and an address that stays the same when its server restarts."""

from __future__ import annotations

import asyncio
import ipaddress
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

T = TypeVar("T")

_PREFACE: Final = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
_HEAD: Final = 9
_HEADERS, _RST_STREAM = 1, 3
_CODES: Final = {"INTERNAL_ERROR": 2, "REFUSED_STREAM": 7, "CANCEL": 8, "ENHANCE_YOUR_CALM": 11}
"""HTTP/2's types of frames, and its codes of errors: RFC 9113, 6 and 7."""


class Frames:
    """Finds the frames of HTTP/2 in what one side sends, in plain text.

    Args:
        before: Bytes before the first frame.

    Attributes:
        left: The bytes of the frame that is under way; 0 between two frames.
        opened: The last stream that a frame with headers was about.
    """

    def __init__(self, before: int = 0) -> None:
        self.left = before
        self.opened = 0
        self._head = b""

    def follow(self, data: bytes) -> None:
        """Take in the next bytes."""
        while data:
            if self.left:
                taken = min(self.left, len(data))
                self.left, data = self.left - taken, data[taken:]
                continue
            self._head, data = self._head + data[: _HEAD - len(self._head)], data[_HEAD - len(self._head) :]
            if len(self._head) == _HEAD:
                if self._head[3] == _HEADERS:
                    self.opened = int.from_bytes(self._head[5:]) & 0x7FFFFFFF
                self.left, self._head = int.from_bytes(self._head[:3]), b""

    @property
    def between(self) -> bool:
        """Whether a frame may be put in here."""
        return not (self.left or self._head)


@dataclass(eq=False, slots=True)
class Side:
    """One direction of a connection.

    Attributes:
        writer: The receiver.
        frames: The frames that it got.
        waiting: A frame to put in as soon as none is under way.
    """

    writer: asyncio.StreamWriter
    frames: Frames
    waiting: bytes = b""

    def send(self, data: bytes) -> None:
        """Pass data on."""
        self.writer.write(data)
        self.frames.follow(data)
        self.put_in(b"")

    def put_in(self, frame: bytes) -> None:
        """Send a frame of the door's own between two of the others."""
        self.waiting += frame
        if self.waiting and self.frames.between:
            self.writer.write(self.waiting)
            self.waiting = b""


class Door:
    """Forwards connections to a port. Safe from any thread.

    Args:
        port: Where they go.
        path: The Unix socket at which it listens; None = a port of the loopback interface.

    Attributes:
        target: The address for clients.
    """

    def __init__(self, port: int, path: Path | None = None) -> None:
        self.port = port
        self._path = path
        self._own_port = 0
        self._left: int | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._sides: list[tuple[Side, Side]] = []
        self._again: asyncio.Task[None] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._wait(self._listen())

    @property
    def target(self) -> str:
        """The address for clients."""
        return f"unix:{self._path}" if self._path else f"127.0.0.1:{self._own_port}"

    def cut(self, after: int = 0) -> None:
        """End all connections, at once or when the server has sent ``after`` more bytes."""
        self._wait(self._cut(after))

    def reset(self, code: str) -> None:
        """End the newest call with an RST_STREAM frame of this code, on both sides; others go on."""
        self._wait(self._reset(code))

    def shut(self, seconds: float) -> None:
        """End all connections, and accept none for ``seconds``."""
        self._wait(self._shut(seconds))

    def close(self) -> None:
        """End for good."""
        self._wait(self._shut(None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, done: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(done, self._loop).result()

    def _abort(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()
        self._left = None

    async def _cut(self, after: int) -> None:
        self._left = after
        if not after:
            self._abort()

    async def _reset(self, code: str) -> None:
        to_server, to_client = self._sides[-1]
        stream = to_server.frames.opened
        to_client.put_in(_reset_frame(stream, code))
        # The server must send nothing more of the call: its headers would have to reach the client.
        to_server.put_in(_reset_frame(stream, "CANCEL"))

    async def _listen(self) -> asyncio.Server:
        if self._path:
            return await asyncio.start_unix_server(self._accepted, self._path)
        server = await asyncio.start_server(self._accepted, "127.0.0.1", self._own_port)
        self._own_port = server.sockets[0].getsockname()[1]
        return server

    async def _shut(self, seconds: float | None) -> None:
        self._server.close()
        self._abort()
        if self._again:
            self._again.cancel()
        if seconds is not None:
            self._again = asyncio.create_task(self._open_again(seconds))

    async def _open_again(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._server = await self._listen()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self.port)
        both = {writer, inner_writer}
        sides = Side(inner_writer, Frames(_PREFACE)), Side(writer, Frames())
        self._open |= both
        self._sides.append(sides)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, sides[0], lambda data: data))
                group.create_task(_copy(inner_reader, sides[1], self._let_through))
        finally:
            self._open -= both
            self._sides.remove(sides)

    def _let_through(self, data: bytes) -> bytes:
        """Return the part of the server's data that may pass."""
        if self._left is None:
            return data
        passing = data[: self._left]
        self._left -= len(passing)
        if self._left == 0:
            self._loop.call_soon(self._abort)
        return passing


async def _copy(reader: asyncio.StreamReader, side: Side, passing: Callable[[bytes], bytes]) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            side.send(passing(data))
            await side.writer.drain()
    side.writer.close()


def _reset_frame(stream: int, code: str) -> bytes:
    """Return an RST_STREAM frame."""
    payload = _CODES[code].to_bytes(4)
    return len(payload).to_bytes(3) + bytes([_RST_STREAM, 0]) + stream.to_bytes(4) + payload


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files of an authority, of a server on the loopback interface, and of a client."""

    authority: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def certificates(folder: Path) -> Certificates:
    """Make new ones in a folder."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _issued("contract suite", authority_key, None, authority_key)
    (folder / "ca.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        made = _issued(name, key, authority, authority_key)
        (folder / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
        plain = serialization.NoEncryption()
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        )
    return Certificates(
        *(folder / name for name in ("ca.crt", "server.crt", "server.key", "client.crt", "client.key"))
    )


def _issued(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    by: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(by, hashes.SHA256())
    )
