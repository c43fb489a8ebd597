"""The one client of the API server: every request of mooring goes through it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mooring import __version__
from mooring.cluster.api import configuration
from mooring.cluster.api.answers import JSON, Answered, Response, Stream, no_answer, unanswered
from mooring.cluster.api.connection import ApiRequest, Connection
from mooring.framework.errors import InvalidArgumentError
from mooring.http_client.answers import HttpAnswer

log = logging.getLogger(__name__)

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

DEFAULT_TIMEOUT_SECONDS = 10.0
DEFAULT_PAUSE_SECONDS = 1.0
"""Before a request that was put off is repeated, when the server names no time."""

CONNECT_SECONDS = 5.0
"""For the connection of a stream."""


def _untold(_method: str, _host: str, _code: int, _seconds: float) -> None:
    pass


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How to talk to the API server.

    Attributes:
        user_agent: The User-Agent of requests.
        timeout_seconds: For a request without a timeout of its own, waits and retries included.
        qps: Requests per second, on average; 0 = no limit.
        burst: Requests that may be sent at once under that limit.
        ended: Called after each exchange: method, host, status code or 0 without an answer, and seconds.
    """

    user_agent: str = f"mooring/{__version__}"
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    qps: float = 0.0
    burst: int = 10
    ended: Callable[[str, str, int, float], None] = _untold


