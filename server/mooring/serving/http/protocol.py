"""One connection of the HTTP listener: uvicorn's protocol, with the limits that it does not have itself.

Its additions concern clients that send, read or stay in a way in which kube-scheduler never does.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from time import monotonic
from typing import Any, Final
from urllib.parse import unquote

import httptools
import msgspec
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from mooring.serving.http.eager import start_eagerly
from mooring.serving.http.tls import connection_of, is_resumed

BODY_SECONDS: Final = 0.001
"""Seconds to wait for the rest of a body before its request is read: Go's client sends two pieces."""
RECEIVE_SECONDS: Final = 10.0
SEND_SECONDS: Final = 10.0
CONNECTION_SECONDS: Final = 300.0
MAX_HEAD_BYTES: Final = 64 * 2**10
_CLOSE: Final = (b"connection", b"close")


def _max_connections() -> int:
    """Half of the files that may be open are left to others: inside ``mooring serve`` gRPC is one of them."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1024 if files == resource.RLIM_INFINITY else min(1024, files // 2)


MAX_CONNECTIONS: Final = _max_connections()


class _Alarm:
    """Runs ``action`` once, some time after it was set; setting it again does not move it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> None:
        self._loop = loop
        self._action = action
        self._handle: asyncio.TimerHandle | None = None

    def set(self, seconds: float) -> None:
        if self._handle is None:
            self._handle = self._loop.call_later(seconds, self._action)

    def clear(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class _Exchange(RequestResponseCycle):
    """One request and its answer, which the application gives as one head and one body.

    uvicorn's own writes pieces, each with a system call that wakes the client, and checks every header for an
    end of line; the headers of our applications hold nothing that a client sent.
    """

    _start: Any
    _is_read = False

    async def receive(self) -> Any:
        """Return the part of the body received since the last call, at once if that is the rest."""
        if self.more_body or self._is_read or self.waiting_for_100_continue or self.disconnected:
            message: Any = await super().receive()
        else:
            self.message_event.clear()
            message = {"type": "http.request", "body": bytes(self.body), "more_body": False}
        self._is_read = not self.more_body
        return message

    async def send(self, message: Any) -> None:
        """Keep the head of ``http.response.start`` until ``http.response.body`` comes, and write both."""
        if message["type"] == "http.response.start":
            self.response_started = True
            self.waiting_for_100_continue = False
            self._start = message
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        body = b"" if self.scope["method"] == "HEAD" else message["body"]
        self.transport.writelines([self._head(), body])
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _head(self) -> bytes:
        headers = self._start["headers"]
        if _CLOSE in headers:
            self.keep_alive = False
        elif not self.keep_alive:
            headers = [*headers, _CLOSE]
        lines = b"".join([b"%s: %s\r\n" % header for header in headers])
        return b"%s%s\r\n" % (STATUS_LINE[self._start["status"]], lines)


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, dropping a client that is too slow, sends too much, or is one too many.

    - A request must be complete RECEIVE_SECONDS after its first byte; an answer must be read SEND_SECONDS
      after the client stopped reading. A connection without any request lives as long as an idle one does:
      Go's client opens connections that it does not use at once.
    - A head, and trailers, may have MAX_HEAD_BYTES; trailers are dropped.
    - If there are more than MAX_CONNECTIONS, one without a request ends, or else the one that waited longest.
    - The answer after CONNECTION_SECONDS ends its connection, so that each client shows its certificate
      again; for the same reason no TLS session is resumed.
    - Bytes that are not HTTP end the connection after the answer in progress.
    """

    _receiving: _Alarm
    _sending: _Alarm
    _beginning: _Alarm
    _ends_at: float
    _waits_since: float
    _has_asked = False
    _message_open = False
    _in_head = False
    _body_came = False
    _bytes_without_body = 0
    _rejection: bytes | None = None
    _next: _Exchange | None = None
    _fields: dict[bytes, bytes]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._fields = {}
        self._receiving = _Alarm(self.loop, transport.abort)
        self._sending = _Alarm(self.loop, transport.abort)
        self._beginning = _Alarm(self.loop, self._begin)
        self._client = connection_of(transport)
        self._waits_since = monotonic()
        self._ends_at = self._waits_since + CONNECTION_SECONDS
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        if is_resumed(transport.get_extra_info("ssl_object")):
            transport.abort()
        elif len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._receiving.clear()
        self._sending.clear()
        self._beginning.clear()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def eof_received(self) -> None:
        # Nothing more comes, so a broken head can be reported.
        self._begin()

    def data_received(self, data: bytes) -> None:
        if self._rejection is not None:
            return
        self._body_came = False
        super().data_received(data)
        if self._message_open or not self._is_answering():
            self._receiving.set(RECEIVE_SECONDS)
        else:
            self._receiving.clear()
        if self._message_open and not self._body_came:
            self._limit_head(len(data))
        else:
            self._bytes_without_body = 0
        if self._next is None:
            return
        # More comes of a body unless reading is paused, or the client waits for an interim answer.
        comes = not (self.flow.read_paused or self._next.waiting_for_100_continue)
        if self._next.more_body and comes:
            self._beginning.set(BODY_SECONDS)
        else:
            self._begin()

    def _begin(self) -> None:
        """Answer a request; in this step of the loop, if nothing has to be waited for.

        Pipelined ones after it begin like uvicorn's tasks, in steps of their own: they may be many.
        """
        self._beginning.clear()
        exchange, self._next = self._next, None
        if exchange is None:
            return
        if exchange.more_body or exchange.waiting_for_100_continue:
            exchange.message_event.set()
        task = start_eagerly(exchange.run_asgi(self.app), self.loop)
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def on_message_begin(self) -> None:
        self._message_open = self._in_head = self._has_asked = True
        self._bytes_without_body = 0
        self._fields.clear()
        super().on_message_begin()
        self.scope["state"].update(client=self._client, began=monotonic())

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; of several with one name the last one counts."""
        self._fields[name] = value

    def on_headers_complete(self) -> None:
        # uvicorn's makes another exchange, and handles limits and upgrades that are not used here.
        self._in_head = False
        fields = {name.lower(): value for name, value in self._fields.items()}
        self.expect_100_continue = fields.get(b"expect", b"").lower() == b"100-continue"
        scope, version = self.scope, self.parser.get_http_version()
        url = httptools.parse_url(self.url)
        scope["headers"] = list(fields.items())
        scope["method"] = self.parser.get_method().decode("ascii")
        scope["http_version"] = version
        scope["raw_path"], scope["query_string"] = url.path, url.query or b""
        path = url.path.decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        in_turn, self.cycle = not self._is_answering(), self._exchange(version)
        if in_turn:
            # Not before the body is there, or it takes a task, and a step of the loop for each part.
            self._next = self.cycle
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _exchange(self, version: str) -> _Exchange:
        lasts = version != "1.0" and self.parser.should_keep_alive() and monotonic() < self._ends_at
        return _Exchange(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=[],
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=lasts,
            on_response=self.on_response_complete,
        )

    def on_body(self, body: bytes) -> None:
        self._body_came = True
        exchange = self.cycle
        if not exchange.response_complete:
            exchange.body += body
            if len(exchange.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            self._tell(exchange)

    def on_message_complete(self) -> None:
        self._message_open = False
        exchange = self.cycle
        if not exchange.response_complete:
            exchange.more_body = False
            self._tell(exchange)

    def _tell(self, exchange: RequestResponseCycle) -> None:
        """Go on with the answer of an exchange that waits for its body."""
        if exchange is not self._next:
            exchange.message_event.set()

    def on_response_complete(self) -> None:
        self._waits_since = monotonic()
        was_last = not self.pipeline
        super().on_response_complete()
        if was_last and self._rejection is not None:
            self._reject(self._rejection)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sending.set(SEND_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._sending.clear()

    def timeout_keep_alive_handler(self) -> None:
        # close() would wait for the client to read the rest.
        self.transport.abort()

    def rank(self) -> tuple[bool, float] | None:
        """Return what is least for the connection missed least; None while a call is answered on it."""
        if self._is_answering():
            return None
        return self._has_asked and not self._message_open, self._waits_since

    def send_400_response(self, msg: str) -> None:
        """Reject what came; requests before it are answered first."""
        self._rejection = msgspec.json.encode({"error": f"not HTTP/1.1: {msg}"})
        broken = self._message_open and not self._in_head
        if broken and self.pipeline:
            self.pipeline.popleft()
        elif broken or not self._is_answering():
            self._reject(self._rejection)

    def _reject(self, body: bytes) -> None:
        if self.transport.is_closing():
            return
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _is_answering(self) -> bool:
        # uvicorn's cycle is None until the first request, although it is not typed so.
        return bool(self.cycle) and not self.cycle.response_complete

    def _limit_head(self, size: int) -> None:
        """Count the bytes of a message outside its body: a head, chunks' frames, or trailers."""
        self._bytes_without_body += size
        if self._bytes_without_body > MAX_HEAD_BYTES and self._rejection is None:
            self.send_400_response(f"a head or trailers are larger than {MAX_HEAD_BYTES} bytes")

    def _make_room(self) -> None:
        """End one connection on which nothing is being answered, if need be this one."""
        ranks = {
            one: one.rank()
            for one in self.connections
            if isinstance(one, GuardedProtocol) and not one.transport.is_closing()
        }
        waiting = {one: rank for one, rank in ranks.items() if rank is not None}
        first = min(waiting, key=waiting.__getitem__)
        first.transport.abort()
