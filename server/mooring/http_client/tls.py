"""TLS of a client: sessions that further connections resume, and TLS inside the TLS to a proxy."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from typing import Any, Self, TypeVar

T = TypeVar("T")


class ResumingContext(ssl.SSLContext):
    """A client's context, whose connections resume the session of one that had a full handshake.

    A full handshake takes server and client 3 ms of a processor each, and a scheduler opens dozens of
    connections for its first bindings. The first one's verification is valid for all of them. A server that
    does not know the session makes a new one.
    """

    _sessions: dict[str | None, ssl.SSLSession]

    def __new__(cls, protocol: int) -> Self:
        context = super().__new__(cls, protocol)
        context.hostname_checks_common_name = False
        context.post_handshake_auth = True
        if keys := os.environ.get("SSLKEYLOGFILE"):
            context.keylog_filename = keys
        context._sessions = {}
        return context

    def wrap_socket(self, *sockets: Any, **options: Any) -> ssl.SSLSocket:
        """Do as ``ssl.SSLContext`` does, with the session that was kept for a server of that name."""
        session = self._sessions.get(options.get("server_hostname"))
        return super().wrap_socket(*sockets, **{**options, "session": session})

    def keep_session(self, connected: ssl.SSLSocket) -> None:
        """Let others resume the session of an idle connection, unless it resumed one itself.

        With TLS 1.3 the ticket comes after the handshake, before the first answer. Reading it takes 0.3 ms.
        """
        session = None if connected.session_reused else connected.session
        if session is not None and session.has_ticket:
            self._sessions[connected.server_hostname] = session


def keep_session(connected: object) -> None:
    """Let further connections resume the session of this one, if their context can."""
    if isinstance(connected, ssl.SSLSocket) and isinstance(connected.context, ResumingContext):
        connected.context.keep_session(connected)


class NestedTls:
    """TLS over a connection that has TLS already, with the methods of a socket that the client calls."""

    def __init__(self, outer: ssl.SSLSocket, context: ssl.SSLContext, server_hostname: str) -> None:
        self.outer = outer
        self.fileno, self.settimeout, self.close = outer.fileno, outer.settimeout, outer.close
        self._came, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._came, self._to_send, server_hostname=server_hostname)
        self._run(self._tls.do_handshake)

    def recv(self, most: int) -> bytes:
        """Do as ``socket.recv`` does."""
        try:
            return self._run(lambda: self._tls.read(most))
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return b""

    def sendall(self, data: bytes) -> None:
        """Do as ``socket.sendall`` does."""
        self._run(lambda: self._tls.write(data))

    def _run(self, step: Callable[[], T]) -> T:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                pass
            finally:
                if self._to_send.pending:
                    self.outer.sendall(self._to_send.read())
            if data := self.outer.recv(1 << 14):
                self._came.write(data)
            else:
                self._came.write_eof()
