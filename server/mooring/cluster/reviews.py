"""Authenticates and authorizes callers through the API server: TokenReview and SubjectAccessReview.

Mirrors ``DelegatingAuthenticationOptions`` and ``DelegatingAuthorizationOptions`` of ``k8s.io/apiserver``.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from mooring.cluster.api import ApiServer, failure
from mooring.framework.errors import MooringError, UnavailableError
from mooring.serving.access.access import EVERYWHERE, SOMEWHERE, Authorizer, Sight, Verdict
from mooring.serving.access.clients import Client, Proof, User, claimed_names
from mooring.serving.access.roles import VIRTUAL, Attributes, Right

T = TypeVar("T")

REVIEW_SECONDS: Final = 3.0
"""How long the API server may take for a review."""

MAX_REVIEWS: Final = 4
"""Concurrent reviews; further requests are rejected at once, so that no threads pile up."""

MAX_ANSWERS: Final = 1024
"""Answers of a kind that are remembered."""

TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
CLIENT_CA: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


class _UserInfo(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _ReviewStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    allowed: bool = False
    user: _UserInfo = _UserInfo()
    audiences: tuple[str, ...] = ()


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


_review = msgspec.json.Decoder(_Review)
_config_map = msgspec.json.Decoder(_ConfigMap)


@dataclass
class Remembered(Generic[T]):
    """A cache of answers with a lifetime, the latest ``MAX_ANSWERS`` of them. Safe from any thread."""

    _answers: OrderedDict[Hashable, tuple[T, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> T | None:
        """Return the answer, if it still counts."""
        with self._lock:
            found = self._answers.get(key)
        return None if found is None or time.monotonic() >= found[1] else found[0]

    def keep(self, key: Hashable, answer: T, seconds: float) -> T:
        """Let an answer count for ``seconds``; return it."""
        with self._lock:
            self._answers[key] = (answer, time.monotonic() + seconds)
            self._answers.move_to_end(key)
            while len(self._answers) > MAX_ANSWERS:
                self._answers.popitem(last=False)
        return answer


@contextmanager
def _failing_closed(kind: str) -> Iterator[None]:
    """Raise UnavailableError if the API server gives no answer, whatever the reason."""
    try:
        yield
    except MooringError as error:
        raise UnavailableError(
            f"the API server gives no answer to a {kind}: {error.message}; repeat the call",
            reason="API_SERVER_UNAVAILABLE",
        ) from error


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The seconds for which answers count: the user of a token, allowed, denied."""

    token: float = 10.0
    allowed: float = 10.0
    denied: float = 10.0


class Reviews:
    """Token and access reviews by the API server, cached. Safe from any thread; may block for some seconds.

    Args:
        tokens: The API server for TokenReviews.
        access: The API server for SubjectAccessReviews.
        lifetimes: How long answers count.
        audiences: The audiences; a token needs one of them; none = the API server's own.
        patience: How many seconds a review of access waits while too many are under way; one of a token is
            rejected then.
    """

    def __init__(
        self,
        tokens: ApiServer,
        access: ApiServer,
        lifetimes: Lifetimes,
        audiences: Sequence[str] = (),
        patience: float = 0.0,
    ) -> None:
        self._audiences = audiences
        self._patience = patience
        self._tokens = tokens
        self._access = access
        self._lifetimes = lifetimes
        self._users: Remembered[User] = Remembered()
        # Apart from the users, so that many invalid tokens push no user out.
        self._invalid: Remembered[bool] = Remembered()
        self._decisions: Remembered[bool] = Remembered()
        # Apart, so that many tokens of strangers hold up no review of access.
        self._of_tokens = threading.BoundedSemaphore(MAX_REVIEWS)
        self._of_access = threading.BoundedSemaphore(MAX_REVIEWS)

    def user_of(self, token: str) -> User | None:
        """Return the user that shows this bearer token; None when it isn't valid.

        Raises:
            UnavailableError: The API server doesn't say.
        """
        # The token itself is not kept.
        key = hashlib.sha256(token.encode()).digest()
        known = self._users.get(key)
        if known is None and not self._invalid.get(key):
            spec = {"token": token, **({"audiences": list(self._audiences)} if self._audiences else {})}
            status = self._ask(self._tokens, TOKEN_REVIEWS, "TokenReview", spec)
            said = status.user
            extra = tuple(sorted(said.extra.items()))
            # A server that doesn't know of audiences returns none.
            valid = status.authenticated and (
                not self._audiences or not set(self._audiences).isdisjoint(status.audiences)
            )
            if not valid:
                self._invalid.keep(key, True, self._lifetimes.token)
                return None
            user = User(said.username, said.groups, said.uid, extra)
            known = self._users.keep(key, user, self._lifetimes.token)
        return known

    def may_access(self, user: User, verb: str, path: str) -> bool:
        """Return whether the user may do ``verb`` (``get``) with a path that is not a resource, such as
        ``/metrics``.

        Raises:
            UnavailableError: The API server doesn't say.
        """
        return self._may(user, "nonResourceAttributes", {"verb": verb, "path": path})

    def may_do(self, user: User, action: Attributes, namespace: str = "", *, fresh: bool = False) -> bool:
        """Return whether the user may do something with a resource.

        Args:
            user: The user.
            action: The verb and the resource.
            namespace: The resource's namespace; "" = all.
            fresh: Whether no remembered answer counts.

        Raises:
            UnavailableError: The API server gives no answer.
        """
        attributes = {
            "verb": action.verb,
            "group": action.group,
            "resource": action.resource,
            "subresource": action.subresource,
            "namespace": namespace,
            "name": action.name,
        }
        return self._may(user, "resourceAttributes", attributes, fresh=fresh)

    def _may(self, user: User, kind: str, attributes: Mapping[str, str], *, fresh: bool = False) -> bool:
        key = user, *attributes.values()
        known = None if fresh else self._decisions.get(key)
        if known is not None:
            return known
        spec = {
            "user": user.name,
            "groups": list(user.groups),
            "uid": user.uid,
            "extra": {name: list(values) for name, values in user.extra},
            kind: attributes,
        }
        allowed = self._ask(self._access, ACCESS_REVIEWS, "SubjectAccessReview", spec).allowed
        times = self._lifetimes
        return self._decisions.keep(key, allowed, times.allowed if allowed else times.denied)

    def _ask(self, server: ApiServer, path: str, kind: str, spec: Mapping[str, Any]) -> _ReviewStatus:
        group = path.split("/")[2]
        body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
        with self._turn(kind), _failing_closed(kind):
            response = server.request("POST", path, body=body, timeout=REVIEW_SECONDS)
            if not response.ok:
                raise failure(response, f"create a {kind}")
            return response.decode(_review).status

    @contextmanager
    def _turn(self, kind: str) -> Iterator[None]:
        turns, patience = (
            (self._of_tokens, 0.0) if kind == "TokenReview" else (self._of_access, self._patience)
        )
        if not turns.acquire(timeout=patience):
            raise UnavailableError(
                f"{MAX_REVIEWS} reviews are under way at the API server; repeat the call",
                reason="API_SERVER_UNAVAILABLE",
            )
        try:
            yield
        finally:
            turns.release()


