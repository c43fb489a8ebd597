"""Policies: their rules against an independent reading, their faults, a trial, and changes of the file."""

import logging
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.app.access import AccessFiles, parse_policy, parse_revoked
from mooring.app.options import AccessOptions
from mooring.cluster import reviews
from mooring.cluster.reviews import Lifetimes, ReviewAuthorizer, Reviews
from mooring.framework.errors import (
    InvalidArgumentError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
)
from mooring.serving.access.access import EVERYWHERE, SOMEWHERE, Access, BuiltIn
from mooring.serving.access.authentication import TOKEN_HEADER, Authentication
from mooring.serving.access.clients import (
    ON_BEHALF_OF_GROUP,
    ON_BEHALF_OF_USER,
    Client,
    Proof,
    User,
    connected,
    named,
    on_behalf_of,
)
from mooring.serving.access.policy import AccessPolicy, AccessRule
from mooring.serving.access.roles import NOTHING, QUESTIONS, Right, Role, roles_with
from tests.fake_api_server import FakeApiServer

HEAD = "apiVersion: mooring.dev/v1\nkind: AccessPolicy\n"
GOOD = (
    HEAD
    + """rules:
- subjects: ["cn:a"]
  roles: [scheduler, binder]
- subjects: ["group:g"]
  roles: [reader]
  namespaces: [web]
"""
)
CLUSTER_WIDE = {Right.LOOK, Right.PUSH, Right.HOST, Right.IMPERSONATE}

NAMES, GROUPS, NAMESPACES = ("cn:a", "user:b", "uid:3"), ("g", "h"), ("n", "m")
RULES = st.lists(
    st.builds(
        AccessRule,
        st.frozensets(st.sampled_from([*NAMES, "group:g", "group:h", "*"]), min_size=1, max_size=2),
        st.frozensets(st.sampled_from(Role), min_size=1, max_size=2),
        st.none() | st.frozensets(st.sampled_from(NAMESPACES), min_size=1),
        place=st.just("policy.yaml:1"),
    ),
    max_size=4,
)


def is_given(
    rules: list[AccessRule], name: str, groups: tuple[str, ...], right: Right, namespace: str
) -> bool:
    """Read the rules again, one sentence each."""
    for rule in rules:
        is_for = (
            "*" in rule.subjects
            or name in rule.subjects
            or any(f"group:{g}" in rule.subjects for g in groups)
        )
        gives = any(role.value in roles_with(right) for role in rule.roles)
        inside = (
            rule.namespaces is None or right in CLUSTER_WIDE or namespace in {*rule.namespaces, SOMEWHERE}
        )
        if is_for and gives and inside:
            return True
    return False


