"""The kubernetes package's connection pool, used without the calls that it generates.

Those decode a binding's answer wrongly, retry no 429 and lose a rejection's text; here answers are bytes.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from mooring.cluster.api.answers import Answered, Response, Stream, unanswered
from mooring.tracing.spans import outgoing_headers

CREDENTIALS_SECONDS = 1.0
"""Seconds for which credentials count as fresh: tokens are renewed in the background, but reading a
kubeconfig's takes a third of a request. A token that expires meanwhile is rejected, and then everything is
read again."""


class ApiRequest(msgspec.Struct, frozen=True):
    """One request, ready to be sent any number of times.

    Attributes:
        method: GET, POST, PUT, PATCH or DELETE.
        path: From the server's root.
        query: Parameters of the URL.
        data: The body; None = none.
        content_type: The body's media type.
        before: Called right before a request with a body is sent; what it raises ends the request.
        accept: The media type of the answer.
    """

    method: str
    path: str
    query: Mapping[str, str] = {}
    data: bytes | None = None
    content_type: str = ""
    before: Callable[[], None] | None = None
    accept: str = "application/json"


class Connection:
    """The connections of one configuration. Safe from any thread.

    Args:
        configuration: A ``kubernetes.client.Configuration``.
        user_agent: The User-Agent of requests.

    Attributes:
        address: The server's URL.
        host: Host and port in it.
    """

    def __init__(self, configuration: Any, user_agent: str) -> None:
        from kubernetes.client.rest import RESTClientObject

        from mooring.cluster.api.exchanges import Exchanges
        from mooring.cluster.api.whole_answers import with_whole_answers

        self.address = str(configuration.host)
        self.host = self.address.partition("//")[2]
        self._configuration = configuration
        self._user_agent = user_agent
        self._known_credentials: tuple[Mapping[str, str], float] = {}, -math.inf
        self._known_heads: tuple[Mapping[str, str], dict[tuple[str, str | None], bytes]] = {}, {}
        self._manager: Any = with_whole_answers(RESTClientObject(configuration).pool_manager)
        self._pool: Any = self._manager.connection_from_url(self.address)
        self._exchanges = Exchanges(self._dial)
        url = urlsplit(self.address)
        self._host = url.netloc.rpartition("@")[2]
        self._prefix = self.address if self._manager.proxy and url.scheme == "http" else url.path

    def exchange(self, request: ApiRequest, seconds: float) -> Response:
        """Return the whole answer, whatever its status. A GET whose connection broke is sent once more.

        Raises:
            UnavailableError: There was none within ``seconds``; the request may have been carried out.
        """
        from urllib3.exceptions import HTTPError

        end = time.monotonic() + seconds
        # The server may close an idle connection just as it is used again; only reads are harmless to repeat.
        sendings = 2 if request.method == "GET" else 1
        while True:
            left = max(end - time.monotonic(), 0.001)
            try:
                answer = self._send(request, connect=left / 2, read=left, whole=True)
                return Response(answer.status, answer.headers, answer.data or b"")
            except (HTTPError, OSError) as error:
                sendings -= 1
                if not sendings or time.monotonic() >= end:
                    raise unanswered(f"{type(error).__name__}: {error}") from error

    def open(self, request: ApiRequest, connect: float, read: float) -> Stream:
        """Return an answer that goes on; ``connect`` and ``read`` are the longest waits, in seconds.

        Raises:
            UnavailableError: There was none.
        """
        from urllib3.exceptions import HTTPError

        try:
            return Stream(self._send(request, connect, read, whole=False))
        except (HTTPError, OSError) as error:
            raise unanswered(f"{type(error).__name__}: {error}") from error

    @property
    def ready(self) -> bool:
        """Whether ``begin`` has an idle connection."""
        return self._exchanges.ready

    def open_ahead(self) -> bool:
        """Open a connection for ``begin`` unless it has enough; return whether one may be idle. Blocks."""
        from urllib3.exceptions import HTTPError

        try:
            return self._exchanges.open()
        except (HTTPError, OSError):
            return False

    def begin(self, request: ApiRequest, seconds: float, answered: Answered) -> bool:
        """Send a request over an idle connection and report its answer later; without one return False."""
        from mooring.cluster.api.whole_answers import message_of

        message = message_of(request.method, self._url(request), self._head(request), request.data)
        return self._exchanges.begin(message, request.before or _always, seconds, answered)

    def end_exchanges(self) -> None:
        """Close what ``begin`` uses: other credentials have taken the place of these."""
        self._exchanges.close()

    def close(self) -> None:
        """Close the idle connections."""
        self._exchanges.close()
        self._manager.clear()

    def _send(self, request: ApiRequest, connect: float, read: float, *, whole: bool) -> Any:
        from urllib3 import Timeout

        from mooring.cluster.api.whole_answers import GuardedBody

        body = request.data
        if body is not None and request.before is not None:
            body = GuardedBody.of(body, request.before)
        return self._pool.urlopen(
            request.method,
            self._url(request),
            body=body,
            headers=self._headers(request),
            timeout=Timeout(connect=connect, read=read),
            retries=False,
            redirect=False,
            assert_same_host=False,
            preload_content=whole,
        )

    def _dial(self) -> socket.socket | None:
        dialled: socket.socket | None = self._pool.dial()
        return dialled

    def _url(self, request: ApiRequest) -> str:
        query = f"?{_encoded(tuple(request.query.items()))}" if request.query else ""
        return f"{self._prefix}{request.path}{query}"

    def _headers(self, request: ApiRequest) -> dict[str, str]:
        return {**self._common_headers(request), **self._credentials(), **outgoing_headers()}

    def _common_headers(self, request: ApiRequest) -> dict[str, str]:
        headers = {
            "Host": self._host,
            "Accept": request.accept,
            "Accept-Encoding": "identity",
            "User-Agent": self._user_agent,
        }
        if request.data is not None:
            headers["Content-Type"] = request.content_type
        return headers

    def _head(self, request: ApiRequest) -> bytes:
        """Return the headers as they are sent; those that requests of a kind have in common are made once."""
        from mooring.cluster.api.whole_answers import head_of

        credentials, (of_credentials, heads) = self._credentials(), self._known_heads
        if credentials is not of_credentials:
            heads = {}
            self._known_heads = credentials, heads
        kind = request.accept, request.content_type if request.data is not None else None
        head = heads.get(kind)
        if head is None:
            head = heads[kind] = head_of({**self._common_headers(request), **credentials})
        traced = outgoing_headers()
        return head + head_of(traced) if traced else head

    def _credentials(self) -> Mapping[str, str]:
        """Return the headers with our credentials."""
        headers, until = self._known_credentials
        now = time.monotonic()
        if now >= until:
            settings = self._configuration.auth_settings().values()
            headers = {setting["key"]: setting["value"].strip() for setting in settings}
            self._known_credentials = headers, now + CREDENTIALS_SECONDS
        return headers


@lru_cache(maxsize=256)
def _encoded(parameters: tuple[tuple[str, str], ...]) -> str:
    """Return the parameters as a URL has them: most requests have the same as others."""
    return urlencode(parameters)


def _always() -> None:
    """Let a request be sent."""
