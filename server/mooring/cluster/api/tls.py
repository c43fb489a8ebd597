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
from typing import Any, NamedTuple, Self

from mooring.framework.certificates import verify_as_go


class ClientTlsFiles(NamedTuple):
    """Whom to trust, and how to prove who we are; the names are those of urllib3's pools.

    Attributes:
        ca_certs: The file of authorities; None = there is none.
        ca_cert_data: Authorities as PEM or DER; without either those of the system are trusted.
        cert_file: The file of our certificate; None = we have none.
        key_file: The file of its key; None = it is in the same one.
    """

    ca_certs: str | None = None
    ca_cert_data: str | bytes | None = None
    cert_file: str | None = None
    key_file: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ClientTlsFiles:
        """Return those that are among the options of a pool."""
        return cls(*[options.get(name) for name in cls._fields])

    def context(self, *, verifies: bool) -> ResumingContext:
        """Return a context with what the files hold now; ``verifies``: whether a server has to prove itself.

        Raises:
            OSError: A file can't be read or used, such as a key that is encrypted.
        """
        context = ResumingContext(ssl.PROTOCOL_TLS_CLIENT)
        verify_as_go(context)
        if not verifies:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.ca_certs or self.ca_cert_data:
            context.load_verify_locations(self.ca_certs, cadata=self.ca_cert_data)
        else:
            context.load_default_certs()
        if self.cert_file:
            # With a password OpenSSL does not ask the terminal for one.
            context.load_cert_chain(self.cert_file, self.key_file, password="")
        return context

    def versions(self) -> tuple[object, ...]:
        """Return what is another once a file has been replaced, or what it links to."""
        return tuple(_version(path) for path in (self.ca_certs, self.cert_file, self.key_file) if path)


class TlsContexts:
    """The TLS context of an API server, one as long as its files stay the same. Safe from any thread.

    Args:
        files: Whom to trust, and how to prove who we are.
        verifies: Whether the server has to prove itself.
    """

    def __init__(self, files: ClientTlsFiles, *, verifies: bool) -> None:
        self._files = files
        self._verifies = verifies
        self._lock = threading.Lock()
        self._versions: tuple[object, ...] = ()
        self._context: ResumingContext | None = None

    def current(self) -> ResumingContext:
        """Return the context for another connection; raises what ``ClientTlsFiles.context`` does."""
        with self._lock:
            # Looked at before they are read: what is replaced in between is read again the next time.
            versions = self._files.versions()
            if self._context is None or versions != self._versions:
                self._context = self._files.context(verifies=self._verifies)
                self._versions = versions
            return self._context


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
        """Let others resume the session of a connection that nobody uses just now, unless it resumed one.

        With TLS 1.3 the ticket comes behind the handshake, before the first answer. To read it takes 0.3 ms.
        """
        session = None if connected.session_reused else connected.session
        if session is not None and session.has_ticket:
            self._sessions[connected.server_hostname] = session


def keep_session(connected: object) -> None:
    """Do so as ``ResumingContext`` does, if that is the connection's context."""
    if isinstance(connected, ssl.SSLSocket) and isinstance(connected.context, ResumingContext):
        connected.context.keep_session(connected)


def _version(path: str) -> tuple[int, ...]:
    about = Path(path).stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
