"""Addresses: what may be listened on, and a clear error if it cannot be."""

import contextlib
import ipaddress
import os
import socket
from pathlib import Path

import grpc

UNIX = "unix:"


class ListenError(Exception):
    """An address that cannot be listened on. The text names it and says why."""


def split(address: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, with [ ] around an IPv6 host; raises ListenError for anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ListenError(f"{address!r} is no address; write HOST:PORT or unix:PATH, port 0 to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_local(address: str) -> bool:
    """Whether only this machine can connect: a unix socket or a loopback address."""
    if address.startswith(UNIX):
        return True
    host, _ = split(address)
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def add_port(server: grpc.Server, address: str, credentials: grpc.ServerCredentials | None = None) -> str:
    """Makes the server listen, and returns the address with the port that it got.

    Raises:
        ListenError: Somebody else listens there, or it cannot be listened on.
    """
    check_free(address)
    try:
        if credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise _taken(address, "it is in use, or no address of this machine") from error
    return address if address.startswith(UNIX) else f"{address.rpartition(':')[0]}:{port}"


def check_free(address: str) -> None:
    """Raises ListenError if somebody listens there. gRPC alone would replace a unix socket in use."""
    if address.startswith(UNIX):
        _check_unix(address)
        return
    host, port = split(address)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, where in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(where)
    except OSError as error:
        raise _taken(address, error.strerror or str(error)) from error


def _check_unix(address: str) -> None:
    path = Path(address.removeprefix(UNIX).removeprefix("//"))
    if not path.parent.is_dir():
        raise _taken(address, f"there is no directory {path.parent}")
    if not path.exists():
        return
    if not path.is_socket():
        raise _taken(address, "the file exists and is no socket")
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(os.fspath(path)) == 0:
            raise _taken(address, "somebody listens there")


def _taken(address: str, why: str) -> ListenError:
    return ListenError(
        f"cannot listen on {address}: {why}; choose another address, or stop what listens there"
    )
