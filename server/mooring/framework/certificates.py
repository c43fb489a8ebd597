"""Certificates: which are trusted, as kube-scheduler does it, and pairs that are in memory alone."""

from __future__ import annotations

import os
import ssl


def verify_as_go(context: ssl.SSLContext) -> ssl.SSLContext:
    """Let ``context`` accept the certificates that Go's ``crypto/x509`` accepts, and return it.

    An authority that is given need not be a root, and certificates may lack extensions that Python requires
    from 3.13 on.
    """
    context.verify_flags = context.verify_flags & ~ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


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
