"""Certificates that are in memory: the standard library reads them from files alone."""

from __future__ import annotations

import os
import ssl


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Let ``context`` prove itself with a certificate and its key, both PEM.

    Nothing is written to a disk, which may be read-only and keeps what is deleted.

    Raises:
        ssl.SSLError: They can't be used, or don't belong together.
    """
    descriptor = os.memfd_create("pair")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(key + b"\n" + certificate)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
