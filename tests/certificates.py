"""Certificates for tests, made with the program openssl."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


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
        """A certificate with the common name ``name`` and more names, such as ``DNS:x``."""
        names = ",".join(("IP:127.0.0.1", *alternatives))
        self._openssl(
            *(*_REQUEST, "-x509", "-CA", "ca.crt", "-CAkey", "ca.key", "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:false"),
            *("-keyout", f"{name}.key", "-out", f"{name}.crt"),
        )
        return Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)


_REQUEST = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
