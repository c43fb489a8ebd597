"""Reaches servers with measured values: the client's credentials, the server's authority."""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from mooring.files import read_file
from mooring.framework import FieldError
from mooring.framework.certificates import verify_as_go
from mooring.http_client.client import get
from mooring.http_client.origin import head_of

ANSWER_BYTES = 16 << 20
"""Bytes of the longest answer: a node takes some 200."""

_HEADER_NAME = re.compile(r"[a-zA-Z0-9!#$%&'*+.^_`|~-]+")

T = TypeVar("T")


class MeasurementError(Exception):
    """There are no values; the text says why."""


class _ErrorAnswer(msgspec.Struct, frozen=True):
    error: str


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """Credentials and the server's authority. Files are read at each request, since they are rotated.

    Attributes:
        bearer_token_file: The token to show; "" = none.
        username: For basic authentication; "" = none.
        password_file: Its password.
        ca_file: The authorities, PEM, that the server's certificate must come from; "" = the system's.
        headers: Further headers, such as ``X-Scope-OrgID``; credentials belong in files.
    """

    bearer_token_file: str = ""
    username: str = ""
    password_file: str = ""
    ca_file: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def faults(self, path: str = "") -> Iterator[FieldError]:
        """Yield the errors of the fields that types can't express, each with ``path`` before its name."""
        if self.bearer_token_file and self.username:
            yield FieldError(f"{path}username", "is given together with bearerTokenFile; choose one")
        if bool(self.username) != bool(self.password_file):
            missing = "passwordFile" if self.username else "username"
            message = "is missing: basic authentication needs username and passwordFile"
            yield FieldError(f"{path}{missing}", message)
        if ":" in self.username:
            yield FieldError(f"{path}username", "must not contain a colon")
        for name, value in self.headers.items():
            if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
                yield FieldError(f"{path}headers", f"{name!r}: {value!r} is not a header of HTTP")
            elif name.lower() == "authorization":
                yield FieldError(f"{path}headers", f"{name!r} belongs in bearerTokenFile or passwordFile")

    def read(self, url: str, timeout: timedelta, kind: type[T]) -> T:
        """Return the JSON of a server's answer as a ``kind``.

        Raises:
            MeasurementError: The server gave no usable answer; the text begins with the server.
        """
        server = url.partition("?")[0]
        try:
            head = head_of(self._request_headers())
            answer = get(url, head, timeout.total_seconds(), tls=self._tls, max_bytes=ANSWER_BYTES)
        except OSError as error:
            raise MeasurementError(f"{server}: {error}") from None
        except ValueError:
            # The error's text has the credentials in it.
            raise MeasurementError(
                f"{server}: a file with credentials isn't one line of plain text"
            ) from None
        if not 200 <= answer.status < 300:
            raise MeasurementError(f"{server}: HTTP {answer.status}: {_error_text(answer.body)}")
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except msgspec.DecodeError as error:
            raise MeasurementError(f"{server}: no answer to a query: {error}") from None

    def _request_headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        if self.bearer_token_file:
            headers["Authorization"] = f"Bearer {read_file(self.bearer_token_file).decode().strip()}"
        elif self.username:
            password = read_file(self.password_file).decode().rstrip("\r\n")
            pair = base64.b64encode(f"{self.username}:{password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers

    def _tls(self) -> ssl.SSLContext:
        return verify_as_go(ssl.create_default_context(cafile=self.ca_file or None))


def is_url(text: str) -> bool:
    """Return whether ``text`` is the URL of an HTTP server."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _error_text(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_ErrorAnswer).error
    except msgspec.DecodeError:
        return "no reason given"
