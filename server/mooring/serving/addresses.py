"""Addresses to listen on."""

from __future__ import annotations

import ipaddress
from typing import Final

UNIX: Final = "unix:"


class ListenError(Exception):
    """An address that cannot be listened on. The text names it, says why and what to do."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address of ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def split(address: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, with [ ] around an IPv6 host; raises ListenError for anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ListenError(f"{address!r} is not an address; write HOST:PORT or unix:PATH, port 0 to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_local(address: str) -> bool:
    """Return whether only this machine can connect: a unix socket or a loopback address."""
    return address.startswith(UNIX) or is_loopback(split(address)[0])