@given(RULES, st.sampled_from(NAMES), st.sets(st.sampled_from(GROUPS)))
def test_a_policy_gives_what_its_rules_say(rules: list[AccessRule], name: str, groups: set[str]) -> None:
    policy, client = AccessPolicy(rules, "policy.yaml"), named(name, groups)
    for right, namespace in product(Right, (*NAMESPACES, EVERYWHERE, SOMEWHERE)):
        verdict = policy.verdict(client, right, namespace)
        assert verdict.allowed is is_given(rules, name, tuple(groups), right, namespace)
        assert bool(verdict.remedy) is not verdict.allowed
    sight = policy.sight(client)
    assert sight.everything is is_given(rules, name, tuple(groups), Right.READ, EVERYWHERE)
    for namespace in NAMESPACES:
        assert (namespace in sight) is is_given(rules, name, tuple(groups), Right.READ, namespace)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("[]", "p:1: is not an object; write apiVersion", id="no object"),
        pytest.param("rules: []", "p:1: apiVersion: None is not mooring.dev/v1", id="no version"),
        pytest.param(HEAD, "p:1: rules: is not a list; write []", id="no rules"),
        pytest.param(
            GOOD + "rule: 1\n", "p:9: rule: is not a field here; there are apiVersion", id="a field"
        ),
        pytest.param(GOOD + "mode: try\n", "p:9: mode: 'try' is not one of enforce, log", id="a mode"),
        pytest.param(
            GOOD.replace("binder", "bindr"), "p:5: rules[0].roles[1]: 'bindr' is not one of", id="a role"
        ),
        pytest.param(
            GOOD.replace("namespaces", "ns"), "p:8: rules[1].ns: is not a field", id="a rule's field"
        ),
        pytest.param(GOOD.replace("cn:a", "a"), "p:4: rules[0].subjects[0]: 'a' is not *", id="no type"),
        pytest.param(
            GOOD.replace("[web]", "[]"), "p:8: rules[1].namespaces: is not a list of names", id="no name"
        ),
        pytest.param("rules: [", "p: ", id="no YAML"),
        pytest.param(
            GOOD.replace("binder", "impersonator"),
            "p:4: rules[0].impersonates: goes with the role impersonator alone",
            id="an impersonator of nobody",
        ),
        pytest.param(
            GOOD + '  impersonates: ["user:b"]\n',
            "p:9: rules[1].impersonates: goes with the role impersonator alone",
            id="no impersonator",
        ),
        *(
            pytest.param(
                GOOD.replace("binder", f"impersonator]\n  impersonates: [{name!r}"),
                f"p:6: rules[0].impersonates[0]: {name!r} is not *, a user:NAME or a group:NAME",
                id=f"impersonates {name}",
            )
            for name in ("cn:b", "user:*b", "b")
        ),
    ],
)
def test_a_fault_has_its_line_and_a_remedy(text: str, fault: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        parse_policy(text, "p")
    assert raised.value.message.startswith(fault) or f"; {fault}" in raised.value.message


def test_a_trial_lets_the_rule_without_a_policy_decide_and_logs_once_what_differs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    standing = BuiltIn(others=QUESTIONS | Right.RESERVE)
    tried = parse_policy(GOOD + "mode: log\n", "p").over(standing)
    client = named("cn:stranger")
    for right in (Right.ASK, Right.RESERVE, Right.RESERVE, Right.BIND):
        assert tried.verdict(client, right, "n").allowed is standing.verdict(client, right).allowed
    assert [record.getMessage() for record in caplog.records] == [
        f"mode log: the client (cn:stranger) has the right {right} in namespace n now and would not have it: "
        "no rule of p"
        for right in ("ask", "reserve")
    ]


def looked(files: AccessFiles, times: int = 2) -> None:
    for look in files.looks:
        for _ in range(times):
            look.again()


def test_a_changed_policy_is_in_force_and_a_faulty_one_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "policy.yaml"
    file.write_text(GOOD)
    files = AccessFiles.of(AccessOptions(policy=str(file)), lambda: None)
    access = files.over(Access())

    def binds() -> bool:
        return not access.rejection("Bind", Right.BIND, named("cn:a"), ["n"])

    assert binds()
    file.write_text(GOOD.replace("scheduler, binder", "scheduler"))
    looked(files)
    assert not binds()
    file.write_text(GOOD.replace("binder", "bindr"))
    looked(files, 3)
    assert not binds()
    file.write_text(GOOD)
    looked(files, 1)
    assert not binds(), "one look may have found half a file"
    looked(files, 1)
    assert binds()
    levels = [record.levelname for record in caplog.records]
    assert levels == ["INFO", "ERROR", "INFO"]


def test_revoked_clients_are_rejected_by_name_and_by_certificate(tmp_path: Path) -> None:
    lost = connected(("cn:a",), (), b"certificate", "")
    file = tmp_path / "revoked"
    file.write_text(f"# lost\n{lost.certificate.upper().replace('SHA256', 'sha256')}\nuser:b # gone\n")
    access = AccessFiles.of(AccessOptions(revoked=str(file)), lambda: None).over(Access())
    assert access.client(connected(("cn:a",), (), b"another one", ""), ()).name == "cn:a"
    for client in (lost, named("user:b")):
        with pytest.raises(UnauthenticatedError, match="was revoked"):
            access.client(client, ())
    file.write_text("cn:a\nb\n")
    with pytest.raises(InvalidArgumentError, match=r"revoked:2: 'b' has none of the prefixes"):
        parse_revoked(file.read_text(), str(file))


USERS = {"good": User("jane", ("team", "system:authenticated"))}
THROUGH = parse_policy(
    GOOD
    + """- subjects: ["cn:adapter"]
  roles: [impersonator]
  impersonates: ["user:kube-scheduler", "group:o", "user:zoë%", "user:system:serviceaccount:web:*"]
- subjects: ["cn:adapter"]
  roles: [impersonator]
  impersonates: ["user:system:anonymous", "group:team-*"]
""",
    "p",
).policy
ACCESS = Access(THROUGH, Authentication(USERS.get))
ADAPTER = connected(("cn:adapter",), (), b"", "")


@pytest.mark.parametrize(
    ("connection", "metadata", "name", "proof", "behind"),
    [
        pytest.param(Client(peer="p"), [], "", Proof.NONE, None, id="none"),
        pytest.param(ADAPTER, [], "cn:adapter", Proof.CERTIFICATE, None, id="a certificate"),
        pytest.param(
            Client(peer="p"), [(TOKEN_HEADER, "Bearer good")], "user:jane", Proof.TOKEN, None, id="a token"
        ),
        pytest.param(
            ADAPTER,
            [(TOKEN_HEADER, "bearer  good")],
            "user:jane",
            Proof.TOKEN,
            ADAPTER,
            id="a token passed on",
        ),
        pytest.param(
            ADAPTER,
            on_behalf_of(connected(("cn:kube-scheduler",), ("o",), b"", "")),
            "user:kube-scheduler",
            Proof.INTERMEDIARY,
            ADAPTER,
            id="passed on",
        ),
        pytest.param(
            ADAPTER, on_behalf_of(named("cn:zoë%")), "user:zoë%", Proof.INTERMEDIARY, ADAPTER, id="encoded"
        ),
        pytest.param(ADAPTER, on_behalf_of(Client()), "", Proof.NONE, ADAPTER, id="nobody passed on"),
        pytest.param(Client(peer="p"), [(TOKEN_HEADER, "Basic x")], "", Proof.NONE, None, id="no bearer"),
        pytest.param(
            Client(peer="p"), [("authorization-bin", b"Bearer good")], "", Proof.NONE, None, id="binary"
        ),
    ],
)
def test_who_calls(
    connection: Client,
    metadata: list[tuple[str, str]],
    name: str,
    proof: Proof,
    behind: Client | None,
) -> None:
    found = ACCESS.client(connection, metadata)
    assert (found.name, found.proof, found.behind) == (name, proof, behind)
    assert (found.user.name == "system:anonymous") is not bool(name)


@pytest.mark.parametrize(
    ("connection", "metadata", "error"),
    [
        pytest.param(ADAPTER, [(TOKEN_HEADER, "Bearer bad")], UnauthenticatedError, id="not valid"),
        pytest.param(ADAPTER, [(TOKEN_HEADER, "Bearer good")] * 2, UnauthenticatedError, id="two tokens"),
        pytest.param(ADAPTER, [(ON_BEHALF_OF_USER, "a")] * 2, UnauthenticatedError, id="two users"),
        pytest.param(ADAPTER, [(ON_BEHALF_OF_GROUP, "a")], UnauthenticatedError, id="a group alone"),
        pytest.param(named("cn:a"), [(ON_BEHALF_OF_USER, "b")], PermissionDeniedError, id="no impersonator"),
        pytest.param(Client(), [(ON_BEHALF_OF_USER, "b")], PermissionDeniedError, id="nobody"),
    ],
)
def test_what_nobody_may_say(
    connection: Client, metadata: list[tuple[str, str]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ACCESS.client(connection, metadata)


@pytest.mark.parametrize(
    ("user", "groups", "missing"),
    [
        pytest.param("kube-scheduler", ("o", "system:authenticated"), "", id="a name and a group"),
        pytest.param("system:serviceaccount:web:a", ("team-a",), "", id="an account of a namespace"),
        pytest.param("system:anonymous", ("system:unauthenticated",), "", id="nobody"),
        pytest.param("jane", ("o",), "user:jane", id="another user"),
        pytest.param("kube-scheduler", ("o", "system:masters"), "group:system:masters", id="another group"),
        pytest.param(
            "system:serviceaccount:web-2:a",
            (),
            "user:system:serviceaccount:web-2:a",
            id="an account of another namespace",
        ),
    ],
)
def test_an_impersonator_uses_the_names_that_rules_give_it(
    user: str, groups: tuple[str, ...], missing: str
) -> None:
    metadata = [(ON_BEHALF_OF_USER, user), *((ON_BEHALF_OF_GROUP, group) for group in groups)]
    if not missing:
        found = ACCESS.client(ADAPTER, metadata).user
        assert found.name == user
        assert found.groups.count("system:authenticated") == (user != "system:anonymous")
        return
    with pytest.raises(PermissionDeniedError, match=f"no rule of p lets it impersonate {missing}"):
        ACCESS.client(ADAPTER, metadata)


@pytest.mark.parametrize(
    ("user", "groups", "needed", "place"),
    [
        pytest.param("jane", (), "users/jane", "all namespaces", id="a user"),
        pytest.param("jane", ("a",), "users/jane", "all namespaces", id="a user in a group"),
        pytest.param("jane", ("a", "system:authenticated"), "groups/a", "all namespaces", id="a group"),
        pytest.param("system:serviceaccount:web:a", (), "serviceaccounts/a", "web", id="an account"),
    ],
)
def test_the_api_server_reviews_each_name_that_is_impersonated(
    user: str, groups: tuple[str, ...], needed: str, place: str, fake: FakeApiServer
) -> None:
    def client() -> Client:
        reviewing = ReviewAuthorizer(Reviews(fake.client(), fake.client(), Lifetimes()))
        metadata = [(ON_BEHALF_OF_USER, user), *((ON_BEHALF_OF_GROUP, group) for group in groups)]
        return Access(reviewing).client(ADAPTER, metadata)

    assert client().user.name == user
    fake.people.denied.add(f"impersonate {needed}")
    with pytest.raises(PermissionDeniedError, match=f"let RBAC give adapter impersonate {needed} in {place}"):
        client()


def test_without_an_audience_tokens_mean_nothing_and_without_a_policy_nobody_impersonates() -> None:
    assert Access().client(Client(), [(TOKEN_HEADER, "Bearer good")]).name == ""
    for client in (named("cn:a"), Client()):
        with pytest.raises(PermissionDeniedError, match="--access-policy"):
            Access.at("0.0.0.0:1", ["cn:a"]).client(client, [(ON_BEHALF_OF_USER, "b")])


@pytest.mark.parametrize(
    "access", [Access(), Access.at("0.0.0.0:1", ["cn:a"]), ACCESS], ids=["open", "names", "policy"]
)
def test_a_call_without_a_right_is_nobodys(access: Access) -> None:
    assert "no client may call /s/Later" in access.rejection("/s/Later", NOTHING, named("cn:a"))


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        running.people.tokens["good"] = "jane"
        yield running


def asked(fake: FakeApiServer) -> int:
    return len(fake.history.all())


@pytest.mark.parametrize("right", Right, ids=lambda right: str(right.name))
def test_a_change_is_reviewed_each_time_and_a_question_once(fake: FakeApiServer, right: Right) -> None:
    authorizer = ReviewAuthorizer(Reviews(fake.client(), fake.client(), Lifetimes()))
    assert {authorizer.verdict(named("user:jane"), right, "web").allowed for _ in range(3)} == {True}
    assert asked(fake) == (3 if right.changes else 1)
    fake.forbidden.add("subjectaccessreviews")
    if right.changes:
        with pytest.raises(UnavailableError, match="no answer to a SubjectAccessReview"):
            authorizer.verdict(named("user:jane"), right, "web")
    else:
        assert authorizer.verdict(named("user:jane"), right, "web").allowed
    with pytest.raises(UnavailableError):
        authorizer.verdict(named("user:joe"), right, "web")


def test_a_review_says_which_rule_is_missing(fake: FakeApiServer) -> None:
    authorizer = ReviewAuthorizer(Reviews(fake.client(), fake.client(), Lifetimes()))
    fake.people.denied |= {"create pods/binding", "list pods"}
    found = authorizer.verdict(named("user:jane"), Right.BIND, "web")
    assert (found.allowed, found.rule) == (False, "SubjectAccessReview: create pods/binding in web")
    assert found.remedy == "let RBAC give jane create pods/binding in web"
    assert not authorizer.sight(named("user:jane")).everything
    assert "web" not in authorizer.sight(named("user:jane"))
    for client in (Client(peer="p"), named("user:jane")):
        allowed = authorizer.verdict(client, Right.READ, SOMEWHERE).allowed
        assert allowed is (client.proof is not Proof.NONE)


def test_a_token_needs_the_audience_that_the_api_server_confirms(fake: FakeApiServer) -> None:
    plain, strict = (
        Reviews(fake.client(), fake.client(), Lifetimes(), audiences) for audiences in ((), ("mooring",))
    )
    assert plain.user_of("good") == User("jane", ("system:authenticated",), "uid-of-jane")
    assert strict.user_of("good") == plain.user_of("good")
    fake.people.audiences = False
    forgetting = Reviews(fake.client(), fake.client(), Lifetimes(), ["mooring"])
    assert forgetting.user_of("good") is None


def test_a_token_that_can_not_be_reviewed_is_nobodys_fault(fake: FakeApiServer) -> None:
    fake.forbidden.add("tokenreviews")
    with pytest.raises(UnavailableError, match="no answer to a TokenReview"):
        Reviews(fake.client(), fake.client(), Lifetimes()).user_of("good")


def test_flags_without_an_api_server_are_rejected() -> None:
    for options in (AccessOptions(review=True), AccessOptions(token_audiences=["mooring"])):
        with pytest.raises(InvalidArgumentError, match="needs an API server"):
            AccessFiles.of(options, lambda: None)


def test_many_invalid_tokens_push_no_user_out(fake: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "MAX_ANSWERS", 4)
    known = Reviews(fake.client(), fake.client(), Lifetimes())
    assert known.user_of("good") is not None
    assert [known.user_of(f"bad-{number}") for number in range(8)] == [None] * 8
    before = asked(fake)
    assert known.user_of("good") is not None
    assert known.user_of("bad-7") is None
    assert asked(fake) == before
