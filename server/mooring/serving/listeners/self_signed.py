"""A certificate that the process makes for itself, as kube-scheduler does when it is given none.

It proves nothing, but kubelets and scrapers that verify nothing can talk to a listener over HTTPS then,
which is what the probes of kube-scheduler's manifests do.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mooring.framework.certificates import load_pair

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