_SEE: Final = Attributes("list", "", "pods")
_SERVICE_ACCOUNT: Final = re.compile("user:system:serviceaccount:([^:]+):([^:]+)")


class ReviewAuthorizer(Authorizer):
    """Gives each client the rights that the API server's authorization gives its user; see ``VIRTUAL``.

    For a question a remembered answer counts. A change needs a fresh one, so nothing is committed while the
    API server gives none.

    Args:
        reviews: Calls the API server.
    """

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    def verdict(self, client: Client, right: Right, namespace: str = EVERYWHERE) -> Verdict:
        """Return whether the API server gives ``client`` the right."""
        action = VIRTUAL[right]
        if namespace == SOMEWHERE and right is Right.READ:
            # Which namespaces there are can't be reviewed; the answer masks all that are hidden.
            known = client.proof is not Proof.NONE
            return Verdict(known, "any client with a name", "" if known else "show a token or a certificate")
        place = namespace if action.namespaced and namespace != SOMEWHERE else ""
        return self._reviewed(client, action, place, fresh=right.changes)

    def impersonation(self, client: Client, user: User) -> Verdict:
        """Return whether the API server lets ``client`` impersonate ``user``, and each of the user's groups.

        Mirrors ``buildImpersonationRequests`` of ``k8s.io/apiserver``.
        """
        for claimed in claimed_names(user):
            kind, _, name = claimed.partition(":")
            action, namespace = Attributes("impersonate", "", f"{kind}s", name=name), ""
            if account := _SERVICE_ACCOUNT.fullmatch(claimed):
                namespace, name = account.groups()
                action = action._replace(resource="serviceaccounts", name=name)
            found = self._reviewed(client, action, namespace)
            if not found.allowed:
                return found
        return found

    def _reviewed(
        self, client: Client, action: Attributes, namespace: str, *, fresh: bool = False
    ) -> Verdict:
        resource = "/".join(filter(None, (action.resource, action.subresource, action.name)))
        group = f".{action.group}" if action.group else ""
        rule = f"SubjectAccessReview: {action.verb} {resource}{group} in {namespace or 'all namespaces'}"
        allowed = self._reviews.may_do(client.user, action, namespace, fresh=fresh)
        return Verdict(allowed, rule, "" if allowed else f"let RBAC give {client.user.name} {rule[21:]}")

    def sight(self, client: Client) -> Sight:
        """Return the namespaces in which the API server lets ``client`` list pods."""

        def sees(namespace: str) -> bool:
            return self._reviews.may_do(client.user, _SEE, namespace)

        return Sight() if sees(EVERYWHERE) else Sight(sees)


def client_authorities(server: ApiServer) -> str:
    """Return the certificates, PEM, of the authorities whose client certificates the API server takes. Raises
    MooringError if they can't be read.
    """
    response = server.request("GET", CLIENT_CA, timeout=REVIEW_SECONDS)
    if not response.ok:
        raise failure(response, "read the ConfigMap kube-system/extension-apiserver-authentication")
    return response.decode(_config_map).data.get("client-ca-file", "")