class ApiServer:
    """Requests to one API server. Safe from any thread.

    Args:
        load: Reads the connection's configuration; called again when the server rejects the credentials.
        options: How to talk to it.

    Raises:
        InvalidArgumentError: The configuration can't be used.
    """

    def __init__(self, load: configuration.Load, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        self._load = load
        self._lock = threading.Lock()
        self._bucket = TokenBucket(self.options.qps, self.options.burst) if self.options.qps else None
        self._connection = Connection(load(), self.options.user_agent)

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | Path,
        options: ClientOptions | None = None,
        *,
        server: str = "",
        context: str = "",
    ) -> ApiServer:
        """Return a client for a context of a kubeconfig file, "" = its current one; ``server`` replaces the
        address in it. Raises InvalidArgumentError if the file can't be used.
        """
        return cls(configuration.from_kubeconfig(path, server, context), options)

    @classmethod
    def in_cluster(cls, options: ClientOptions | None = None) -> ApiServer:
        """Return a client with the service account of the pod that this process runs in. Raises
        InvalidArgumentError if there is none.
        """
        return cls(configuration.in_cluster, options)

    @property
    def address(self) -> str:
        """The server's URL."""
        return self._connection.address

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        timeout: float | None = None,
        before: Callable[[], None] | None = None,
        accept: str = JSON,
    ) -> Response:
        """Send one request and return its response, whatever the status. ``failure`` says what a rejection
        means.

        Repeated, while time is left: a request that was put off (429), after the server's time; a GET that
        met an error with such a time, or whose connection broke. A request that was rejected for its
        credentials (401) is repeated once, with credentials read again.

        Args:
            method: GET, POST, PUT, PATCH or DELETE.
            path: From the root, such as ``/api/v1/nodes``.
            query: Parameters of the URL.
            body: JSON values, or bytes that are sent as they are; None = no body.
            content_type: The body's media type.
            timeout: Seconds for the whole call; None = ``options.timeout_seconds``.
            before: Called each time right before a request with a body is sent; what it raises ends the call.
            accept: The media type of the answer.

        Raises:
            UnavailableError: There was no answer; the request may have been carried out.
        """
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        request = ApiRequest(method, path, query or {}, data, content_type, before, accept)
        return self.send(request, timeout)

    def send(self, request: ApiRequest, timeout: float | None = None) -> Response:
        """As ``request``, of one that is put together."""
        end = time.monotonic() + (timeout or self.options.timeout_seconds)
        return self._repeated(request, self._answer(request, end), end)

    @property
    def ready(self) -> bool:
        """Whether ``begin`` can send a request now, if its turn has come."""
        return self._connection.ready

    def open_ahead(self) -> bool:
        """Open a connection for ``begin`` unless it has enough; return whether it may be ready. Blocks."""
        return self._connection.open_ahead()

    def begin(self, request: ApiRequest, answered: Answered) -> bool:
        """Send a request at once without waiting for its answer; False, and nothing is sent, when no
        connection is idle or its turn has not come.

        It is sent once, whatever the answer: ``finish`` repeats it as ``request`` does. The thread that takes
        the answers calls ``answered`` once. If it raises what ``request.before`` raised, nothing was sent.
        """
        if self._bucket is not None and not self._bucket.take_token(0.0):
            return False
        connection, began = self._connection, time.monotonic()

        def ended(answer: HttpAnswer | OSError) -> None:
            code = answer.status if isinstance(answer, HttpAnswer) else 0
            self._count(connection, request, code, began)
            answered(Response(*answer) if isinstance(answer, HttpAnswer) else no_answer(answer))

        return connection.begin(request, self.options.timeout_seconds, ended)

    def finish(self, request: ApiRequest, response: Response) -> Response:
        """Return the final answer to a request that was begun and got ``response``, repeated as ``request``
        says. Raises UnavailableError if there was none in the end; the request may have been carried out.
        """
        end = time.monotonic() + self.options.timeout_seconds
        if response.status == 401:
            response = self._exchange(self._reload(self._connection), request, end)
        return self._repeated(request, response, end)

    def _repeated(self, request: ApiRequest, response: Response, end: float) -> Response:
        while True:
            pause = _pause(request, response)
            if pause is None or time.monotonic() + pause >= end:
                return response
            time.sleep(pause)
            response = self._answer(request, end)

    def stream(
        self, path: str, *, query: Mapping[str, str] | None = None, read_timeout: float, accept: str = JSON
    ) -> Stream:
        """Return a GET whose answer goes on, such as a watch, whatever its status. The thread that reads
        closes it.

        ``read_timeout`` is in seconds: without a byte for as long, the connection counts as dead. ``accept``
        lists the media types of the answer, the preferred one first. Raises UnavailableError if there was no
        answer.
        """
        self._wait_for_turn(read_timeout)
        connection = self._connection
        stream = connection.open(
            ApiRequest("GET", path, query or {}, accept=accept), CONNECT_SECONDS, read_timeout
        )
        if stream.status == 401:
            self._reload(connection)
        return stream

    def close(self) -> None:
        """Close the idle connections; no more requests follow."""
        self._connection.close()

    def _answer(self, request: ApiRequest, end: float) -> Response:
        self._wait_for_turn(end - time.monotonic())
        connection = self._connection
        response = self._exchange(connection, request, end)
        if response.status == 401:
            response = self._exchange(self._reload(connection), request, end)
        return response

    def _exchange(self, connection: Connection, request: ApiRequest, end: float) -> Response:
        began, code = time.monotonic(), 0
        try:
            response = connection.exchange(request, end - began)
            code = response.status
            return response
        finally:
            self._count(connection, request, code, began)

    def _count(self, connection: Connection, request: ApiRequest, code: int, began: float) -> None:
        self.options.ended(request.method, connection.host, code, time.monotonic() - began)

    def _wait_for_turn(self, longest: float) -> None:
        if self._bucket is not None and not self._bucket.take_token(longest):
            raise unanswered(f"it would be sent too late at {self.options.qps:g} requests per second")

    def _reload(self, rejected: Connection) -> Connection:
        """Return a connection with current credentials: tokens rotate, and kubeconfig files are rewritten."""
        with self._lock:
            if self._connection is rejected:
                try:
                    self._connection = Connection(self._load(), self.options.user_agent)
                    rejected.close()
                except InvalidArgumentError as error:
                    log.warning(
                        "the API server rejects the credentials, and they can't be renewed: %s", error
                    )
            return self._connection


def _pause(request: ApiRequest, response: Response) -> float | None:
    """Seconds to wait before the request is repeated; None = the answer is final."""
    named = response.headers.get("retry-after", "")
    after = float(named) if named.isascii() and named.isdecimal() else None
    if response.status == 429:
        return DEFAULT_PAUSE_SECONDS if after is None else after
    return after if response.status >= 500 and request.method == "GET" else None


class TokenBucket:
    """Spreads requests over time. Safe from any thread. Mirrors k8s.io/client-go/util/flowcontrol.

    Args:
        qps: Requests per second, above 0.
        burst: Requests that may be sent at once, 1 or more.
    """

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._lock = threading.Lock()
        self._tokens = float(self._burst)
        self._counted_at = time.monotonic()

    def take_token(self, longest: float) -> bool:
        """Wait for the caller's turn; False, at once, when it would not come within ``longest`` seconds."""
        with self._lock:
            now = time.monotonic()
            grown = self._tokens + (now - self._counted_at) * self._qps
            self._tokens, self._counted_at = min(grown, self._burst), now
            wait = (1 - self._tokens) / self._qps
            if wait > longest:
                return False
            self._tokens -= 1
        if wait > 0:
            time.sleep(wait)
        return True
