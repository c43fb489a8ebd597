"""Raw HTTP to the listener of probes, metrics and the scheduler's pages."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, Final, cast

from prometheus_client import CollectorRegistry

from mooring.serving.listeners import page_listener
from mooring.serving.listeners.pages import configz, flagz, statusz
from mooring.serving.listeners.probes import Probes
from tests.laboratories.fuzz.judging import Judge, Target, check
from tests.laboratories.fuzz.mutating import changed_bytes
from tests.laboratories.fuzz.raw_http import HTTP_TOKENS

PATHS: Final = ("/healthz", "/livez", "/readyz", "/metrics", "/configz", "/flagz", "/statusz", "/none?x=1")
AS_JSON: Final = b"application/json;g=config.k8s.io;v=v1beta1;as=Statusz"


def seeds() -> tuple[bytes, ...]:
    """Return each page, requested as text and as JSON."""
    return tuple(
        b"GET %s HTTP/1.1\r\nHost: x\r\nAccept: %s\r\nAuthorization: Bearer t\r\n\r\n"
        % (path.encode(), accept)
        for path in PATHS
        for accept in (b"text/plain", AS_JSON)
    )


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The bytes change, or lines of HTTP come in."""
    return changed_bytes(dice, data, others, HTTP_TOKENS)


class _Connection:
    """The connection that a handler reads from and writes to."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.sent = b""

    def makefile(self, *_: object) -> io.BytesIO:
        """Return the input."""
        return io.BytesIO(self._data)

    def sendall(self, data: Any) -> None:
        """Take what is answered."""
        self.sent += bytes(data)


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield the handler of a listener with all pages."""
    probes = Probes(lambda: "", lambda: "starting")
    pages = {
        **page_listener._probing(probes),
        "/metrics": page_listener._metrics(CollectorRegistry()),
        "/configz": configz(dict),
        "/flagz": flagz("c", {"v": "1"}),
        "/statusz": statusz("c", "1", "1.37", ()),
    }
    handler: Any = page_listener._handler(pages, None)

    def judge(data: bytes) -> bool:
        connection = _Connection(data)
        handler(cast("socket.socket", connection), ("127.0.0.1", 1), None)
        status = connection.sent.partition(b"\r\n")[0]
        check(not connection.sent or b" 500 " not in status, f"answered {status!r}")
        return b" 200 " in status or b" 503 " in status

    yield judge


TARGET = Target("pages", "HTTP to probes, metrics and the scheduler's pages", seeds, change, judging)
