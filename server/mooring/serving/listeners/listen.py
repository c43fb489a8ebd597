"""Addresses and certificates of listeners: what may be listened on, and a clear error if it cannot be."""

import asyncio
import logging
import os
import resource
import socket
import stat
from pathlib import Path

import grpc
import grpc.aio

from mooring.files import read_file
from mooring.serving.addresses import UNIX, ListenError, split
from mooring.serving.certificates import FollowedFiles, TlsFiles

_CORE = logging.getLogger("grpc._cython.cygrpc")
"""grpcio's logger for exceptions of coroutines, and for heads of calls that it can't decode."""


def file_limit() -> int:
    """How many files this process may open; a very large number without a limit."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 - 1 if limit == resource.RLIM_INFINITY else limit


def share_of_files(part: float, most: int) -> int:
    """Return a share of the files that this process may open, 1 to ``most``, for a listener's connections."""
    return max(1, min(most, int(part * file_limit())))


def at_most(connections: int) -> tuple[str, int]:
    """Return gRPC's option for a listener's most connections; one more is closed once it is accepted."""
    return "grpc.max_allowed_incoming_connections", connections


def add_port(
    server: grpc.Server | grpc.aio.Server, address: str, credentials: grpc.ServerCredentials | None = None
) -> str:
    """Make the server listen, and return the address with the port that it got. Raises ListenError if the
    address is in use, or it cannot be listened on.
    """
    check_free(address)
    _CORE.addFilter(_is_defect)
    # A unix socket must be its owner's from its first moment: every process that can connect to it may bind.
    mask = os.umask(0o177)
    try:
        if credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise _taken(address, "it is in use, or no address of this machine") from error
    finally:
        os.umask(mask)
    return address if address.startswith(UNIX) else f"{address.rpartition(':')[0]}:{port}"


def _is_defect(record: logging.LogRecord) -> bool:
    """Return whether grpcio logs more than a client that left early or sent a head that isn't UTF-8."""
    clients = (grpc.aio.InternalError, asyncio.CancelledError, UnicodeDecodeError)
    return record.exc_info is None or not isinstance(record.exc_info[1], clients)


def check_free(address: str) -> None:
    """Raise ListenError if the address is in use. gRPC alone would replace a unix socket in use."""
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
    if not path.parent.parent.is_dir():
        raise _taken(address, f"there is no directory {path.parent}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _taken(address, f"{path.parent}: {error.strerror}") from error
    mode = path.parent.stat().st_mode
    # In a directory where others may only add files, such as /tmp, they can't replace this socket with
    # theirs.
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise _taken(address, f"anyone may put another socket there, as all may write to {path.parent}")
    if not path.exists():
        return
    if not path.is_socket():
        raise _taken(address, "the file exists and is not a socket")
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(os.fspath(path)) == 0:
            raise _taken(address, "the socket is in use")


def _taken(address: str, why: str) -> ListenError:
    return ListenError(
        f"cannot listen on {address}: {why}; choose another address, or stop what listens there"
    )


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials that follow the files.

    gRPC asks on every new connection, so unchanged files are not read again. Raises OSError if a file can't
    be read.
    """
    followed = FollowedFiles(files, _certificate_of)
    required = files.authority is not None
    # None means unchanged, which grpcio's types leave out.
    return grpc.dynamic_ssl_server_credentials(followed.current, followed.changed, required)  # type: ignore[arg-type]


def _certificate_of(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    chain, key, authority = (
        read_file(path) if path else b"" for path in (files.certificate, files.key, files.authority)
    )
    return grpc.ssl_server_certificate_configuration([(key, chain)], root_certificates=authority or None)
