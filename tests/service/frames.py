"""Hand-made HTTP/2 frames: just enough to open streams that send no body."""

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_HEADERS = 4
MAX_CONCURRENT_STREAMS = 3


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def headers(method: str) -> bytes:
    """A header block of literals without indexing and without Huffman coding."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields.items())


def _text(value: str) -> bytes:
    assert len(value) < 127
    return bytes((len(value),)) + value.encode()


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
    return connection


def open_streams(connection: socket.socket, method: str, count: int, body: bytes = b"") -> None:
    """Opens streams and sends their headers, then perhaps a part of a body, and never the end."""
    for stream in range(1, 2 * count, 2):
        connection.sendall(frame(HEADERS, END_HEADERS, stream, headers(method)))
        if body:
            connection.sendall(frame(DATA, 0, stream, body))


def settings(connection: socket.socket) -> dict[int, int]:
    """The settings in the server's first frame."""
    with connection.makefile("rb") as stream:
        head = stream.read(9)
        assert head[3] == SETTINGS
        payload = stream.read(int.from_bytes(head[:3]))
    return dict(struct.iter_unpack(">HI", payload))
