"""Who may call what over a listener: one rule for every door, gRPC and HTTP.

Being on the same machine is not an identity: any program there, and any page in its browsers, can connect to
loopback. So a binding, which bypasses every taint and limit, needs a certificate there, too.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NamedTuple, ParamSpec, TypeVar

from mooring.framework.errors import PermissionDeniedError
from mooring.serving.access.authentication import NO_CREDENTIALS, Authentication, credentials_in
from mooring.serving.access.clients import ITSELF, Client, Proof, User, claimed, typed_names, vouched
from mooring.serving.access.roles import EVERYTHING, MASKED, NOTHING, QUESTIONS, Right, Role, rights_of
from mooring.serving.addresses import UNIX, is_local
from mooring.serving.shares import Claimant, Level

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

ALLOWED_CLIENTS = rights_of((Role.OPERATOR,))
"""The rights of the clients of ``--allow-client``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to whether a client has a right.

    Attributes:
        allowed: Whether it has.
        rule: The reason: a flag, a line of the policy, a question to the API server.
        remedy: The way to get the right, as the end of a sentence; "" with the right.
    """

    allowed: bool
    rule: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Sight:
    """The namespaces whose pods a client may see by name. Answers mask the names of other pods.

    ``asking_sight()`` returns that of the client whose call is worked on. Ask ``everything`` first: for most
    clients nothing is masked. ``in`` may call the API server, and raises UnavailableError without its answer.

    Args:
        sees: Whether the pods of a namespace are seen; None = those of every namespace.
    """

    sees: Callable[[str], bool] | None = None

    @property
    def everything(self) -> bool:
        """Whether nothing is masked."""
        return self.sees is None

    def __contains__(self, namespace: str) -> bool:
        """Return whether the names of the pods in ``namespace`` are shown."""
        return self.sees is None or self.sees(namespace)


EVERYWHERE: Final = ""
"""Stands for all namespaces,"""
SOMEWHERE: Final = "*"
"""and this for any one: enough for an answer that masks the names that the client may not see."""


class Authorizer(ABC):
    """Says who has which right. Safe from any thread."""

    @property
    def by_namespace(self) -> bool:
        """Whether verdicts differ by namespace."""
        return True

    @abstractmethod
    def verdict(self, client: Client, right: Right, namespace: str = EVERYWHERE) -> Verdict:
        """Return whether ``client`` has ``right`` in ``namespace``, or ``EVERYWHERE``, or ``SOMEWHERE``.
        Raises UnavailableError if it can't be found out now.
        """

    def level(self, client: Client) -> Level | None:
        """Return the level of ``client`` in limits; None, the default, = all clients are alike."""
        return None

    def impersonation(self, client: Client, user: User) -> Verdict:
        """Return whether ``client`` may call on behalf of ``user``, in each of their groups. Default: no.
        Raises UnavailableError if it can't be found out now.
        """
        return Verdict(False, "no policy", "give the role impersonator by --access-policy")

    @abstractmethod
    def sight(self, client: Client) -> Sight:
        """Return which namespaces' pods ``client`` sees. Raises UnavailableError if it can't be found out
        now.
        """


_BY_ADDRESS: Final = Verdict(True, "the address on which the server listens")
_BY_NAME: Final = Verdict(True, "--allow-client")


@dataclass(frozen=True, slots=True)
class BuiltIn(Authorizer):
    """The rule without a policy: of ``--allow-client``, and of the address.

    Attributes:
        clients: The names in client certificates that have every right of an operator, with their types; see
            ``typed_names``.
        others: The rights of any other client.
    """

    clients: frozenset[str] = frozenset()
    others: Right = EVERYTHING & ~Right.IMPERSONATE

    @property
    def by_namespace(self) -> bool:
        """Whether verdicts differ by namespace: they don't."""
        return False

    def verdict(self, client: Client, right: Right, namespace: str = EVERYWHERE) -> Verdict:
        """Return whether ``client`` has ``right``; it is the same in every namespace."""
        if right in self.others:
            return _BY_ADDRESS
        if right in ALLOWED_CLIENTS and not self.clients.isdisjoint(client.names):
            return _BY_NAME
        remedy = "show a certificate with a name that the server was given by --allow-client"
        if self.others & Right.RESERVE:
            remedy += "; coming from this machine is not enough to bind, unless --insecure-binding says so"
        return Verdict(False, "--allow-client", remedy)

    def sight(self, client: Client) -> Sight:
        """Return that every client sees everything."""
        return Sight()


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of one listener. Safe from any thread.

    Attributes:
        authorizer: Says who has which right.
        authentication: Says who calls.
        binds: Bindings go to an API server; otherwise they count as reservations.
        read_only: No client may change anything.
    """

    authorizer: Authorizer = field(default_factory=BuiltIn)
    authentication: Authentication = field(default_factory=Authentication)
    binds: bool = True
    read_only: bool = False
    denied: Callable[[str, Client, str], object] = lambda _method, _client, _reason: None

    @classmethod
    def at(cls, address: str, names: Iterable[str] = (), *, insecure_binding: bool = False) -> Access:
        """Return the rule of the listener at ``address``, HOST:PORT or unix:PATH, without a policy.

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
            return cls(BuiltIn(clients, QUESTIONS))
        if address.startswith(UNIX):
            return cls()
        if not insecure_binding:
            return cls(BuiltIn(others=QUESTIONS | Right.RESERVE | Right.PUSH))
        log.warning("--insecure-binding: any program that reaches %s may bind any pod to any node", address)
        return cls()

    def client(self, connection: Client, metadata: Iterable[tuple[str, str | bytes]]) -> Client:
        """Return who makes a call.

        Args:
            connection: The client that the connection proves.
            metadata: The call's metadata, or the headers of a request.

        Raises:
            UnauthenticatedError: A token isn't valid, or a client was revoked.
            PermissionDeniedError: The connection's client may not call on behalf of others.
            UnavailableError: It can't be found out now.
        """
        shown = credentials_in(metadata)
        if shown is NO_CREDENTIALS:
            self.authentication.check(connection)
            return connection
        known = self.authentication.client(connection, shown.token)
        if not shown.user:
            return known
        user = claimed(shown.user, shown.groups)
        found = self.authorizer.impersonation(known, user)
        if not found.allowed:
            raise PermissionDeniedError(
                f"the client ({known}) may not call on behalf of {shown.user}; {found.remedy}"
            )
        client = vouched(user, Proof.INTERMEDIARY, known)
        self.authentication.check(client)
        return client

    def knows(self, client: Client) -> bool:
        """Return whether a call of ``client`` may be traced: it may change something.

        If verdicts differ by namespace, and may cost a review, each client with a name may.
        """
        if self.authorizer.by_namespace:
            return bool(client.names)
        changes = (Right.RESERVE, Right.BIND, Right.PUSH)
        return any(self.authorizer.verdict(client, right).allowed for right in changes)

    def sight(self, client: Client) -> Sight:
        """Return which namespaces' pods ``client`` sees; see ``Sight``. Raises UnavailableError if it can't
        be found out now.
        """
        return self.authorizer.sight(client)

    def rejection(self, method: str, right: Right, client: Client, namespaces: Collection[str] = ()) -> str:
        """Return why ``client`` may not make a call, "" = it may; ``denied`` is called with the reason.

        Args:
            method: The method's full name, or a verb.
            right: The needed right; ``NOTHING`` = no client may make the call.
            client: Who calls.
            namespaces: The namespaces of the pods that it names; none = it is about all.

        Raises:
            UnavailableError: It can't be found out now.
        """
        if reason := self._rejection(method, right, client, namespaces):
            self.denied(method, client, reason)
        return reason

    def _rejection(self, method: str, right: Right, client: Client, namespaces: Collection[str]) -> str:
        if right is NOTHING:
            return f"no client may call {method}: the table of rights has no row for it"
        if self.read_only and right.changes:
            return (
                f"{_name(method)} changes something, and this process only answers questions; "
                "call a server of mooring serve"
            )
        needed = right if self.binds or right is not Right.BIND else Right.RESERVE
        for namespace in namespaces or (SOMEWHERE if method in MASKED else EVERYWHERE,):
            found = self.authorizer.verdict(client, needed, namespace)
            if not found.allowed:
                place = f" for namespace {namespace}" if namespaces and namespace else ""
                return f"the client ({client}) may not call {_name(method)} here{place}; {found.remedy}"
        return ""


