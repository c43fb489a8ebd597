"""The certificate and the rules by which ``mooring scheduler`` speaks HTTPS, by kube-scheduler's flags."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from mooring.app.options import HttpsOptions
from mooring.framework.certificates import load_pair
from mooring.framework.errors import InvalidArgumentError
from mooring.serving.certificates import FollowedFiles, TlsFiles

TLS_VERSIONS: Final = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
"""By their names in Go."""

CIPHER_SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA": "ECDHE-ECDSA-RC4-SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA": "ECDHE-RSA-DES-CBC3-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA": "ECDHE-RSA-RC4-SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_RC4_128_SHA": "RC4-SHA",
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
}
"""OpenSSL's names by Go's; "" = a suite of TLS 1.3, whose suites are not configurable, as in Go."""

PAIR_NAME: Final = "kube-scheduler"
"""``--cert-dir`` has the certificate in a file of this name with .crt at its end, and its key with .key."""


def server_context(options: HttpsOptions, authorities: str = "") -> ssl.SSLContext:
    """Return the context: the endpoint's certificate, and what it accepts from clients. ``authorities`` are
    certificates in PEM; a client may show one of theirs, and need not. Raises InvalidArgumentError if a file
    can't be used, or no suite of ``--tls-cipher-suites`` can.
    """
    context = _with_certificate(options)
    if options.min_version:
        context.minimum_version = TLS_VERSIONS[options.min_version]
    if options.suites:
        _limit_suites(context, options.suites)
    if authorities:
        try:
            context.load_verify_locations(cadata=authorities)
        except ssl.SSLError as error:
            raise InvalidArgumentError.at("--client-ca-file", f"can't be used: {error}") from None
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def followed_context(
    options: HttpsOptions, client_ca_file: str, looked_up: Callable[[], str]
) -> Callable[[], ssl.SSLContext]:
    """Return what returns the context for a new connection, which follows the files and what is looked up.

    Broken new files are ignored. A certificate that mooring makes for itself is made again where the
    authorities change.

    Args:
        options: As for ``server_context``.
        client_ca_file: Whose client certificates are taken, PEM; "" = those that ``looked_up`` returns.
        looked_up: Returns the authorities that were found in the cluster last.

    Raises:
        InvalidArgumentError: As ``server_context``.
    """

    def read(_files: TlsFiles) -> ssl.SSLContext:
        # The command line imports this module for its flags, and an engine is more than that needs.
        from mooring.app.engine import read_text

        authorities = read_text(client_ca_file) if client_ca_file else looked_up()
        return server_context(options, authorities)

    def again(files: TlsFiles) -> ssl.SSLContext:
        try:
            return read(files)
        except InvalidArgumentError as error:
            raise OSError(str(error)) from error

    certificate, key = _pair_files(options)
    files = TlsFiles(certificate, key, Path(client_ca_file) if client_ca_file else None)
    read(files)
    followed = FollowedFiles(files, again, looked_up)
    return lambda: followed.changed() or followed.current


def _pair_files(options: HttpsOptions) -> tuple[Path | None, Path | None]:
    """Return the files of the certificate and its key; None without one."""
    if options.certificate or options.key:
        return Path(options.certificate), Path(options.key) if options.key else None
    if options.directory:
        return Path(options.directory) / f"{PAIR_NAME}.crt", Path(options.directory) / f"{PAIR_NAME}.key"
    return None, None


def _with_certificate(options: HttpsOptions) -> ssl.SSLContext:
    if options.certificate or options.key:
        return _from_files("--tls-cert-file", options.certificate, options.key)
    certificate, key = _pair_files(options)
    if certificate is not None and key is not None:
        if not (certificate.exists() and key.exists()):
            _keep_new_pair(certificate, key)
        return _from_files("--cert-dir", str(certificate), str(key))
    return self_signed_context()


def _from_files(flag: str, certificate: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key or None)
    except OSError as error:
        raise InvalidArgumentError.at(flag, f"can't be used: {error}") from None
    return context


def _keep_new_pair(certificate: Path, key: Path) -> None:
    made = self_signed_pair()
    try:
        certificate.parent.mkdir(parents=True, exist_ok=True)
        key.touch(mode=0o600)
        key.write_bytes(made.key)
        certificate.write_bytes(made.certificate)
    except OSError as error:
        raise InvalidArgumentError.at("--cert-dir", f"can't be written to: {error}") from None


def _limit_suites(context: ssl.SSLContext, names: Sequence[str]) -> None:
    if unknown := [name for name in names if name not in CIPHER_SUITES]:
        raise InvalidArgumentError.at(
            "--tls-cipher-suites", f"{', '.join(unknown)}: must be of {', '.join(CIPHER_SUITES)}"
        )
    suites = [CIPHER_SUITES[name] for name in names if CIPHER_SUITES[name]]
    if not suites:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return
    try:
        context.set_ciphers(":".join(suites))
    except ssl.SSLError:
        raise InvalidArgumentError.at(
            "--tls-cipher-suites", f"this machine's OpenSSL has none of {', '.join(names)}"
        ) from None


VALID_DAYS = 365


@dataclass(frozen=True, slots=True)
class Pair:
    """A private key and its certificate, both PEM."""

    key: bytes
    certificate: bytes


def self_signed_context() -> ssl.SSLContext:
    """Return a server's TLS context with a new key and a certificate for this host's name."""
    context, pair = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self_signed_pair()
    load_pair(context, pair.certificate, pair.key)
    return context


def self_signed_pair() -> Pair:
    """Return a new key and a certificate for this host's name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, socket.gethostname()[:64])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(socket.gethostname())]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        certificate.public_bytes(serialization.Encoding.PEM),
    )
