"""HTTP to one extender. Mirrors ``makeTransport`` and ``send`` in ``pkg/scheduler/extender.go``.

``enableHTTPS`` does not choose the scheme, the URL does: it says that without a CA nothing is verified.
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
import ssl
import time
import zlib

from mooring import __version__
from mooring.config.show import without_secrets
from mooring.config.types import ExtenderStanza, ExtenderTLS
from mooring.files import read_file, seen
from mooring.framework.args import FieldError
from mooring.framework.certificates import load_pair, verify_as_go
from mooring.framework.errors import InvalidArgumentError
from mooring.http_client.answers import HttpAnswer, ProtocolError
from mooring.http_client.client import HttpClient
from mooring.http_client.origin import HttpConnection, Origin, credentials_in, head_of, message_of, quoted
from mooring.http_client.proxies import proxy_for
from mooring.tracing.spans import current_span, outgoing_headers

log = logging.getLogger(__name__)

CONNECTIONS = 16
"""Connections that are kept for further calls; bindings overlap."""

HEADERS = {
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": f"mooring/{__version__}",
}

ANSWER_BYTES = 64 << 20
"""Bytes of the longest answer, after decompression: whole nodes are 5 kB each, about."""

_GZIP = zlib.MAX_WBITS | 16


class TransportError(Exception):
    """There was no answer; the request may have taken effect."""


class Transport:
    """Calls an extender: connections are reused, and nothing is sent twice. Safe from any thread.

    Args:
        prefix: The URL that the extender's verbs follow.
        origin: Where it leads.
    """

    def __init__(self, prefix: str, origin: Origin) -> None:
        self._prefix = prefix.rstrip("/")
        self._origin = origin
        self._client = HttpClient(origin, CONNECTIONS)
        self._head = head_of({**origin.headers, **HEADERS, **credentials_in(prefix, "Authorization")})

    def url(self, verb: str) -> str:
        """Return the URL of a verb, without a password."""
        return without_secrets(f"{self._prefix}/{verb}")

    def message(self, verb: str, body: bytes) -> bytes:
        """Return the request that posts JSON to a verb."""
        head = self._head + head_of(outgoing_headers())
        return message_of("POST", self._origin.target(f"/{quoted(verb)}"), head, body)

    def connect(self, seconds: float) -> HttpConnection:
        """Return a new connection, which the caller closes. Raises ``OSError`` if there is none."""
        return self._origin.connect(seconds)

    def post(self, verb: str, body: bytes, seconds: float) -> HttpAnswer:
        """POST JSON and read the whole answer within ``seconds``. Raises TransportError if there was none."""
        began = time.monotonic()
        try:
            return _decompressed(
                self._client.exchange(self.message(verb, body), seconds, max_bytes=ANSWER_BYTES)
            )
        except OSError as error:
            raise TransportError(f'Post "{self.url(verb)}": {error}') from error
        finally:
            span = current_span()
            if span is not None:
                span.record("HTTP POST", time.monotonic() - began, {"url.full": self.url(verb)})


def _decompressed(answer: HttpAnswer) -> HttpAnswer:
    """Return the answer with its body decompressed; ProtocolError if it is broken or too long."""
    if answer.headers.get("content-encoding", "").lower() != "gzip":
        return answer
    parts, left, size = [], answer.body, 0
    try:
        # As in Go, a body may consist of several that were compressed one by one.
        while left:
            member = zlib.decompressobj(_GZIP)
            parts.append(member.decompress(left, ANSWER_BYTES + 1 - size))
            size += len(parts[-1])
            if size > ANSWER_BYTES:
                raise ProtocolError(f"the answer has more than {ANSWER_BYTES} bytes")
            if not member.eof:
                raise ProtocolError("the compressed answer is cut off")
            left = member.unused_data
    except zlib.error as error:
        raise ProtocolError(f"the answer can't be decompressed: {error}") from error
    return answer._replace(body=b"".join(parts))


def build_transport(extender: ExtenderStanza, path: str) -> Transport:
    """Return the way to ``extender``, whose stanza is at ``path`` of the configuration. Raises
    InvalidArgumentError if its address or its TLS can't be used.
    """
    url, tls = extender.url_prefix, extender.tls_config or ExtenderTLS()
    context = _context(extender, f"{path}.tlsConfig")
    if url.startswith("https:") and context.verify_mode is ssl.CERT_NONE:
        log.warning(
            "%s: the certificate of %s is not verified; give a CA in tlsConfig", path, without_secrets(url)
        )
    try:
        proxy = proxy_for(url, os.environ)
        return Transport(url, Origin(url, lambda: context, server_name=tls.server_name, proxy=proxy))
    except ValueError as error:
        raise InvalidArgumentError.at(f"{path}.urlPrefix", f"can't be used: {error}") from error


def _context(extender: ExtenderStanza, path: str) -> ssl.SSLContext:
    """Return a context that verifies the extender and shows the client's certificate."""
    tls = extender.tls_config or ExtenderTLS()
    has_authority = bool(tls.ca_data or tls.ca_file)
    if has_authority and tls.insecure:
        raise InvalidArgumentError.at(
            f"{path}.insecure", "is true although a CA is given; leave out one of the two"
        )
    try:
        named = ((tls.ca_file, tls.ca_data), (tls.cert_file, tls.cert_data), (tls.key_file, tls.key_data))
        for file in (file for file, data in named if file and not data):
            seen(file)
        context = ssl.create_default_context(
            cafile=tls.ca_file or None if not tls.ca_data else None,
            cadata=_inline(tls.ca_data).decode() if tls.ca_data else None,
        )
        verify_as_go(context)
        if tls.insecure or (extender.enable_https and not has_authority):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _prove(context, tls)
    except (OSError, ValueError) as error:
        raise InvalidArgumentError([FieldError(path, f"can't be used: {error}")]) from error
    return context


def _prove(context: ssl.SSLContext, tls: ExtenderTLS) -> None:
    """Load the client's certificate, if there are both halves of one, each inline or in a file."""
    if not ((tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file)):
        return
    if tls.cert_data or tls.key_data:
        load_pair(context, _pem(tls.cert_data, tls.cert_file), _pem(tls.key_data, tls.key_file))
    else:
        context.load_cert_chain(tls.cert_file, tls.key_file)


def _pem(data: str, file: str) -> bytes:
    return _inline(data) if data else read_file(file)


def _inline(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError(f"inline data is not base64: {error}") from None
