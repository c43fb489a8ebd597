"""Authentication: the client of a call, by its connection and by a token.

Mirrors ``bearertoken`` and ``x509`` of ``k8s.io/apiserver/pkg/authentication/request``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import unquote

from mooring.framework.errors import UnauthenticatedError
from mooring.serving.access.clients import (
    ON_BEHALF_OF_GROUP,
    ON_BEHALF_OF_USER,
    Client,
    Proof,
    User,
    vouched,
)

TOKEN_HEADER: Final = "authorization"  # noqa: S105 - the name of a header
_SCHEME: Final = "bearer "


class Credentials(NamedTuple):
    """The credentials in a call's metadata: a token, and the user of an intermediary; "" = none."""

    token: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()


NO_CREDENTIALS: Final = Credentials()
_KEYS: Final = frozenset((TOKEN_HEADER, ON_BEHALF_OF_USER, ON_BEHALF_OF_GROUP))


def credentials_in(metadata: Iterable[tuple[str, str | bytes]]) -> Credentials:
    """Return the credentials in a call's metadata. Binary keys are ignored. Raises UnauthenticatedError if
    one of two tokens or users would have to be chosen.
    """
    found = [(key, value) for key, value in metadata if key in _KEYS and isinstance(value, str)]
    if not found:
        return NO_CREDENTIALS
    tokens = [value[len(_SCHEME) :].strip() for key, value in found if _is_token(key, value)]
    users = [unquote(value) for key, value in found if key == ON_BEHALF_OF_USER]
    groups = tuple(unquote(value) for key, value in found if key == ON_BEHALF_OF_GROUP)
    if len(tokens) > 1 or len(users) > 1 or (groups and not users):
        raise UnauthenticatedError(f"send one token, and one {ON_BEHALF_OF_USER} at most")
    return Credentials("".join(tokens), "".join(users), groups)


def _is_token(key: str, value: str) -> bool:
    return key == TOKEN_HEADER and value[: len(_SCHEME)].lower() == _SCHEME


def _none_revoked() -> Collection[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Authentication:
    """Says who calls. Safe from any thread.

    Attributes:
        user_of: Returns the user of a token, and None for one that isn't valid; raises UnavailableError if it
            can't find out. None = tokens mean nothing.
        revoked: Returns the names and the ``sha256:`` of certificates whose clients are rejected.
    """

    user_of: Callable[[str], User | None] | None = None
    revoked: Callable[[], Collection[str]] = _none_revoked

    def client(self, connection: Client, token: str = "") -> Client:
        """Return who calls: the token's user, else the client that the connection proves.

        Raises:
            UnauthenticatedError: The token isn't valid, or one of the two was revoked.
            UnavailableError: It can't be found out now.
        """
        self.check(connection)
        if not token or self.user_of is None:
            return connection
        user = self.user_of(token)
        if user is None:
            raise UnauthenticatedError("the token isn't valid here; get another one for this audience")
        client = vouched(user, Proof.TOKEN, connection)
        self.check(client)
        return client

    def check(self, client: Client) -> None:
        """Raise UnauthenticatedError if a client was revoked."""
        revoked = self.revoked()
        if revoked and not frozenset(revoked).isdisjoint((*client.names, client.certificate)):
            raise UnauthenticatedError(f"the client ({client}) was revoked; see --revoked-clients")
