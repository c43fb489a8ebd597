"""Requests to an API server, with the address and the credentials of a kubernetes package's configuration.

The calls that the package generates decode a binding's answer wrongly, repeat no 429 and lose a rejection's
text; here answers are bytes.
"""

from __future__ import annotations

import math
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from mooring.cluster.api.answers import Response, Stream, no_answer
from mooring.framework.certificates import verify_as_go
from mooring.framework.errors import InvalidArgumentError
from mooring.http_client.client import HttpClient
from mooring.http_client.exchanges import Answered, Exchanges
from mooring.http_client.origin import Origin, head_of, message_of
from mooring.http_client.tls import ResumingContext
from mooring.serving.certificates import FollowedFiles, TlsFiles
from mooring.tracing.spans import outgoing_headers

CONNECTIONS = 64
"""Connections that are kept for further requests."""

CREDENTIALS_SECONDS = 1.0
"""Seconds for which credentials count as fresh: tokens are renewed in the background, but reading a
kubeconfig's takes a third of a request. A token that expires meanwhile is rejected, and then everything is
read again."""


class ApiRequest(msgspec.Struct, frozen=True):
    """One request, ready to be sent any number of times.

    Attributes:
        method: GET, POST, PUT, PATCH or DELETE.
        path: From the server's root.
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

    Raises:
        InvalidArgumentError: The address or the proxy can't be used.
    """

    def __init__(self, configuration: Any, user_agent: str) -> None:
        self.address = str(configuration.host)
        self._configuration = configuration
        self._user_agent = user_agent
        self._known_credentials: tuple[Mapping[str, str], float] = {}, -math.inf
        self._origin = _origin(configuration)
        self.host = self._origin.host
        self._client = HttpClient(self._origin, CONNECTIONS)
        self._exchanges = Exchanges(self._origin)

    def exchange(self, request: ApiRequest, seconds: float) -> Response:
        """Return the whole answer, whatever its status. A GET whose connection broke is sent once more.
        Raises UnavailableError if there was none within ``seconds``; the request may have been carried out.
        """
        end = time.monotonic() + seconds
        # The server may close an idle connection just as it is used again; only reads are harmless to repeat.
        sendings = 2 if request.method == "GET" else 1
        while True:
            left = end - time.monotonic()
            try:
                answer = self._client.exchange(
                    self._message(request),
                    left,
                    connect_seconds=left / 2,
                    before=None if request.data is None else request.before,
                )
                return Response(*answer)
            except OSError as error:
                sendings -= 1
                if not sendings or time.monotonic() >= end:
                    raise no_answer(error) from error

    def open(self, request: ApiRequest, connect: float, read: float) -> Stream:
        """Return an answer that goes on; ``connect`` and ``read`` are the longest waits, in seconds. Raises
        UnavailableError if there was none.
        """
        try:
            return Stream(self._client.open(self._message(request), connect, read))
        except OSError as error:
            raise no_answer(error) from error

    @property
    def ready(self) -> bool:
        """Whether ``begin`` has an idle connection."""
        return self._exchanges.ready

    def open_ahead(self) -> bool:
        """Open a connection for ``begin`` unless it has enough; return whether one may be idle. Blocks."""
        try:
            return self._exchanges.open()
        except OSError:
            return False

    def begin(self, request: ApiRequest, seconds: float, answered: Answered) -> bool:
        """Send a request over an idle connection, whose answer is passed on; without one return False."""
        return self._exchanges.begin(self._message(request), request.before or _always, seconds, answered)

    def close(self) -> None:
        """Close the idle connections now, and others after their answers."""
        self._exchanges.close()
        self._client.close()

    def _message(self, request: ApiRequest) -> bytes:
        query = f"?{_encoded(tuple(request.query.items()))}" if request.query else ""
        headers = {
            **self._origin.headers,
            "Accept": request.accept,
            "Accept-Encoding": "identity",
            "User-Agent": self._user_agent,
            **self._credentials(),
            **outgoing_headers(),
        }
        if request.data is not None:
            headers["Content-Type"] = request.content_type
        target = self._origin.target(f"{request.path}{query}")
        return message_of(request.method, target, head_of(headers), request.data)

    def _credentials(self) -> Mapping[str, str]:
        """Return the headers with our credentials."""
        headers, until = self._known_credentials
        now = time.monotonic()
        if now >= until:
            settings = self._configuration.auth_settings().values()
            headers = {setting["key"]: setting["value"].strip() for setting in settings}
            self._known_credentials = headers, now + CREDENTIALS_SECONDS
        return headers


def _origin(configuration: Any) -> Origin:
    from kubernetes.client.rest import should_bypass_proxies

    address, proxy = str(configuration.host), configuration.proxy or ""
    if proxy and should_bypass_proxies(address, configuration.no_proxy or ""):
        proxy = ""
    tls = TlsContexts(configuration)
    try:
        return Origin(address, tls.current, server_name=configuration.tls_server_name or "", proxy=proxy)
    except ValueError as error:
        raise InvalidArgumentError.at("kubeconfig", f"{address} can't be used: {error}") from error


@lru_cache(maxsize=256)
def _encoded(parameters: tuple[tuple[str, str], ...]) -> str:
    """Return the parameters as a URL has them: most requests have the same as others."""
    return urlencode(parameters)


def _always() -> None:
    """Let a request be sent."""


class TlsContexts:
    """The TLS context of an API server, one as long as its files stay the same. Safe from any thread.

    Args:
        configuration: A ``kubernetes.client.Configuration``. Without authorities in it those of the system
            are trusted.
    """

    def __init__(self, configuration: Any) -> None:
        named = (configuration.cert_file, configuration.key_file, configuration.ssl_ca_cert)
        self._files = TlsFiles(*[Path(name) if name else None for name in named])
        self._authority_data: str | bytes | None = configuration.ca_cert_data
        self._verifies = bool(configuration.verify_ssl)
        self._lock = threading.Lock()
        self._followed: FollowedFiles[ResumingContext] | None = None

    def current(self) -> ResumingContext:
        """Return the context for another connection. Raises OSError if a file can't be used, such as a key
        that is encrypted, and none before it could be.
        """
        with self._lock:
            if self._followed is None:
                self._followed = FollowedFiles(self._files, self._read)
            self._followed.changed()
            return self._followed.current

    def _read(self, files: TlsFiles) -> ResumingContext:
        context = ResumingContext(ssl.PROTOCOL_TLS_CLIENT)
        verify_as_go(context)
        if not self._verifies:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if files.authority or self._authority_data:
            context.load_verify_locations(files.authority, cadata=self._authority_data)
        else:
            context.load_default_certs()
        if files.certificate:
            # With a password OpenSSL does not ask the terminal for one.
            context.load_cert_chain(files.certificate, files.key, password="")
        return context
