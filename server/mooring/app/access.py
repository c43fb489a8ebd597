"""Who calls a listener and what they may, as the flags say; the files of both are followed.

A policy is a document such as::

    apiVersion: mooring.dev/v1
    kind: AccessPolicy
    mode: enforce               # or log: the rule without a policy decides, and what differs is logged
    rules:
    - subjects: ["cn:kube-scheduler"]
      roles: [scheduler, binder]
    - subjects: ["group:team-a"]
      roles: [reader]
      namespaces: [a, a-test]
    - subjects: ["cn:mooring-extender"]
      roles: [impersonator]
      impersonates: ["user:system:kube-scheduler", "user:system:serviceaccount:a:*"]
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mooring.app.engine import read_text
from mooring.app.options import AccessOptions
from mooring.app.reload import Settling, looking
from mooring.app.sources import api_server_to_read
from mooring.cluster.api import ApiServer
from mooring.cluster.reviews import Lifetimes, ReviewAuthorizer, Reviews
from mooring.config import ConfigError, lines_of
from mooring.documents import DocumentError, read_document
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.serving.access.access import EVERYWHERE, SOMEWHERE, Access, Authorizer, Verdict
from mooring.serving.access.authentication import Authentication
from mooring.serving.access.clients import NAME_TYPES, Client
from mooring.serving.access.policy import EVERY_CLIENT, AccessPolicy, AccessRule, Replaceable, Trial
from mooring.serving.access.roles import MASKED, Right, Role

log = logging.getLogger(__name__)

API_VERSION: Final = "mooring.dev/v1"
KIND: Final = "AccessPolicy"
MODES: Final = ("enforce", "log")
SUBJECTS: Final = (*NAME_TYPES, "user:", "group:", "uid:")
REVOKED: Final = (*NAME_TYPES, "user:", "uid:", "sha256:")

REVIEWS_AT_ONCE_SECONDS: Final = 1.0
"""How long a call waits while too many reviews are under way."""

_FIELDS: Final = ("apiVersion", "kind", "mode", "rules")
_RULE_FIELDS: Final = ("subjects", "roles", "namespaces", "impersonates")
_OPTIONAL: Final = ("namespaces", "impersonates")
IMPERSONATED: Final = ("user:", "group:")
"""The prefixes of the names that an impersonator may use."""


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy as its file has it. It decides if it is ``enforced``; otherwise it is tried."""

    policy: AccessPolicy
    enforced: bool

    def over(self, standing: Authorizer) -> Authorizer:
        """Return the authorizer of a listener whose rule without a policy is ``standing``."""
        return self.policy if self.enforced else Trial(standing, self.policy)


def read_policy(file: str) -> PolicyFile:
    """Return the policy in a file. Raises InvalidArgumentError if it has faults; each is named with its
    line.
    """
    return parse_policy(_text(file), file)


def _text(file: str) -> str:
    try:
        return read_text(file)
    except ConfigError as error:
        raise InvalidArgumentError.at(file, str(error)) from None


def parse_policy(text: str, file: str) -> PolicyFile:
    """Return the policy in a text; ``file`` is its name for errors. Raises as ``read_policy``."""
    try:
        document = read_document(text)
    except DocumentError as error:
        raise InvalidArgumentError.at(file, str(error)) from None
    faults = list(_faults(document))
    if faults:
        lines = lines_of(text, [fault.path for fault in faults])
        raise InvalidArgumentError(
            FieldError(f"{file}:{lines.get(each.path, 1)}: {each.path}".removesuffix(": "), each.message)
            for each in faults
        )
    rules = document["rules"]
    lines = lines_of(text, [f"rules[{at}]" for at in range(len(rules))])
    made = [_rule(rule, f"{file}:{lines.get(f'rules[{at}]', 1)}") for at, rule in enumerate(rules)]
    return PolicyFile(AccessPolicy(made, file), document.get("mode", MODES[0]) == MODES[0])


def _rule(rule: Mapping[str, Any], place: str) -> AccessRule:
    namespaces = frozenset(rule["namespaces"]) if "namespaces" in rule else None
    impersonates = frozenset(rule.get("impersonates", ()))
    roles = frozenset(map(Role, rule["roles"]))
    return AccessRule(frozenset(rule["subjects"]), roles, namespaces, impersonates, place)


