"""A policy: which clients have which roles, and in which namespaces."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mooring.serving.access.access import EVERYWHERE, SOMEWHERE, Authorizer, Sight, Verdict
from mooring.serving.access.clients import Client, User, claimed_names
from mooring.serving.access.roles import ROLES, VIRTUAL, Right, Role, rights_of
from mooring.serving.shares import Level

log = logging.getLogger(__name__)

EVERY_CLIENT: Final = "*"
"""The subject that every client is."""

MOST_CLIENTS: Final = 1024
"""Clients whose rules are remembered."""


class AccessRule(NamedTuple):
    """A rule of a policy.

    Attributes:
        subjects: The clients that it is for: names with their types, or ``EVERY_CLIENT``.
        namespaces: The namespaces of the pods that the roles are for; None = all.
        impersonates: The users and groups for which an impersonator may call: names with their types. One
            with ``*`` at its end stands for all that begin so.
        place: The rule's file and line.
    """

    subjects: frozenset[str]
    roles: frozenset[Role]
    namespaces: frozenset[str] | None = None
    impersonates: frozenset[str] = frozenset()
    place: str = ""


class _Grant(NamedTuple):
    """A rule as it is evaluated."""

    rights: frozenset[Right]
    namespaces: frozenset[str] | None
    impersonates: frozenset[str]
    verdict: Verdict

    def covers(self, right: Right, namespace: str) -> bool:
        if right not in self.rights:
            return False
        if self.namespaces is None or namespace == SOMEWHERE:
            return True
        return namespace in self.namespaces or not VIRTUAL[right].namespaced


@dataclass(frozen=True, slots=True)
class AccessPolicy(Authorizer):
    """Gives clients the rights of their roles, and no others.

    Attributes:
        rules: The rules; a client has the rights of all rules that are for it.
    """

    rules: Sequence[AccessRule]
    file: str
    _known: dict[Client, tuple[_Grant, ...]] = field(default_factory=dict, compare=False)

    def verdict(self, client: Client, right: Right, namespace: str = EVERYWHERE) -> Verdict:
        """Return whether a rule gives ``client`` the right."""
        for grant in self._grants(client):
            if grant.covers(right, namespace):
                return grant.verdict
        roles = ", ".join(role.value for role, rights in ROLES.items() if right in rights)
        remedy = f"no rule of {self.file} gives it a role with that right: {roles}"
        return Verdict(False, f"no rule of {self.file}", remedy)

    def impersonation(self, client: Client, user: User) -> Verdict:
        """Return whether rules let ``client`` call on behalf of ``user``, in each of the user's groups."""
        grants = [grant for grant in self._grants(client) if grant.impersonates]
        for name in claimed_names(user):
            if not any(matches(pattern, name) for grant in grants for pattern in grant.impersonates):
                text = f"no rule of {self.file} lets it impersonate {name}"
                return Verdict(False, f"no rule of {self.file}", text)
        return grants[0].verdict

    def level(self, client: Client) -> Level:
        """Return the level of ``client`` by its roles."""
        rights = (right for grant in self._grants(client) for right in grant.rights)
        return Level.CHANGING if any(right.changes for right in rights) else Level.ASKING

    def sight(self, client: Client) -> Sight:
        """Return the namespaces in which ``client`` may read."""
        granted = [grant.namespaces for grant in self._grants(client) if Right.READ in grant.rights]
        if None in granted:
            return Sight()
        return Sight(frozenset().union(*(some for some in granted if some is not None)).__contains__)

    def _grants(self, client: Client) -> tuple[_Grant, ...]:
        known = self._known.get(client)
        if known is None:
            if len(self._known) >= MOST_CLIENTS:
                self._known.clear()
            subjects = subjects_of(client)
            known = tuple(_grant(rule) for rule in self.rules if not rule.subjects.isdisjoint(subjects))
            self._known[client] = known
        return known


def matches(pattern: str, name: str) -> bool:
    """Return whether ``pattern`` is ``name``, or its beginning and a ``*``."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def subjects_of(client: Client) -> frozenset[str]:
    """Return the subjects of policies that ``client`` is."""
    groups = (f"group:{group}" for group in client.user.groups)
    return frozenset((EVERY_CLIENT, f"user:{client.user.name}", *client.names, *groups))


def _grant(rule: AccessRule) -> _Grant:
    rights = rights_of(rule.roles)
    return _Grant(
        frozenset(right for right in Right if right in rights),
        rule.namespaces,
        rule.impersonates,
        Verdict(True, rule.place),
    )


@dataclass(frozen=True, slots=True)
class Trial(Authorizer):
    """Decides by one authorizer, and logs once each what another one would reject, up to ``MOST_CLIENTS``."""

    in_force: Authorizer
    tried: Authorizer
    _logged: set[Hashable] = field(default_factory=set, compare=False)

    @property
    def by_namespace(self) -> bool:
        """Whether verdicts differ by namespace."""
        return self.in_force.by_namespace or self.tried.by_namespace

    def verdict(self, client: Client, right: Right, namespace: str = EVERYWHERE) -> Verdict:
        """Return the verdict in force."""
        found = self.in_force.verdict(client, right, namespace)
        if found.allowed and not (other := self.tried.verdict(client, right, namespace)).allowed:
            self._log(client, right, namespace, other)
        return found

    def _log(self, client: Client, right: Right, namespace: str, other: Verdict) -> None:
        """Log a rejection once."""
        case = client.key, right, namespace
        if len(self._logged) < MOST_CLIENTS and case not in self._logged:
            self._logged.add(case)
            place = f" in namespace {namespace}" if namespace not in (EVERYWHERE, SOMEWHERE) else ""
            log.warning(
                "mode log: the client (%s) has the right %s%s now and would not have it: %s",
                *(client, str(right.name).lower(), place, other.rule),
            )

    def impersonation(self, client: Client, user: User) -> Verdict:
        """Return the verdict in force."""
        return self.in_force.impersonation(client, user)

    def level(self, client: Client) -> Level | None:
        """Return the level in force."""
        return self.in_force.level(client)

    def sight(self, client: Client) -> Sight:
        """Return the sight in force."""
        return self.in_force.sight(client)


class Replaceable(Authorizer):
    """Forwards to the ``current`` authorizer, which another one may replace while calls are answered."""

    def __init__(self, current: Authorizer) -> None:
        self.current = current

    @property
    def by_namespace(self) -> bool:
        """Whether verdicts differ by namespace."""
        return self.current.by_namespace

    def verdict(self, client: Client, right: Right, namespace: str = EVERYWHERE) -> Verdict:
        """Return the verdict in force."""
        return self.current.verdict(client, right, namespace)

    def impersonation(self, client: Client, user: User) -> Verdict:
        """Return the verdict in force."""
        return self.current.impersonation(client, user)

    def level(self, client: Client) -> Level | None:
        """Return the level in force."""
        return self.current.level(client)

    def sight(self, client: Client) -> Sight:
        """Return the sight in force."""
        return self.current.sight(client)
