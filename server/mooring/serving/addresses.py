"""Addresses to listen on."""

from __future__ import annotations

import ipaddress


class ListenError(Exception):
    """An address that cannot be listened on. The text names it, says why and what to do."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address of ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