def _faults(document: Any) -> Iterator[FieldError]:
    if not isinstance(document, dict):
        yield FieldError("", f"is not an object; write apiVersion: {API_VERSION}, kind: {KIND} and rules")
        return
    yield from _unknown(document, "", _FIELDS)
    for name, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if document.get(name) != expected:
            yield FieldError(name, f"{document.get(name)!r} is not {expected}")
    if document.get("mode", MODES[0]) not in MODES:
        yield FieldError("mode", f"{document['mode']!r} is not one of {', '.join(MODES)}")
    rules = document.get("rules")
    if not isinstance(rules, list):
        yield FieldError("rules", "is not a list; write [] to give no client a right")
        return
    for at, rule in enumerate(rules):
        if isinstance(rule, dict):
            yield from _faults_of(rule, f"rules[{at}]")
        else:
            yield FieldError(f"rules[{at}]", "is not an object with subjects and roles")


def _faults_of(rule: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    yield from _unknown(rule, f"{path}.", _RULE_FIELDS)
    roles = [role.value for role in Role]
    for name in _RULE_FIELDS:
        values = rule.get(name)
        if name in _OPTIONAL and name not in rule:
            continue
        if not (
            isinstance(values, list) and values and all(isinstance(each, str) and each for each in values)
        ):
            yield FieldError(f"{path}.{name}", "is not a list of names, one or more")
            continue
        for at, value in enumerate(values):
            if name == "roles" and value not in roles:
                yield FieldError(f"{path}.roles[{at}]", f"{value!r} is not one of {', '.join(roles)}")
            if name == "subjects" and value != EVERY_CLIENT and not value.startswith(SUBJECTS):
                text = f"{value!r} is not {EVERY_CLIENT} and has none of the prefixes {', '.join(SUBJECTS)}"
                yield FieldError(f"{path}.subjects[{at}]", text)
            if name == "impersonates" and not _is_impersonated(value):
                text = f"{value!r} is not *, a user:NAME or a group:NAME; a name may end with *"
                yield FieldError(f"{path}.impersonates[{at}]", text)
    named = rule.get("roles")
    if (isinstance(named, list) and Role.IMPERSONATOR.value in named) != ("impersonates" in rule):
        text = "goes with the role impersonator alone; an example is user:system:serviceaccount:team-a:*"
        yield FieldError(f"{path}.impersonates", text)


def _is_impersonated(value: str) -> bool:
    return value == EVERY_CLIENT or (value.startswith(IMPERSONATED) and "*" not in value[:-1])


def _unknown(value: Mapping[str, Any], path: str, known: Sequence[str]) -> Iterator[FieldError]:
    for name in value:
        if name not in known:
            yield FieldError(f"{path}{name}", f"is not a field here; there are {', '.join(known)}")


def check(
    options: AccessOptions, kubeconfig: str, client: Client, method: str, right: Right, namespace: str
) -> Verdict:
    """Return whether a client may call a method by a policy, or by the API server of ``kubeconfig``.

    Raises:
        InvalidArgumentError: The policy has faults, or there is none, or the API server can't be used.
        UnavailableError: The API server gives no answer.
    """
    if options.review:
        server = api_server_to_read(kubeconfig)
        authorizer: Authorizer = ReviewAuthorizer(Reviews(server, server, Lifetimes()))
    elif options.policy:
        authorizer = read_policy(options.policy).policy
    else:
        raise InvalidArgumentError.at(
            "--access-policy", "name the policy, or give --authorization-mode review"
        )
    return authorizer.verdict(client, right, namespace or (SOMEWHERE if method in MASKED else EVERYWHERE))


def parse_revoked(text: str, file: str) -> frozenset[str]:
    """Return the clients in a text, one a line: names with their types, or the ``sha256:`` of certificates.
    ``file`` is its name for errors. Raises InvalidArgumentError if a line is neither.
    """
    found, faults = set(), []
    for at, line in enumerate(text.splitlines(), 1):
        name = line.partition("#")[0].strip()
        if name.startswith(REVOKED):
            found.add(name.lower() if name.startswith("sha256:") else name)
        elif name:
            fault = f"{name!r} has none of the prefixes {', '.join(REVOKED)}"
            faults.append(FieldError(f"{file}:{at}", fault))
    InvalidArgumentError.raise_if_any(faults)
    return frozenset(found)


@dataclass
class AccessFiles:
    """The rules of a process's listeners by its flags. ``following`` follows the files. ``reviews`` calls the
    API server; None = it need not be called.
    """

    options: AccessOptions
    reviews: Reviews | None
    _policy: PolicyFile | None = None
    _revoked: Collection[str] = ()
    looks: Sequence[FollowedFile] = ()
    _listeners: list[tuple[Authorizer, Replaceable]] = field(default_factory=list)

    @classmethod
    def of(cls, options: AccessOptions, api_server: Callable[[], ApiServer | None]) -> AccessFiles:
        """Return the rules, their files read. ``api_server`` returns the server that reviews tokens and
        access; None = there is none. Raises InvalidArgumentError if a file has faults, flags contradict each
        other, or an API server is missing.
        """
        if options.review and options.policy:
            raise InvalidArgumentError.at("--access-policy", "is not read in the authorization mode review")
        server = api_server() if options.review or options.token_audiences else None
        if server is None and (options.review or options.token_audiences):
            flag = "--authorization-mode review" if options.review else "--token-audience"
            raise InvalidArgumentError.at(flag, "needs an API server: give --kubeconfig or --in-cluster")
        reviews = (
            Reviews(server, server, Lifetimes(), options.token_audiences, REVIEWS_AT_ONCE_SECONDS)
            if server is not None
            else None
        )
        files = cls(options, reviews)
        files.looks = files._looks()
        for look in files.looks:
            look.begin()
        return files

    def over(self, standing: Access) -> Access:
        """Return the rule of a listener whose rule without flags is ``standing``."""
        authorizer = standing.authorizer
        if self.options.review and self.reviews is not None:
            authorizer = ReviewAuthorizer(self.reviews)
        elif self._policy is not None:
            replaceable = Replaceable(self._policy.over(authorizer))
            self._listeners.append((authorizer, replaceable))
            authorizer = replaceable
        user_of = self.reviews.user_of if self.reviews is not None and self.options.token_audiences else None
        return replace(
            standing, authorizer=authorizer, authentication=Authentication(user_of, lambda: self._revoked)
        )

    @contextmanager
    def following(self, tell: Callable[[str, str], None] = lambda _file, _fault: None) -> Iterator[None]:
        """Follow the files in a ``with`` block. A file that can't be used changes nothing, and is logged.

        ``tell`` is called with each file that has changed, and with its fault, "" = none.
        """
        if not self.looks:
            yield
            return

        def look() -> None:
            for file in self.looks:
                file.again(tell)

        with looking(look, "access-files"):
            yield

    def _looks(self) -> list[FollowedFile]:
        options = self.options
        policy = FollowedFile(options.policy, parse_policy, self._take_policy)
        revoked = FollowedFile(options.revoked, parse_revoked, self._take_revoked)
        return [look for look in (policy, revoked) if look.file]

    def _take_policy(self, found: PolicyFile) -> None:
        self._policy = found
        for standing, replaceable in self._listeners:
            replaceable.current = found.over(standing)

    def _take_revoked(self, found: Collection[str]) -> None:
        self._revoked = found


@dataclass
class FollowedFile:
    """A file, read again and again; for one thread. ``parse`` makes a value of the text and the name, and
    raises InvalidArgumentError if it can't be used.
    """

    file: str
    parse: Callable[[str, str], Any]
    take: Callable[[Any], None]
    _settling: Settling = field(default_factory=Settling)
    _done: object = None

    def begin(self) -> None:
        """Take what the file has. Raises InvalidArgumentError when it can't be used."""
        self._done = self.parse(_text(self.file), self.file)
        self.take(self._done)

    def again(self, tell: Callable[[str, str], None] = lambda _file, _fault: None) -> None:
        """Take what the file has now, once that has settled; ``tell`` is as in ``AccessFiles.following``."""
        text, fault = "", ""
        try:
            text = _text(self.file)
        except InvalidArgumentError as error:
            fault = error.message
        if not self._settling.settled((text, fault)):
            return
        found: Any = fault
        try:
            found = fault or self.parse(text, self.file)
        except InvalidArgumentError as error:
            found = fault = error.message
        if found == self._done:
            return
        self._done = found
        if fault:
            log.error("%s can't be used, the last one stays in force: %s", self.file, fault)
        else:
            self.take(found)
            log.info("%s is in force as it is now", self.file)
        tell(self.file, fault)
