"""HTTP to one extender. Mirrors ``makeTransport`` and ``send`` in ``pkg/scheduler/extender.go``.

``enableHTTPS`` does not choose the scheme, the URL does: it says that without a CA nothing is verified.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import logging
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from mooring import __version__
from mooring.config.show import without_secrets
from mooring.config.types import ExtenderStanza, ExtenderTLS
from mooring.files import read_file, seen
from mooring.framework.args import FieldError
from mooring.framework.certificates import load_pair, verify_as_go
from mooring.framework.errors import InvalidArgumentError
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

_CHUNK = 1 << 16


class TransportError(Exception):
    """There was no answer; the request may have taken effect."""


@dataclass(frozen=True, slots=True)
class ExtenderAnswer:
    """An answer: its HTTP status and its body."""

    status: int
    body: bytes


class Transport:
    """Calls an extender: connections are reused, and nothing is sent twice. Safe from any thread."""

    def __init__(self, manager: Any, authorization: Mapping[str, str]) -> None:
        self._manager = manager
        self._headers = {**HEADERS, **authorization}

    def post(self, url: str, body: bytes, seconds: float) -> ExtenderAnswer:
        """POST JSON and read the whole answer within ``seconds``.

        Raises:
            TransportError: There was none.
        """
        from urllib3 import Timeout
        from urllib3.exceptions import HTTPError

        began = time.monotonic()
        end = began + seconds
        try:
            response = self._manager.request(
                "POST",
                url,
                body=body,
                headers={**self._headers, **outgoing_headers()},
                timeout=Timeout(total=seconds),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                return ExtenderAnswer(response.status, _read(response, end))
            except BaseException:
                response.close()
                raise
            finally:
                response.release_conn()
        except (HTTPError, OSError) as error:
            raise TransportError(without_secrets(f'Post "{url}": {error}')) from error
        finally:
            span = current_span()
            if span is not None:
                span.record("HTTP POST", time.monotonic() - began, {"url.full": without_secrets(url)})


def _read(response: Any, end: float) -> bytes:
    """Return the whole body, which may come in pieces, each of them in time.

    Raises:
        TimeoutError: It isn't there at ``end``, by ``time.monotonic``.
        OSError: It is too long.
    """
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > ANSWER_BYTES:
            raise OSError(f"the answer has more than {ANSWER_BYTES} bytes")
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer was not complete in time")
        if response.connection is not None and response.connection.sock is not None:
            response.connection.sock.settimeout(left)
    return b"".join(chunks)


def build_transport(extender: ExtenderStanza, path: str) -> Transport:
    """Return the way to ``extender``, whose stanza is at ``path`` of the configuration.

    Args:
        extender: Its stanza.
        path: For errors.

    Raises:
        InvalidArgumentError: Its TLS can't be used.
    """
    from urllib3 import PoolManager, ProxyManager, disable_warnings
    from urllib3.exceptions import InsecureRequestWarning

    context = _context(extender, f"{path}.tlsConfig")
    options: dict[str, Any] = {"maxsize": CONNECTIONS, "ssl_context": context}
    if extender.tls_config and extender.tls_config.server_name:
        options["server_hostname"] = extender.tls_config.server_name
    if extender.url_prefix.startswith("https:") and context.verify_mode is ssl.CERT_NONE:
        log.warning(
            "%s: the certificate of %s is not verified; give a CA in tlsConfig",
            path,
            without_secrets(extender.url_prefix),
        )
        # Once is enough; urllib3 would say it at each call.
        disable_warnings(InsecureRequestWarning)
    proxy = _proxy(extender.url_prefix, os.environ)
    authorization = _basic(extender.url_prefix, "Authorization")
    if not proxy:
        return Transport(PoolManager(**options), authorization)
    headers = _basic(proxy, "Proxy-Authorization")
    return Transport(ProxyManager(proxy, proxy_headers=headers, **options), authorization)


def _basic(url: str, header: str) -> dict[str, str]:
    """Return the header that shows the user and the password in ``url``, as Go sends it; none without."""
    parts = urlsplit(url)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {header: f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _context(extender: ExtenderStanza, path: str) -> ssl.SSLContext:
    """Return what is verified, and what this side proves itself with.

    Raises:
        InvalidArgumentError: A certificate can't be used, or the settings contradict each other.
    """
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


def _proxy(url: str, environment: Mapping[str, str]) -> str | None:
    """Return the proxy that the environment names for ``url``, by Go's rules: none for this host or by
    NO_PROXY.

    Mirrors ``NewProxierWithNoProxyCIDR`` in ``k8s.io/apimachinery/pkg/util/net/http.go``.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    named = {name.lower(): value for name, value in environment.items() if name.lower().endswith("_proxy")}
    proxy = named.get(f"{parts.scheme}_proxy", "")
    if not proxy or host == "localhost" or _bypassed(host, named.get("no_proxy", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _bypassed(host: str, rules: str) -> bool:
    """Return whether NO_PROXY names the host: as it is, by the end of its name, or by its network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is not None and address.is_loopback:
        return True
    for rule in (rule.strip().lower() for rule in rules.split(",")):
        if not rule:
            continue
        if rule in ("*", host) or host.endswith(f".{rule.lstrip('.')}"):
            return True
        try:
            if address is not None and address in ipaddress.ip_network(rule, strict=False):
                return True
        except ValueError:
            continue
    return False
