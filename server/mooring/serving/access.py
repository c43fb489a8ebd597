"""Who may change what over a listener: one rule for every door, gRPC and HTTP.

Being on the same machine is not an identity: any program there, and any page in its browsers, can connect to
loopback. So a binding, which bypasses every taint and limit, needs a certificate there, too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from mooring.serving.addresses import UNIX, is_local
from mooring.serving.clients import shown_names, typed_names

log = logging.getLogger(__name__)


class Change(IntEnum):
    """The level of change that a call makes; a right to one level includes the lower ones."""

    NOTHING = 0
    STATE = 1
    """The state of this process: reserved pods, pushed objects."""
    CLUSTER = 2
    """Objects of the API server: pods are bound."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of one listener. Safe from any thread.

    Attributes:
        clients: The names in client certificates that may change everything, with their types; see
            ``typed_names``.
        others: The most that any other client may change.
        binds: Bindings go to an API server; otherwise they count as reservations.
        read_only: No client may change anything.
    """

    clients: frozenset[str] = frozenset()
    others: Change = Change.CLUSTER
    binds: bool = True
    read_only: bool = False

    @classmethod
    def at(cls, address: str, names: Iterable[str] = (), *, insecure_binding: bool = False) -> Access:
        """Return the rule of the listener at ``address``, HOST:PORT or unix:PATH.

        With ``names``, only these clients may change anything. Without, no client may if other machines can
        connect; on loopback all may reserve and push; over a unix socket, which is its owner's, all may bind.

        Args:
            address: The address on which it listens.
            names: The allowed clients, as ``typed_names`` reads them.
            insecure_binding: Let all bind on loopback, and warn about it.

        Raises:
            ListenError: ``address`` is not an address.
        """
        clients = typed_names(names)
        if clients or not is_local(address):
            return cls(clients, Change.NOTHING)
        if address.startswith(UNIX):
            return cls()
        if insecure_binding:
            log.warning(
                "--insecure-binding: any program that reaches %s may bind any pod to any node", address
            )
        return cls(others=Change.CLUSTER if insecure_binding else Change.STATE)

    def knows(self, names: Iterable[str]) -> bool:
        """Return whether a client with these names may change something; it decides what is traced, too."""
        return self.others is not Change.NOTHING or not self.clients.isdisjoint(names)

    def rejection(self, call: str, change: Change, names: Iterable[str]) -> str:
        """Return why a client with these names may not make a call; "" = it may."""
        if change is Change.NOTHING:
            return ""
        if self.read_only:
            return (
                f"{call} changes something, and this process only answers questions; "
                "call a server of mooring serve"
            )
        needed = change if self.binds else min(change, Change.STATE)
        if needed <= self.others or not self.clients.isdisjoint(names):
            return ""
        text = (
            f"the client ({shown_names(names)}) may not call {call} here; show a certificate "
            "with a name that the server was given by --allow-client"
        )
        if self.others is Change.STATE:
            text += "; coming from this machine is not enough to bind, unless --insecure-binding says so"
        return text
