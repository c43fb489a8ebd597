"""TLS of the adapter: the certificate that it shows, whom it lets in, and how it reaches mooring."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc

_NAME_TYPES: Final = ("DNS", "URI", "email", "IP Address")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of one side of a connection.

    Attributes:
        certificate: Its certificate chain; None where none is shown.
        key: The private key; None when it is in the certificate's file.
        authority: Whose certificates are accepted on the other side; None accepts what the system does
            for a server, and asks for none of a client.
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None

    def stamp(self) -> tuple[int, ...]:
        """Changes when a file changes: modification times in nanoseconds.

        Raises:
            OSError: One can't be seen.
        """
        paths = (self.certificate, self.key, self.authority)
        return tuple(path.stat().st_mtime_ns for path in paths if path is not None)


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """What to serve HTTPS with. New connections follow the files; a broken rotation keeps what is in use.

    Raises:
        OSError: A file can't be used.
    """
    current = _read(files)
    stamp = files.stamp()

    def renew(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        nonlocal current, stamp
        # OSError: a rotation in progress.
        with contextlib.suppress(OSError):
            if (now := files.stamp()) != stamp:
                current, stamp = _read(files), now
        connection.context = current

    shown = _read(files)
    # Called in every handshake, so that nothing has to watch the files.
    shown.sni_callback = renew
    return shown


def _read(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # A resumed session was let in by the authorities of its beginning, which may have been replaced.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        if files.certificate is not None:
            context.load_cert_chain(files.certificate, files.key)
        if files.authority is not None:
            context.load_verify_locations(files.authority)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        names = ", ".join(str(path) for path in (files.certificate, files.key, files.authority) if path)
        raise OSError(f"cannot serve HTTPS with {names}: {error}") from error
    return context


def is_resumed(connection: ssl.SSLObject | None) -> bool:
    """Whether a TLS connection goes on with the session of another one.

    Without tickets only TLS 1.2 can, by a session's number: Python cannot tell OpenSSL to keep none.
    """
    return connection is not None and bool(connection.session_reused)


def client_names(certificate: Mapping[str, Any] | None) -> frozenset[str]:
    """The common name and the alternative names of a verified certificate, as ``getpeercert`` gives it."""
    if not certificate:
        return frozenset()
    common = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    others = [value for kind, value in certificate.get("subjectAltName", ()) if kind in _NAME_TYPES]
    return frozenset((*common, *others))


def channel_credentials(files: TlsFiles) -> grpc.ChannelCredentials:
    """Credentials for a channel to mooring, as the files are now.

    Raises:
        OSError: A file can't be read.
    """
    chain = files.certificate.read_bytes() if files.certificate else None
    key_file = files.key or files.certificate
    return grpc.ssl_channel_credentials(
        files.authority.read_bytes() if files.authority else None,
        key_file.read_bytes() if key_file else None,
        chain,
    )