def _name(method: str) -> str:
    return method.rpartition("/")[2]


class CurrentCall(NamedTuple):
    """A call that is worked on: who makes it, and the rule of the listener that it came to."""

    client: Client = ITSELF
    access: Access = Access()

    @property
    def claimant(self) -> Hashable:
        """The one that limits count for: the client, with its level if it has one."""
        level = self.access.authorizer.level(self.client)
        return self.client.key if level is None else Claimant(self.client.key, level)


_OF_THIS_PROCESS: Final = CurrentCall()
_CURRENT: ContextVar[CurrentCall] = ContextVar("call", default=_OF_THIS_PROCESS)

current_call: Callable[[], CurrentCall] = _CURRENT.get
"""Return the call that this thread works on; without one, that of this process itself."""


def asking_client() -> Client:
    """Return the client whose call this thread works on; ``ITSELF`` = this process itself."""
    return _CURRENT.get().client


def asking_sight() -> Sight:
    """Return what the client may see whose call this thread works on; see ``Sight``. Raises UnavailableError
    if it can't be found out now.
    """
    client, access = _CURRENT.get()
    return access.sight(client)


def work_on(call: CurrentCall) -> None:
    """From now on work on ``call``; for a task of an event loop, which has a context of its own."""
    _CURRENT.set(call)


def for_call(call: CurrentCall, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what ``work`` returns, done on ``call``."""
    token = _CURRENT.set(call)
    try:
        return work(*args, **named)
    finally:
        _CURRENT.reset(token)
