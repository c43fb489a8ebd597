"""TLS to the API server: files are read when they have changed, and sessions are resumed.

A full handshake takes an API server and its client 3 ms of a processor each, and a scheduler opens dozens of
connections for its first bindings.
"""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from mooring.framework.certificates import verify_as_go
from mooring.serving.certificates import FollowedFiles, TlsFiles

TLS_OPTIONS = ("cert_file", "key_file", "ca_certs", "ca_cert_data")
"""The options of urllib3's pools for our certificate and the trusted CAs."""


class TlsContexts:
    """The TLS context of an API server, one as long as its files stay the same. Safe from any thread.

    Args:
        options: Those of a pool. Without authorities among them those of the system are trusted.
        verifies: Whether the server has to prove itself.
    """

    def __init__(self, options: Mapping[str, Any], *, verifies: bool) -> None:
        *named, data = map(options.get, TLS_OPTIONS)
        self._files = TlsFiles(*[Path(name) if name else None for name in named])
        self._authority_data: str | bytes | None = data
        self._verifies = verifies
        self._lock = threading.Lock()
        self._followed: FollowedFiles[ResumingContext] | None = None

    def current(self) -> ResumingContext:
        """Return the context for another connection.

        Raises:
            OSError: A file can't be used, such as a key that is encrypted, and none before it could be.
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


class ResumingContext(ssl.SSLContext):
    """A client's context, whose connections resume the session of one whose handshake was a full one.

    What that one verified holds for all of them. A server that does not know the session makes a new one.
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
        """As ``ssl.SSLContext`` has it, with the session that was kept of a server with that name."""
        session = self._sessions.get(options.get("server_hostname"))
        return super().wrap_socket(*sockets, **{**options, "session": session})

    def keep_session(self, connected: ssl.SSLSocket) -> None:
        """Let others resume the session of an idle connection, unless it resumed one itself.

        With TLS 1.3 the ticket follows the handshake, before the first answer. Reading it takes 0.3 ms.
        """
        session = None if connected.session_reused else connected.session
        if session is not None and session.has_ticket:
            self._sessions[connected.server_hostname] = session


def keep_session(connected: object) -> None:
    """Do so as ``ResumingContext`` does, if that is the connection's context."""
    if isinstance(connected, ssl.SSLSocket) and isinstance(connected.context, ResumingContext):
        connected.context.keep_session(connected)
