"""Floods of HTTP/2 frames from two connections, in a process of their own."""

import itertools
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socket import socket

from tests.service import frames
from tests.service.frames import END_HEADERS, END_STREAM, HEADERS, RST_STREAM, SETTINGS, frame, headers

PRIORITY, PING, WINDOW_UPDATE, CONTINUATION = 2, 6, 8, 9
CONNECTIONS = 2
AT_ONCE = 100
"""Frames that are sent together."""


def _field(number: int) -> bytes:
    return b"\0" + bytes((5,)) + b"x%04d" % number + bytes((100,)) + b"y" * 100


def _resets(block: bytes, stream: int) -> bytes:
    return frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08")


def _settings(_block: bytes, _stream: int) -> bytes:
    return frame(SETTINGS, 0, 0, struct.pack(">HI", frames.INITIAL_WINDOW_SIZE, 65_535))


def _priorities(_block: bytes, stream: int) -> bytes:
    return frame(PRIORITY, 0, stream, b"\0\0\0\0\x10")


def _continuations(block: bytes, stream: int) -> bytes:
    parts = b"".join(frame(CONTINUATION, 0, stream, _field(number)) for number in range(AT_ONCE))
    return frame(HEADERS, 0, stream, block) + parts + frame(CONTINUATION, END_HEADERS, stream)


def _long_heads(block: bytes, stream: int) -> bytes:
    block += b"".join(_field(number) for number in range(125))
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, block)


def _no_window(block: bytes, stream: int) -> bytes:
    window = frame(SETTINGS, 0, 0, struct.pack(">HI", frames.INITIAL_WINDOW_SIZE, 0))
    body = frame(frames.DATA, END_STREAM, stream, bytes(5))
    return window + frame(HEADERS, END_HEADERS, stream, block) + body


def _broken_streams(block: bytes, stream: int) -> bytes:
    """An update by 0 is an error, which the server has to answer with a reset of its own."""
    return frame(HEADERS, END_HEADERS, stream, block) + frame(WINDOW_UPDATE, 0, stream, bytes(4))


def _empty_data(block: bytes, stream: int) -> bytes:
    return frame(HEADERS, END_HEADERS, stream, block) + frame(frames.DATA, 0, stream) * AT_ONCE


def _pings(_block: bytes, _stream: int) -> bytes:
    return frame(PING, 0, 0, bytes(8))


def _window_updates(_block: bytes, _stream: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1))


FLOODS: dict[str, Callable[[bytes, int], bytes]] = {
    "streams that are reset": _resets,
    "streams that the server has to reset": _broken_streams,
    "answers that have no window": _no_window,
    "settings": _settings,
    "pings": _pings,
    "priorities": _priorities,
    "window updates": _window_updates,
    "empty data": _empty_data,
    "continuations": _continuations,
    "heads of 14 kB": _long_heads,
}


@contextmanager
def flood(name: str, address: str, method: str) -> Iterator[None]:
    """One of FLOODS, until the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, name, address, method], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"it begins\n"
        yield
        assert process.poll() is None, "the flood has ended"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _drain(connection: socket) -> None:
    with suppress(OSError):
        while connection.recv(2**20):
            pass


def _pour(name: str, address: str, method: str) -> None:
    block = headers(method)
    while True:
        with frames.connect(address) as connection, suppress(OSError):
            threading.Thread(target=_drain, args=(connection,), daemon=True).start()
            connection.sendall(frame(SETTINGS, frames.ACK, 0))
            for first in itertools.count(1, 2 * AT_ONCE):
                streams = range(first, first + 2 * AT_ONCE, 2)
                connection.sendall(b"".join(FLOODS[name](block, stream) for stream in streams))


if __name__ == "__main__":
    for _ in range(CONNECTIONS):
        threading.Thread(target=_pour, args=sys.argv[1:], daemon=True).start()
    print("it begins", flush=True)
    threading.Event().wait()
