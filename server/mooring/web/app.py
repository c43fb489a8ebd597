"""The page over HTTP: one bare ASGI callable that serves the page's files and the gateway.

Routes, all below the path prefix: ``/`` and the page's files; ``/api/v1/...``, see ``gateway``; ``/healthz``,
``/livez`` and ``/readyz``, which say that this process runs.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import math
import re
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from importlib import resources
from typing import Any, Final
from urllib.parse import parse_qsl

import grpc
import grpc.aio
from msgspec.structs import replace

from mooring.framework.errors import InvalidArgumentError, MooringError, UnavailableError
from mooring.serving.access.authentication import TOKEN_HEADER
from mooring.serving.access.clients import on_behalf_of
from mooring.serving.addresses import is_local
from mooring.serving.calls.memory import MemoryBudget, Share, body_budget_bytes
from mooring.serving.http.asgi import (
    OK,
    Answer,
    BodyTooLargeError,
    ClientGoneError,
    Headers,
    HttpApp,
    Receive,
    Scope,
    connection_of,
    read_body,
)
from mooring.serving.http.hosts import Hosts
from mooring.web.answers import failed_call, misdirected, rejected
from mooring.web.gateway import Gateway
from mooring.web.processes import CALL_SECONDS, Address, Processes, pass_on

MAX_BODY_BYTES: Final = 16 * 2**20

COMPRESSED_BYTES: Final = 4096
"""From this size on an answer of the gateway is compressed for clients that take it."""

API: Final = "/api/v1/"

_MAX_DIGITS: Final = 10
"""Digits of ``Connect-Timeout-Ms``, as its specification says."""
_PROBES: Final = ("/healthz", "/livez", "/readyz")

BEAT_SECONDS: Final = 1.0
STALLED_SECONDS: Final = 30.0
"""A page whose event loop has been blocked for this long is not live."""

_SAFE: Final = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
"""Headers of every answer: nothing from elsewhere runs in the page, and no other site reads what is here."""


class WebApp(HttpApp):
    """The ASGI callable.

    Args:
        addresses: The processes to ask, one or more.
        credentials: For all of them; None speaks plain text.
        hosts: The names by which a browser may ask.
        path_prefix: A path under which all of it is served too, such as ``/mooring``; "" = none.
        impersonate: Whether the processes learn which client asks, and decide by its rights.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        credentials: grpc.ChannelCredentials | None,
        hosts: Hosts,
        path_prefix: str,
        *,
        impersonate: bool = False,
    ) -> None:
        super().__init__()
        self._impersonate = impersonate
        self._addresses = addresses
        self._credentials = credentials
        # A token isn't sent on in plain text.
        self._private = credentials is not None or all(is_local(each.target) for each in addresses)
        self._hosts = hosts
        self._prefix = f"/{path_prefix.strip('/')}".rstrip("/")
        self._files = read_files()
        self._budget = MemoryBudget(body_budget_bytes())
        self._end_waiting: Callable[[], object] | None = None
        self._last_beat = math.inf
        self._stopping: asyncio.Event
        self._processes: Processes
        self._gateway: Gateway
        self._beating: asyncio.Task[None]

    def withdraw(self) -> None:
        """End calls that wait, and from now on each connection with its answer. Any thread."""
        super().withdraw()
        if self._end_waiting is not None:
            self._end_waiting()

    def stalled(self) -> str:
        """Return why only a restart helps; "" while none is needed. Any thread."""
        silent = time.monotonic() - self._last_beat
        return f"the page has not answered for {silent:.0f} s" if silent > STALLED_SECONDS else ""

    async def _start(self) -> None:
        self._processes = Processes(self._addresses, self._credentials)
        self._gateway = Gateway(self._processes)
        self._stopping = asyncio.Event()
        self._end_waiting = partial(asyncio.get_running_loop().call_soon_threadsafe, self._stopping.set)
        self._beating = asyncio.create_task(self._beat())

    async def _stop(self) -> None:
        self._beating.cancel()
        await self._processes.close()

    async def _beat(self) -> None:
        while True:
            self._last_beat = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)

    async def _respond(self, scope: Scope, receive: Receive) -> Answer:
        headers = dict(scope["headers"])
        return _safe(await _compressed(await self._found(scope, receive, headers), headers))

    async def _found(self, scope: Scope, receive: Receive, headers: Mapping[bytes, bytes]) -> Answer:
        path: str = scope["path"]
        if path in _PROBES:
            return OK
        if wrong := self._hosts.rejection(headers.get(b"host", b"")):
            return misdirected(HTTPStatus.MISDIRECTED_REQUEST, wrong)
        if self._prefix and path == self._prefix:
            # The page's addresses are relative: without the slash they would miss the prefix.
            return Answer(HTTPStatus.PERMANENT_REDIRECT, b"", headers=((b"location", self._home()),))
        relative = path.removeprefix(self._prefix) if path.startswith(f"{self._prefix}/") else path
        if not relative.startswith(API):
            return self._file(scope["method"], relative, headers)
        try:
            return await self._ask(scope, receive, relative.removeprefix(API), headers)
        except MooringError as error:
            return rejected(error)
        except grpc.aio.AioRpcError as error:
            return failed_call(error)

    def _home(self) -> bytes:
        return f"{self._prefix}/".encode()

    def _file(self, method: str, path: str, headers: Mapping[bytes, bytes]) -> Answer:
        file = self._files.get(path.removeprefix("/") or INDEX)
        if file is None:
            return misdirected(
                HTTPStatus.NOT_FOUND, f"there is no {path} here: the page is at {self._prefix}/"
            )
        if method not in ("GET", "HEAD"):
            return _not_allowed(method, b"GET, HEAD")
        return _file_answer(file, headers)

    async def _ask(self, scope: Scope, receive: Receive, path: str, headers: Mapping[bytes, bytes]) -> Answer:
        """Answer what the gateway answers. Raises MooringError or grpc.aio.AioRpcError as ``Gateway``."""
        token = headers.get(b"authorization", b"").decode("latin-1") if self._private else ""
        own = on_behalf_of(connection_of(scope)) if self._impersonate and not token else ()
        pass_on((*own, *(((TOKEN_HEADER, token),) if token else ())))
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        route, parts = route_of(path)
        if route == "processes":
            reading = self._gateway.processes
            return await reading() if scope["method"] == "GET" else _not_allowed(scope["method"], b"GET")
        if route == "decisions/SEQ/columns":
            if scope["method"] != "GET":
                return _not_allowed(scope["method"], b"GET")
            return await self._while_wanted(self._gateway.decision_columns(parts[0], query), receive)
        if (wrong := _wrong_call(scope["method"], headers)) is not None:
            return wrong
        seconds = _seconds(headers.get(b"connect-timeout-ms", b""))
        share = Share(self._budget, lambda: connection_of(scope).key)
        try:
            body = await read_body(receive, MAX_BODY_BYTES, share)
            if route == "explain/columns":
                return await self._while_wanted(self._gateway.explain_columns(body, query), receive)
            return await self._while_wanted(self._gateway.call(path, body, query, seconds), receive)
        except BodyTooLargeError:
            text = f"the body is larger than {MAX_BODY_BYTES} bytes"
            return misdirected(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        finally:
            share.end()

    async def _while_wanted(self, answering: Coroutine[Any, Any, Answer], receive: Receive) -> Answer:
        """Return the answer. The call ends early when its tab goes, or this process.

        Raises:
            MooringError, grpc.aio.AioRpcError: As ``answering``; DRAINING when this process ends.
        """
        work = asyncio.ensure_future(answering)
        gone, stopping = asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((work, gone, stopping), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if gone.done():
                raise ClientGoneError
            raise UnavailableError("mooring web is shutting down", reason="DRAINING")
        finally:
            for task in (work, gone, stopping):
                task.cancel()


ROUTES: Final = {
    "processes": re.compile("processes"),
    "decisions/SEQ/columns": re.compile("decisions/([^/]*)/columns"),
    "explain/columns": re.compile("explain/columns"),
    "METHOD": re.compile("(.*)", re.DOTALL),
}
"""The paths below ``api/v1/``, by their names in the table of rights; the first one that fits counts."""


def route_of(path: str) -> tuple[str, tuple[str, ...]]:
    """Return the route of a path below ``api/v1/``, and the parts of the path that it names."""
    fitting = ((name, found.groups()) for name, form in ROUTES.items() if (found := form.fullmatch(path)))
    return next(fitting)


def _wrong_call(method: str, headers: Mapping[bytes, bytes]) -> Answer | None:
    """Return the answer to a call whose method or headers are wrong; None if they are right."""
    if method != "POST":
        return _not_allowed(method, b"POST")
    # Another site's page can't send this type without a CORS preflight, which is never allowed.
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        return misdirected(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send Content-Type: application/json")
    if headers.get(b"connect-protocol-version", b"1") != b"1":
        return misdirected(HTTPStatus.BAD_REQUEST, "Connect-Protocol-Version has to be 1")
    return None


def _seconds(milliseconds: bytes) -> float:
    """Return the time that a call may take. Raises InvalidArgumentError if it is not a number from 1 to
    9999999999.
    """
    if not milliseconds:
        return CALL_SECONDS
    if not (milliseconds.isdigit() and len(milliseconds) <= _MAX_DIGITS and int(milliseconds)):
        raise InvalidArgumentError.at(
            "Connect-Timeout-Ms", f"{milliseconds.decode('latin-1')!r} is not a number from 1 to 9999999999"
        )
    return int(milliseconds) / 1e3


def _not_allowed(method: str, allowed: bytes) -> Answer:
    text = f"method {method} is not allowed here: use {allowed.decode()}"
    return misdirected(HTTPStatus.METHOD_NOT_ALLOWED, text, (b"allow", allowed))


def _file_answer(file: File, headers: Mapping[bytes, bytes]) -> Answer:
    kept: Headers = ((b"cache-control", b"no-cache"), (b"etag", file.tag), (b"vary", b"accept-encoding"))
    if file.tag in headers.get(b"if-none-match", b""):
        return Answer(HTTPStatus.NOT_MODIFIED, b"", file.content_type, kept)
    if b"gzip" in headers.get(b"accept-encoding", b""):
        kept = (*kept, (b"content-encoding", b"gzip"))
        return Answer(HTTPStatus.OK, file.compressed, file.content_type, kept)
    return Answer(HTTPStatus.OK, file.body, file.content_type, kept)


async def _gone(receive: Receive) -> None:
    """Wait until the client has gone. Its body was read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _compressed(answer: Answer, headers: Mapping[bytes, bytes]) -> Answer:
    """Return a long answer of the gateway by gzip, if the client takes that; files are compressed already."""
    small = len(answer.body) < COMPRESSED_BYTES or answer.headers
    if small or b"gzip" not in headers.get(b"accept-encoding", b""):
        return answer
    body = await asyncio.to_thread(gzip.compress, answer.body, 1, mtime=0)
    return replace(answer, body=body, headers=((b"content-encoding", b"gzip"),))


def _safe(answer: Answer) -> Answer:
    """Return an answer with the headers of every answer; nothing keeps it unless it says so."""
    kept = any(name == b"cache-control" for name, _ in answer.headers)
    cache = () if kept else ((b"cache-control", b"no-store"),)
    return replace(answer, headers=(*_SAFE, *answer.headers, *cache))


CONTENT_TYPES: Final = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
"""By the end of the name; a file of another kind is not served."""

INDEX: Final = "index.html"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page.

    Attributes:
        body: Its bytes.
        compressed: The same in gzip.
        content_type: Their media type.
        tag: Changes with the bytes, for ``ETag``.
    """

    body: bytes
    compressed: bytes
    content_type: bytes
    tag: bytes


def read_files() -> Mapping[str, File]:
    """Return the page's files by name; ``INDEX`` is the page itself."""
    found = {}
    for item in (resources.files(__package__) / "static").iterdir():
        kind = CONTENT_TYPES.get(item.name[item.name.rfind(".") :])
        if kind is not None:
            body = item.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'.encode()
            found[item.name] = File(body, gzip.compress(body, mtime=0), kind, tag)
    return found
