"""Clients: the one that makes a call, the proof of its names, and the one that passed the call on."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Final
from urllib.parse import quote

NAME_TYPES: Final = ("cn:", "dns:", "uri:")
"""The prefixes of the names in certificates: common names, and alternative names of two kinds. Others are
ignored.
"""

ON_BEHALF_OF_USER: Final = "mooring-on-behalf-of-user"
"""The metadata in which an intermediary passes its client's user name on,"""
ON_BEHALF_OF_GROUP: Final = "mooring-on-behalf-of-group"
"""and its groups, one each. Both need the right to impersonate."""


_USERS: Final = ("cn:", "user:", "uid:")
"""The prefixes of names that the API server knows as users, too."""

_PLAIN: Final = ":/@ "
"""Characters of names that are sent as they are."""


class Proof(Enum):
    """The proof of a client's names."""

    NONE = "none"
    CERTIFICATE = "certificate"
    TOKEN = "token"  # noqa: S105 - a word
    SOCKET = "socket"
    """A unix socket of mode 0600: only its owner can connect."""
    INTERMEDIARY = "intermediary"
    """Another client, which has the right to impersonate, says so."""


@dataclass(frozen=True, slots=True)
class User:
    """A user, as the API server's authorization knows them.

    Attributes:
        name: ``system:serviceaccount:monitoring:prometheus``, a certificate's common name, ...
        uid: "" = none.
        extra: The authenticator's additions.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


AUTHENTICATED: Final = "system:authenticated"
ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True, slots=True)
class Client:
    """The one that makes a call: whose rights, quotas and audit name count. Hashable.

    Attributes:
        names: The names with their types, the first one for logs: ``cn:``, ``dns:`` and ``uri:`` from a
            certificate, ``user:`` from a token or an intermediary, ``uid:`` from a unix socket. None if
            nothing is proved.
        user: The client as the API server knows them.
        proof: How the names were proved.
        behind: The client that passed the call on, such as the adapter; None = the client connected itself.
        peer: The connection's address if there are no names.
        certificate: The SHA-256 of the shown certificate, ``sha256:`` and hexadecimal digits; "" = none.
    """

    names: tuple[str, ...] = ()
    user: User = ANONYMOUS
    proof: Proof = Proof.NONE
    behind: Client | None = None
    peer: str = ""
    certificate: str = ""

    @property
    def name(self) -> str:
        """The first name, which owns what the client creates; "" without one."""
        return self.names[0] if self.names else ""

    @property
    def key(self) -> Hashable:
        """The one that limits count for: all connections with the same names, or one without a name."""
        return self.names or self.peer

    def __str__(self) -> str:
        """Return how errors and logs call the client."""
        shown = ", ".join(self.names) or "without a certificate that names it"
        return f"{shown}, through {self.behind}" if self.behind else shown


ITSELF: Final = Client(peer="this process")
"""This process: no call is being worked on."""


def connected(names: tuple[str, ...], groups: Iterable[str], certificate: bytes, peer: str) -> Client:
    """Return the client that a connection proves.

    Args:
        names: The names in its certificate, as ``certified_names`` returns them.
        groups: The organizations in its certificate.
        certificate: The certificate, DER; b"" = none.
        peer: The connection's address.
    """
    shown = f"sha256:{sha256(certificate).hexdigest()}" if certificate else ""
    if not names:
        return Client(peer=shown or peer, certificate=shown)
    common = names[0].removeprefix("cn:") if names[0].startswith("cn:") else ""
    user = User(common, (*groups, AUTHENTICATED)) if common else ANONYMOUS
    return Client(names, user, Proof.CERTIFICATE, certificate=shown)


def owner_of_socket() -> Client:
    """Return the client at the other end of a unix socket of mode 0600.

    gRPC doesn't say which user connected, so it is the socket's owner, as which this process runs.
    """
    name = f"uid:{os.geteuid()}"
    return Client((name,), User(name, (AUTHENTICATED,)), Proof.SOCKET)


def named(name: str, groups: Iterable[str] = ()) -> Client:
    """Return the client with one name, with its type, and groups, as its proof would make it. Raises
    ValueError if the name has no type.
    """
    kind, colon, rest = name.partition(":")
    if not rest:
        raise ValueError(f"{name!r} has no type; write cn:{name} for a certificate, user:{name} for a token")
    user = User(name if kind == "uid" else rest, (*groups, AUTHENTICATED))
    return Client((name,), user if f"{kind}{colon}" in _USERS else ANONYMOUS, Proof.CERTIFICATE)


def claimed(name: str, groups: Iterable[str]) -> User:
    """Return the user that an intermediary names, with the group of all who are not anonymous."""
    if name == ANONYMOUS.name:
        return ANONYMOUS
    return User(name, (*(group for group in groups if group != AUTHENTICATED), AUTHENTICATED))


def claimed_names(user: User) -> tuple[str, ...]:
    """Return the names with their types that an intermediary needs the right to use, to call for ``user``."""
    groups = (f"group:{group}" for group in user.groups if group not in (AUTHENTICATED, *ANONYMOUS.groups))
    return (f"user:{user.name}", *groups)


def on_behalf_of(client: Client) -> tuple[tuple[str, str], ...]:
    """Return the metadata with which an intermediary passes ``client`` on, percent-encoded."""
    groups = ((ON_BEHALF_OF_GROUP, quote(group, _PLAIN)) for group in client.user.groups)
    return ((ON_BEHALF_OF_USER, quote(client.user.name, _PLAIN)), *groups)


def vouched(user: User, proof: Proof, before: Client) -> Client:
    """Return the client that a token or an intermediary names, on a connection of ``before``."""
    behind = before if before.names else None
    if user.name == ANONYMOUS.name:
        return Client(behind=behind, peer=before.peer)
    return Client((f"user:{user.name}",), user, proof, behind)


def typed_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names of ``--allow-client`` with their types.

    One without a type is a URI where it has a scheme and //, else a common name or a DNS name.
    """
    return frozenset(
        with_type
        for name in names
        for with_type in (
            [name]
            if name.startswith(NAME_TYPES)
            else [f"uri:{name}"]
            if "://" in name
            else [f"cn:{name}", f"dns:{name}"]
        )
    )


def certified_names(
    common: Iterable[str], dns: Iterable[str] = (), uris: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names in a verified certificate with their types, the common name first.

    There are none if one of them could mislead: readers differ in which of two common names they take.
    """
    names = (*(f"cn:{name}" for name in common), *(f"dns:{name}" for name in dns))
    names += tuple(f"uri:{name}" for name in uris)
    unclear = sum(name.startswith("cn:") for name in names) > 1 or not all(map(str.isprintable, names))
    return () if unclear else names
