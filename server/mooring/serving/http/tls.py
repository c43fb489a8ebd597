"""TLS of an HTTP listener: its certificate, its clients, and the channel from an adapter to mooring."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

import grpc
from cryptography import x509

from mooring.files import read_file
from mooring.serving.access.clients import Client, certified_names, connected
from mooring.serving.certificates import FollowedFiles, TlsFiles
from mooring.serving.http.hosts import Hosts

log = logging.getLogger(__name__)


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Return the context to serve HTTPS with. New connections follow the files; broken new files are ignored.
    Raises OSError if a file can't be used.
    """
    try:
        followed, shown = FollowedFiles(files, _read), _read(files)
    except OSError as error:
        names = ", ".join(str(path) for path in (files.certificate, files.key, files.authority) if path)
        raise OSError(f"cannot serve HTTPS with {names}: {error}") from error

    def renew(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        followed.changed()
        connection.context = followed.current

    # Called in every handshake, so that nothing has to watch the files.
    shown.sni_callback = renew
    return shown


def own_hosts(address: str, names: Iterable[str], files: TlsFiles | None, flag: str) -> Hosts:
    """Return the names under which clients may call a listener at ``address``.

    They are the address, ``names``, and the DNS names and addresses in the certificate, as its file is now.
    Raises OSError if the certificate can't be read.
    """
    return Hosts({address, *names}, FollowedFiles(files, _certified_hosts) if files else None, flag)


def _certified_hosts(files: TlsFiles) -> frozenset[str]:
    if files.certificate is None:
        return frozenset()
    try:
        shown = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    except ValueError as error:
        raise OSError(f"{files.certificate}: {error}") from error
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return frozenset(map(str.lower, names.get_values_for_type(x509.DNSName))).union(addresses)


def warn_of_strangers(address: str, files: TlsFiles | None, flag: str) -> None:
    """Warn if every client that reaches ``address`` may call it; ``flag`` names the client CA."""
    if files is None:
        log.warning("--insecure-listen: every client that reaches %s may call it, and eavesdrop", address)
    elif files.authority is None:
        log.warning(
            "TLS without %s: every client that reaches %s may call it; clients have no names", flag, address
        )


def _read(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # As Go's servers do: an authority need not be a root, nor have extensions that Python 3.13 requires.
    context.verify_flags = context.verify_flags & ~ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    # A resumed session was let in by the authorities of its beginning, which may have been replaced.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    if files.certificate is not None:
        context.load_cert_chain(files.certificate, files.key)
    if files.authority is not None:
        context.load_verify_locations(files.authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def is_resumed(connection: ssl.SSLObject | None) -> bool:
    """Return whether a TLS connection goes on with the session of another one.

    Without tickets only TLS 1.2 can, by a session's number: Python can't stop OpenSSL from storing it.
    """
    return connection is not None and bool(connection.session_reused)


def client_names(certificate: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names in a verified certificate, as ``getpeercert`` gives it, with their types.

    The common name comes first. There are none if one of them could mislead.
    """
    if not certificate:
        return ()
    common = _subject(certificate, "commonName")
    others = certificate.get("subjectAltName", ())
    dns, uris = ([value for kind, value in others if kind == wanted] for wanted in ("DNS", "URI"))
    return certified_names(common, dns, uris)


def _subject(certificate: Mapping[str, Any], kind: str) -> list[str]:
    return [value for part in certificate.get("subject", ()) for key, value in part if key == kind]


def connection_of(transport: asyncio.BaseTransport) -> Client:
    """Return the caller that a connection proves."""
    certificate = transport.get_extra_info("peercert") or {}
    tls, peer = transport.get_extra_info("ssl_object"), transport.get_extra_info("peername")
    shown = tls.getpeercert(binary_form=True) if certificate else b""
    groups = _subject(certificate, "organizationName")
    return connected(client_names(certificate), groups, shown, str(peer))


def channel_credentials(files: TlsFiles) -> grpc.ChannelCredentials:
    """Credentials for a channel to mooring, as the files are now. Raises OSError if a file can't be read."""
    named = (files.authority, files.key or files.certificate, files.certificate)
    return grpc.ssl_channel_credentials(*[read_file(path) if path else None for path in named])
