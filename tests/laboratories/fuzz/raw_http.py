"""Raw HTTP to the adapter: all that comes on one connection, in pieces that the bytes themselves decide."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any

import msgspec
import uvicorn
from uvicorn.server import ServerState

from mooring.serving.http.protocol import GuardedProtocol
from mooring.serving.http.server import _config
from tests.extender.fakes import BIND, BODIES
from tests.laboratories.fuzz.extending import Adapter, adapting
from tests.laboratories.fuzz.judging import Finding, Judge, Target, check, check_text
from tests.laboratories.fuzz.mutating import TOKENS, changed_bytes

LINES = (
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Content-Length: 0\r\n"),
    *(b"Content-Length: 5\r\n", b"Content-Length: +5\r\n", b"Content-Length: 99999999999999999999\r\n"),
    *(
        b"Connection: close\r\n",
        b"Connection: upgrade\r\nUpgrade: websocket\r\n",
        b"Expect: 100-continue\r\n",
    ),
    *(
        b"Content-Encoding: gzip\r\n",
        b"Host: x\r\n",
        b"Origin: null\r\n",
        b"Content-Type: text/plain\r\n",
        b" folded\r\n",
        b"X: \xff\r\n",
        b": x\r\n",
        b"X : y\r\n",
    ),
)
HTTP_TOKENS = (
    *TOKENS,
    *LINES,
    *(
        b"\r\n\r\n",
        b"0\r\n\r\n",
        b"5\r\nabcde\r\n",
        b"ffffffffffffffff\r\n",
        b"-1\r\n",
        b"1;x=y\r\n",
        b"HTTP/1.0",
    ),
    *(
        b"HTTP/2.0",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"%62ind",
        b"/../bind",
    ),
    *(
        b"http://x/bind",
        b"/bind?x#y",
        b"*",
        b"CONNECT x:1",
        b"OPTIONS",
        b"\x16\x03\x01\x02\x00\x01",
        b"A" * 9000,
    ),
)


NAMED = b"Host: localhost\r\nContent-Type: application/json\r\n"


def _post(path: str, body: bytes, *lines: bytes) -> bytes:
    return b"POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n%s\r\n%s" % (
        path.encode(),
        NAMED,
        len(body),
        b"".join(lines),
        body,
    )


@cache
def seeds() -> tuple[bytes, ...]:
    """Return each verb, operators' paths, chunks, trailers, and several requests at once."""
    posts = [_post(f"/{verb}", body) for verb, body in BODIES.items()]
    posts += [_post(f"/profiles/default-scheduler/{verb}", body) for verb, body in BODIES.items()]
    gets = [
        b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path
        for path in (b"healthz", b"livez", b"readyz", b"metrics")
    ]
    chunked = (
        b"POST /bind HTTP/1.1\r\n" + NAMED + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n%s\r\n"
    )
    found = [
        *posts,
        *gets,
        chunked % (len(BIND), BIND, b""),
        chunked % (len(BIND), BIND, b"X-Trailer: y\r\n"),
    ]
    found += [b"".join(posts[:3]), gets[0] + posts[2] + gets[1], _post("/bind", BIND, *LINES[6:7]) + posts[2]]
    return (*found, b"POST /bind HTTP/1.0\r\n\r\n", b"HEAD /livez HTTP/1.1\r\n\r\n", b"")


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return the same bytes with faults, or another line in a head."""
    if dice.random() < 0.3:
        at = data.find(b"\r\n") + 2
        data = data[:at] + dice.choice(LINES) + data[at:]
    if dice.random() < 0.1:
        data += dice.choice(others)
    return changed_bytes(dice, data, others, HTTP_TOKENS)


class _Transport(asyncio.Transport):
    """The client's end."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self.closed = False

    def write(self, data: Any) -> None:
        if not self.closed:
            self.sent += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        raise Finding(f"the connection is given to {protocol!r}")


HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Za-z ]+\r\n((?:[a-z-]+: [^\r\n]*\r\n)+)\r\n")
LENGTH = re.compile(rb"content-length: (\d+)\r\n")


def answers(sent: bytes) -> list[tuple[int, bytes]]:
    """Return status and body of each; raises ``Finding`` if that is not HTTP."""
    sent, found = sent.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b""), []
    while sent:
        head = HEAD.match(sent)
        length = LENGTH.search(head[2]) if head else None
        if head is None or length is None:
            raise Finding(f"what was sent is not HTTP: {sent[:200]!r}")
        rest, size = sent[head.end() :], int(length[1])
        if not rest or rest.startswith(b"HTTP/1.1 "):
            size = 0  # An answer to HEAD has no body.
        check(len(rest) >= size, "an answer is cut short")
        found.append((int(head[1]), rest[:size]))
        sent = rest[size:]
    return found


class _Connection:
    """One connection, and the answers on it."""

    def __init__(self, adapter: Adapter, config: uvicorn.Config) -> None:
        self._state = ServerState()
        self._adapter = adapter
        self.transport = _Transport()
        self.protocol = GuardedProtocol(config, self._state, {}, adapter.loop)
        self.protocol.connection_made(self.transport)

    def feed(self, pieces: Sequence[bytes]) -> None:
        """Send the pieces as long as the other side listens, and leave."""
        self._adapter.loop.run_until_complete(self._feed(pieces))

    async def _feed(self, pieces: Sequence[bytes]) -> None:
        for piece in pieces:
            if self.transport.closed:
                break
            self.protocol.data_received(piece)
            for _ in range(6):
                await asyncio.sleep(0)
        for _ in range(200):
            if not self.protocol._is_answering() or self.protocol._message_open or not self._state.tasks:
                break
            await asyncio.sleep(0)
        self.protocol.connection_lost(None)
        for _ in range(6):
            await asyncio.sleep(0)
        check(not self._state.tasks, "a call goes on when the client has left")


def _pieces(data: bytes) -> list[bytes]:
    """Return the whole, or cut at one or two places."""
    dice = Random(zlib.crc32(data))
    cuts = sorted(dice.randint(0, len(data)) for _ in range(dice.choice((0, 0, 1, 2))))
    return [data[begin:end] for begin, end in zip((0, *cuts), (*cuts, len(data)), strict=True)]


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield a connection for each input."""
    with adapting() as adapter:
        config = _config(adapter.app, None)
        config.load()

        def judge(data: bytes) -> bool:
            before = adapter.client.binds
            connection = _Connection(adapter, config)
            connection.feed(_pieces(data))
            adapter.raise_finding()
            found = answers(bytes(connection.transport.sent))
            binds, good = adapter.client.binds - before, [status for status, _ in found if status == 200]
            check(binds <= len(good), f"{binds} bindings, but {len(good)} requests were taken")
            for status, body in found:
                check(status in ALLOWED, f"an answer of {status}")
                if status != 200 and body.startswith(b"{"):
                    check_text(msgspec.json.decode(body)["error"])
            return bool(good)

        yield judge


ALLOWED = (200, 400, 403, 404, 405, 413, 415, 421, 500, 501, 503, 504)
"""500 is for calls without an ``Error``; the log distinguishes faults of the adapter itself."""

TARGET = Target("http", "raw HTTP to the adapter", seeds, change, judging)
