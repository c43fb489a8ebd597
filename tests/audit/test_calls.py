"""Calls that are denied are audited, and on request those that only read; so are changes of a policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from mooring.app.access import AccessFiles, FollowedFile
from mooring.app.audit import audited_run, denial_recorder, policy_recorder, reload_recorder
from mooring.app.options import AccessOptions
from mooring.app.reload import REJECTED, TOOK
from mooring.audit.event import AuditedPod, AuditKind
from mooring.framework.errors import UnauthenticatedError
from mooring.service.calls.audit import ListenerAudit
from mooring.serving.access.access import Access, BuiltIn
from mooring.serving.access.authentication import Authentication
from mooring.serving.access.clients import Client
from mooring.serving.access.policy import AccessPolicy, AccessRule, Replaceable, Trial
from mooring.serving.access.roles import QUESTIONS, VERBS, Role
from mooring.serving.shares import Level
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from tests.audit.events import Collected
from tests.service.backends import Stubs, rejected, served, world
from tests.service.test_bind import order
from tests.service.test_reserve import unreserve


def read(stubs: Stubs) -> None:
    stubs.cluster.GetObject(cluster_pb.GetObjectRequest(kind="Pod", namespace="default", name="p"))


@pytest.mark.parametrize(
    ("reads", "kinds"),
    [
        pytest.param((), ["denial"], id="denials alone"),
        pytest.param(("GetObject",), ["denial", "read"], id="one kind of reads"),
        pytest.param(("*",), ["denial", "read", "read"], id="all reads"),
    ],
)
def test_a_call_is_audited_by_its_kind(reads: tuple[str, ...], kinds: list[str]) -> None:
    trail = Collected()
    with (
        world(make_node("a"), make_pod("p")) as w,
        served(w.backend, binds=True, audit=ListenerAudit(trail, reads)) as stubs,
    ):
        failed = rejected(lambda: stubs.scheduling.Bind(order("p", "a")))
        assert failed.code is grpc.StatusCode.PERMISSION_DENIED
        read(stubs)
        stubs.cluster.GetClusterInfo(cluster_pb.GetClusterInfoRequest())
        stubs.scheduling.Unreserve(unreserve("p"))
    assert [each.kind for each in trail.events] == kinds
    denial = trail.events[0]
    assert (denial.call, denial.outcome, denial.who) == ("Bind", "FORBIDDEN", "")
    assert denial.peer
    assert denial.pods == (AuditedPod("default", "p", "pod/default/p", "a"),)
    for told in trail.events[1:2]:
        assert (told.call, told.pods) == ("GetObject", (AuditedPod("default", "p"),))
        assert told.version
        assert told.configuration


class Nobody(Authentication):
    """Takes no client."""

    def check(self, client: Client) -> None:
        raise UnauthenticatedError("the token isn't valid here")


def test_a_call_without_valid_credentials_is_audited() -> None:
    trail = Collected()
    access = replace(Access(), authentication=Nobody())
    with (
        world(make_node("a"), make_pod("p")) as w,
        served(w.backend, access=access, audit=ListenerAudit(trail)) as stubs,
    ):
        assert rejected(lambda: read(stubs)).code is grpc.StatusCode.UNAUTHENTICATED
    (denial,) = trail.events
    assert (denial.kind, denial.call, denial.outcome) == (AuditKind.DENIAL, "GetObject", "UNAUTHENTICATED")


def test_a_verb_that_the_extender_denies_is_audited() -> None:
    trail = Collected()
    access = replace(Access(BuiltIn(others=QUESTIONS)), denied=denial_recorder(trail))
    assert not access.rejection("filter", VERBS["filter"], Client(peer="127.0.0.1:9"))
    assert access.rejection("bind", VERBS["bind"], Client(("cn:x",), behind=Client(("cn:adapter",))))
    (denial,) = trail.events
    assert (denial.kind, denial.call, denial.who, denial.behind) == (
        AuditKind.DENIAL,
        "bind",
        "cn:x",
        "cn:adapter",
    )
    assert "may not call bind" in denial.message


def test_start_reload_and_stop_name_the_configuration() -> None:
    trail = Collected()
    tell = reload_recorder(trail, lambda: "abc")
    with audited_run(trail, lambda: "abc"):
        tell(TOOK, "replaced")
        tell(REJECTED, "a fault")
    told = [(each.call, each.outcome, each.configuration, each.who) for each in trail.events]
    assert told == [
        ("Start", "OK", "abc", "self"),
        ("Reload", "OK", "abc", "self"),
        ("Reload", "REJECTED", "abc", "self"),
        ("Stop", "OK", "abc", "self"),
    ]


POLICY = "apiVersion: mooring.dev/v1\nkind: AccessPolicy\nrules: []\n"


def test_a_changed_policy_is_audited(tmp_path: Path) -> None:
    trail, file = Collected(), tmp_path / "policy.yaml"
    file.write_text(POLICY)
    (look,) = AccessFiles.of(AccessOptions(policy=str(file)), lambda: None).looks
    assert isinstance(look, FollowedFile)
    for text in (POLICY, f"{POLICY}mode: log\n", "rules: 1\n"):
        file.write_text(text)
        for _ in range(3):
            look.again(policy_recorder(trail))
    assert [(each.kind, each.outcome) for each in trail.events] == [
        (AuditKind.POLICY, "OK"),
        (AuditKind.POLICY, "REJECTED"),
    ]
    assert str(file) in trail.events[0].message


@pytest.mark.parametrize(
    ("role", "level"),
    [
        pytest.param(Role.READER, Level.ASKING, id="a reader asks"),
        pytest.param(Role.SCHEDULER, Level.CHANGING, id="a scheduler changes something"),
        pytest.param(Role.PUSHER, Level.CHANGING, id="so does a pusher"),
    ],
)
def test_a_policy_gives_levels(role: Role, level: Level) -> None:
    policy = AccessPolicy([AccessRule(frozenset({"cn:x"}), frozenset({role}))], "policy.yaml")
    client = Client(("cn:x",))
    assert policy.level(client) is Replaceable(policy).level(client) is level
    assert Trial(policy, policy).level(client) is level
