"""Hand-made HTTP/2 frames: what gRPC's own clients never send."""

import select
import socket
import struct
import threading
from typing import Self

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS = 0, 1, 3, 4
ACK = END_STREAM = 1
END_HEADERS = 4
INITIAL_WINDOW_SIZE = 4
MAX_CONCURRENT_STREAMS = 3


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def headers(method: str, **more: str) -> bytes:
    """Return a header block of literals without indexing and without Huffman coding; ``more`` as metadata."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
        **more,
    }
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields.items())


def _text(value: str) -> bytes:
    assert len(value) < 127
    return bytes((len(value),)) + value.encode(errors="surrogateescape")


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
    return connection


def open_streams(connection: socket.socket, method: str, count: int, body: bytes = b"") -> None:
    """Open streams and send their headers, then perhaps a part of a body, and never the end."""
    for stream in range(1, 2 * count, 2):
        connection.sendall(frame(HEADERS, END_HEADERS, stream, headers(method)))
        if body:
            connection.sendall(frame(DATA, 0, stream, body))


def settings(connection: socket.socket) -> dict[int, int]:
    """Return the settings in the server's first frame."""
    with connection.makefile("rb") as stream:
        head = stream.read(9)
        assert head[3] == SETTINGS
        payload = stream.read(int.from_bytes(head[:3]))
    return dict(struct.iter_unpack(">HI", payload))


class Insistent:
    """Streams that send their headers and perhaps a part of a body; each that is ended is opened again.

    Args:
        address: The server.
        method: The method to call.
        connections: How many connections to make.
        streams: How many streams to hold on each.
        body: The bytes that each sends after its headers.
    """

    def __init__(self, address: str, method: str, connections: int, streams: int, body: bytes = b"") -> None:
        self._method = method
        self._body = body
        self._next: dict[socket.socket, int] = {}
        self._read: dict[socket.socket, bytes] = {}
        self._stopped = threading.Event()
        self.ended = 0
        for _ in range(connections):
            connection = connect(address)
            self._next[connection], self._read[connection] = 1, b""
            self._open(connection, streams)
        self._thread = threading.Thread(target=self._insist, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        for connection in self._next:
            connection.close()

    def _open(self, connection: socket.socket, count: int) -> None:
        first = self._next[connection]
        self._next[connection] += 2 * count
        connection.sendall(
            b"".join(
                frame(HEADERS, END_HEADERS, stream, headers(self._method))
                + (frame(DATA, 0, stream, self._body) if self._body else b"")
                for stream in range(first, first + 2 * count, 2)
            )
        )

    def _insist(self) -> None:
        while not self._stopped.wait(0.1):
            for connection in select.select(list(self._next), (), (), 0)[0]:
                ended = self._hear(connection)
                self.ended += ended
                if ended:
                    self._open(connection, ended)

    def _hear(self, connection: socket.socket) -> int:
        """Return how many streams were ended since; acknowledges settings, without which few streams are
        taken.
        """
        rest = self._read[connection] + connection.recv(2**20)
        ended = 0
        while len(rest) >= 9 and len(rest) >= (size := 9 + int.from_bytes(rest[:3])):
            ended += rest[3] == RST_STREAM
            if rest[3] == SETTINGS and not rest[4] & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            rest = rest[size:]
        self._read[connection] = rest
        return ended
