"""Certificates for tests, made with the program openssl."""

from __future__ import annotations

import ipaddress
import shutil
import ssl
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mooring.framework.certificates import verify_as_go


@dataclass(frozen=True)
class Pair:
    """PEM files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Issues certificates for 127.0.0.1 that last two days.

    Args:
        folder: Where its files go; made when it doesn't exist.
    """

    def __init__(self, folder: Path) -> None:
        if not shutil.which("openssl"):
            pytest.skip("needs the program openssl")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.pair = Pair(folder / "ca.crt", folder / "ca.key")
        self._openssl(*_REQUEST, "-x509", "-subj", "/CN=tests", "-keyout", "ca.key", "-out", "ca.crt")

    @property
    def certificate(self) -> Path:
        """The file by which others know the authority."""
        return self.pair.certificate

    def issue(self, name: str, *alternatives: str) -> Pair:
        """Return a certificate with the common name ``name`` and more names, such as ``DNS:x``."""
        names = ",".join(("IP:127.0.0.1", *alternatives))
        self._openssl(
            *(*_REQUEST, "-x509", "-CA", "ca.crt", "-CAkey", "ca.key", "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:false"),
            *("-keyout", f"{name}.key", "-out", f"{name}.crt"),
        )
        return Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")

    def intermediate(self, folder: Path) -> Authority:
        """Return another authority, to which this one has given its certificate."""
        made = Authority(folder)
        self._openssl(
            *(*_REQUEST, "-x509", "-CA", "ca.crt", "-CAkey", "ca.key", "-subj", "/CN=intermediate"),
            *("-addext", "basicConstraints=critical,CA:true"),
            *("-keyout", str(made.pair.key), "-out", str(made.pair.certificate)),
        )
        return made

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)


def trusting(authority: Path) -> ssl.SSLContext:
    """Return a client's context that trusts the authority in this file alone, which need not be a root."""
    return verify_as_go(ssl.create_default_context(cafile=str(authority)))


def certificate(*names: str, authority: Authority | None = None) -> bytes:
    """Return a PEM certificate followed by its key. Names have types, such as ``cn:x`` and ``dns:y``.

    Unlike those of the program openssl it may have any names: none, several common ones, and such with a NUL.
    It is its own authority's, unless one is given.
    """
    kinds = {kind: [name for key, name in map(_split, names) if key == kind] for kind in _NAMES}
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name) for name in kinds.pop("cn")])
    builder = (
        x509.CertificateBuilder(subject_name=subject, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
    )
    others = [_NAMES[kind](name) for kind, of_kind in kinds.items() for name in of_kind]
    if others:
        builder = builder.add_extension(x509.SubjectAlternativeName(others), critical=False)
    if authority is None:
        signed = builder.issuer_name(subject).sign(key, hashes.SHA256())
    else:
        of_authority = x509.load_pem_x509_certificate(authority.pair.certificate.read_bytes())
        signer = serialization.load_pem_private_key(authority.pair.key.read_bytes(), None)
        signed = builder.issuer_name(of_authority.subject).sign(signer, hashes.SHA256())  # type: ignore[arg-type]  # an EC key
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return signed.public_bytes(serialization.Encoding.PEM) + private


def _split(name: str) -> tuple[str, str]:
    kind, _, value = name.partition(":")
    return kind, value


_NAMES: dict[str, Any] = {
    "cn": None,
    "dns": x509.DNSName,
    "uri": x509.UniformResourceIdentifier,
    "email": x509.RFC822Name,
    "ip": lambda name: x509.IPAddress(ipaddress.ip_address(name)),
}

_REQUEST = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
