"""Rights against a real API server with RBAC: 600 combinations of client, method, policy and namespace.

``MAY`` has the rights of each. RBAC's rules are written from it, the policy from ``ROLES``. The expected
verdict is read from ``MAY`` alone.
"""

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import cluster_service_pb2_grpc as cluster_grpc
from mooring_client.v1 import objects_pb2 as objects
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from tests.certificates import Authority
from tests.process import until

from .api import Api, Manifest
from .control_plane import ControlPlane
from .processes import MooringServer

pytestmark = pytest.mark.e2e

AUDIENCE = "mooring"
NAMESPACES = ("web", "batch", "idle")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SECONDS = 20.0

MAY: dict[str, dict[str, tuple[str, ...]]] = {
    "reader-of-web": {"read": ("web",), "ask": ("web",), "look": NAMESPACES},
    "reader-of-all": {"read": NAMESPACES, "ask": NAMESPACES, "look": NAMESPACES},
    "decider-of-batch": {"read": ("batch",), "ask": ("batch",), "look": NAMESPACES, "reserve": ("batch",)},
    "binder-of-web": {"look": NAMESPACES, "bind": ("web",)},
    "scheduler": {"look": NAMESPACES, "ask": NAMESPACES, "reserve": NAMESPACES, "bind": NAMESPACES},
    "pusher": {"look": NAMESPACES, "push": NAMESPACES},
    "operator": dict.fromkeys(("look", "read", "ask", "reserve", "bind", "push"), NAMESPACES),
    "nobody": {},
}
"""The rights of each account, and the namespaces of the pods for which it has them."""

ROLES = {
    "reader-of-web": (["reader"], ["web"]),
    "reader-of-all": (["reader"], None),
    "decider-of-batch": (["decider"], ["batch"]),
    "binder-of-web": (["binder"], ["web"]),
    "scheduler": (["scheduler", "binder"], None),
    "pusher": (["pusher"], None),
    "operator": (["operator"], None),
}
"""The same as roles of a policy."""

RESOURCES = {
    "look": ("", "nodes", "get"),
    "read": ("", "pods", "get"),
    "ask": ("mooring.dev", "decisions", "create"),
    "reserve": ("mooring.dev", "reservations", "create"),
    "bind": ("", "pods/binding", "create"),
    "push": ("mooring.dev", "sources", "update"),
}
"""The same as rules of RBAC: group, resource and verb of each right."""

FOR_ALL = ("look", "push")
"""Rights that aren't about a namespace."""


def pod(namespace: str, name: str = "p") -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": "none", "containers": [{"name": "c", "image": "registry.example/a:1"}]},
    }


@dataclass(frozen=True)
class Question:
    """A method, its right, and its request about a pod."""

    method: str
    right: str
    reply: Any
    request: Any

    def about(self, namespace: str) -> Any:
        return self.request(objects.PodReference(namespace=namespace, name="p", uid=UIDS[namespace]))


UIDS: dict[str, str] = {}


def _source(reference: objects.PodReference) -> objects.PodSource:
    return objects.PodSource(reference=reference)


def _batch(mode: scheduling.CommitMode.ValueType) -> Any:
    return lambda reference: scheduling.ScheduleRequest(
        templates=[scheduling.PodTemplate(pod=_source(reference))], commit_mode=mode
    )


_SCHEDULING, _CLUSTER = "/mooring.v1.SchedulingService/", "/mooring.v1.ClusterService/"
QUESTIONS = [
    Question(
        _CLUSTER + "GetClusterInfo",
        "look",
        cluster.GetClusterInfoResponse,
        lambda _: cluster.GetClusterInfoRequest(),
    ),
    Question(
        _CLUSTER + "ListPods",
        "read",
        cluster.ListPodsResponse,
        lambda reference: cluster.ListPodsRequest(namespace=reference.namespace),
    ),
    Question(
        _CLUSTER + "GetObject",
        "read",
        cluster.GetObjectResponse,
        lambda reference: cluster.GetObjectRequest(kind="Pod", namespace=reference.namespace, name="p"),
    ),
    Question(
        _SCHEDULING + "Explain",
        "ask",
        scheduling.ExplainResponse,
        lambda reference: scheduling.ExplainRequest(pod=_source(reference)),
    ),
    Question(
        _SCHEDULING + "Filter",
        "ask",
        scheduling.FilterResponse,
        lambda reference: scheduling.FilterRequest(pod=_source(reference)),
    ),
    Question(
        _SCHEDULING + "Schedule",
        "ask",
        scheduling.ScheduleResponse,
        _batch(scheduling.COMMIT_MODE_DRY_RUN),
    ),
    Question(
        _SCHEDULING + "Schedule",
        "reserve",
        scheduling.ScheduleResponse,
        _batch(scheduling.COMMIT_MODE_RESERVE),
    ),
    Question(
        _SCHEDULING + "Unreserve",
        "reserve",
        scheduling.UnreserveResponse,
        lambda reference: scheduling.UnreserveRequest(pod=reference),
    ),
    Question(
        _SCHEDULING + "Bind",
        "bind",
        scheduling.BindResponse,
        lambda reference: scheduling.BindRequest(pod=reference, node="no-such-node"),
    ),
    Question(
        _CLUSTER + "PushObjects",
        "push",
        cluster.PushObjectsResponse,
        lambda _: cluster.PushObjectsRequest(),
    ),
]


def expected(account: str, right: str, namespace: str) -> bool:
    """Return whether an account may ask a question, by the sentences alone."""
    return namespace in MAY[account].get(right, ())


class RbacControlPlane(ControlPlane):
    """RBAC decides what each may do."""

    apiserver_flags = ("--authorization-mode=RBAC", "--anonymous-auth=false")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with RbacControlPlane(tmp_path_factory.mktemp("access")) as running:
        prepare(running.api)
        yield running


def prepare(api: Api) -> None:
    """Make namespaces with a pod each, accounts, and RBAC's rules for them."""
    for namespace in (*NAMESPACES, "accounts"):
        api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    for namespace in NAMESPACES:
        made = api.call("POST", f"/api/v1/namespaces/{namespace}/pods", pod(namespace))
        UIDS[namespace] = made["metadata"]["uid"]
    for account, rights in MAY.items():
        path = "/api/v1/namespaces/accounts/serviceaccounts"
        api.call("POST", path, {"metadata": {"name": account}})
        subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "accounts"}]
        for right, namespaces in rights.items():
            grant(api, f"{account}-{right}", right, namespaces, subjects)


def grant(api: Api, name: str, right: str, namespaces: tuple[str, ...], subjects: list[Manifest]) -> None:
    group, resource, verb = RESOURCES[right]
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}]
    whole = namespaces == NAMESPACES
    for namespace in ("",) if whole else namespaces:
        kind, place = ("ClusterRole", "") if whole else ("Role", f"/namespaces/{namespace}")
        path = f"{RBAC}{place}/{kind.lower()}"
        api.call("POST", f"{path}s", {"metadata": {"name": name}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
        api.call("POST", f"{path}bindings", binding)


def token_of(api: Api, account: str, audience: str = AUDIENCE) -> str:
    path = f"/api/v1/namespaces/accounts/serviceaccounts/{account}/token"
    token: str = api.call("POST", path, {"spec": {"audiences": [audience]}})["status"]["token"]
    return token


def policy(folder: Path) -> Path:
    rules = [
        {
            "subjects": [f"user:system:serviceaccount:accounts:{account}"],
            "roles": roles,
            **({} if namespaces is None else {"namespaces": namespaces}),
        }
        for account, (roles, namespaces) in ROLES.items()
    ]
    rules.append({"subjects": ["cn:adapter"], "roles": ["impersonator"], "impersonates": ["*"]})
    file = folder / "policy.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "mooring.dev/v1", "kind": "AccessPolicy", "rules": rules}))
    return file


@dataclass
class Door:
    """A way to the server: a channel, and the metadata that proves who calls."""

    channel: grpc.Channel
    metadata: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, question: Question, namespace: str) -> grpc.StatusCode:
        call: Any = self.channel.unary_unary(
            question.method,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=question.reply.FromString,
        )
        try:
            call(question.about(namespace), timeout=SECONDS, metadata=self.metadata)
        except grpc.RpcError as error:
            code: grpc.StatusCode = error.code()
            return code
        return grpc.StatusCode.OK


@dataclass
class Case:
    """A running server, and the door of each account to it."""

    server: MooringServer
    review: bool
    authority: Authority
    tokens: dict[str, str]
    _open: list[grpc.Channel] = field(default_factory=list)

    def by_token(self, account: str) -> Door:
        return Door(self.channel("stranger"), [("authorization", f"Bearer {self.tokens[account]}")])

    def through_adapter(self, account: str) -> Door:
        user = f"system:serviceaccount:accounts:{account}"
        groups = ("system:serviceaccounts", "system:serviceaccounts:accounts", "system:authenticated")
        passed_on = [("mooring-on-behalf-of-group", group) for group in groups]
        return Door(self.channel("adapter"), [("mooring-on-behalf-of-user", user), *passed_on])

    def channel(self, name: str) -> grpc.Channel:
        pair, trusted = self.authority.issue(name), self.authority.certificate
        credentials = grpc.ssl_channel_credentials(
            trusted.read_bytes(), pair.key.read_bytes(), pair.certificate.read_bytes()
        )
        self._open.append(grpc.secure_channel(self.server.address, credentials))
        return self._open[-1]

    def close(self) -> None:
        for channel in self._open:
            channel.close()


def synced(case: Case) -> bool:
    door = case.by_token("operator")
    stub = cluster_grpc.ClusterServiceStub(door.channel)
    return stub.GetClusterInfo(
        cluster.GetClusterInfoRequest(), timeout=SECONDS, metadata=tuple(door.metadata)
    ).synced


MODES = ("policy", "review")


@pytest.fixture(params=MODES)
def case(request: pytest.FixtureRequest, plane: ControlPlane, tmp_path: Path) -> Iterator[Case]:
    authority = Authority(tmp_path / "ca")
    shown = authority.issue("server")
    flags = [
        f"--tls-cert-file={shown.certificate}",
        f"--tls-private-key-file={shown.key}",
        f"--tls-client-ca-file={authority.certificate}",
        f"--token-audience={AUDIENCE}",
    ]
    if request.param == "review":
        flags.append("--authorization-mode=review")
        let_adapter_impersonate(plane.api)
    else:
        flags.append(f"--access-policy={policy(tmp_path)}")
    tokens = {account: token_of(plane.api, account) for account in MAY}
    kubeconfig = plane.kubeconfig("mooring")
    with MooringServer(tmp_path, None, *flags, source=f"kubernetes:{kubeconfig}") as server:
        found = Case(server, request.param == "review", authority, tokens)
        until(lambda: synced(found), "the cluster to be read")
        yield found
        found.close()


def let_adapter_impersonate(api: Api) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]}
    ]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "adapter"}
    api.call("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "adapter"}, "rules": rules})
    binding = {
        "metadata": {"name": "adapter"},
        "roleRef": reference,
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "adapter"}],
    }
    api.call("POST", f"{RBAC}/clusterrolebindings", binding)


REJECTED = {grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNAVAILABLE}


def test_each_combination_is_as_documented_and_nothing_is_committed_without_the_authorizer(
    case: Case, plane: ControlPlane
) -> None:
    behind = ("binder-of-web", "reader-of-web")
    doors = [(account, case.by_token(account)) for account in MAY]
    doors += [(account, case.through_adapter(account)) for account in behind]
    wrong, counts = [], Counter[bool]()
    for (account, door), question, namespace in product(doors, QUESTIONS, NAMESPACES):
        may = expected(account, question.right, namespace)
        code = door.ask(question, namespace)
        counts[may] += 1
        if may is (code in REJECTED):
            wrong.append(
                (account, question.method, question.right, namespace, may, code, door.metadata[0][0])
            )
    assert not wrong
    assert sum(counts.values()) * len(MODES) == 600
    assert min(counts.values()) > 90
    assert not plane.bindings()
    strangers(case, plane)
    silent(case, plane)
    assert not plane.bindings()


def strangers(case: Case, plane: ControlPlane) -> None:
    """Clients without a valid proof, or with one for another audience, are rejected."""
    question = QUESTIONS[2]
    other = Door(
        case.channel("stranger"), [("authorization", f"Bearer {token_of(plane.api, 'operator', 'x')}")]
    )
    assert other.ask(question, "web") is grpc.StatusCode.UNAUTHENTICATED
    bad = Door(case.channel("stranger"), [("authorization", "Bearer bad")])
    assert bad.ask(question, "web") is grpc.StatusCode.UNAUTHENTICATED
    assert Door(case.channel("stranger")).ask(question, "web") is grpc.StatusCode.PERMISSION_DENIED
    user = [("mooring-on-behalf-of-user", "admin"), ("mooring-on-behalf-of-group", "system:masters")]
    assert Door(case.channel("stranger"), user).ask(question, "web") is grpc.StatusCode.PERMISSION_DENIED
    passed_on = Door(
        case.channel("stranger"), [("authorization", f"Bearer {case.tokens['scheduler']}"), *user]
    )
    assert passed_on.ask(question, "web") is grpc.StatusCode.PERMISSION_DENIED


def silent(case: Case, plane: ControlPlane) -> None:
    """While the API server is away, nothing is committed by review, and remembered answers end."""
    operator = case.by_token("operator")
    ask = {(each.method.rpartition("/")[2], each.right): each for each in QUESTIONS}
    read, reserve, bind = ask["GetObject", "read"], ask["Schedule", "reserve"], ask["Bind", "bind"]
    assert operator.ask(read, "web") is grpc.StatusCode.OK
    api_server = plane.process("kube-apiserver")
    api_server.signal(signal.SIGSTOP)
    try:
        assert operator.ask(read, "web") is grpc.StatusCode.OK, "it was allowed a moment ago"
        if case.review:
            assert {operator.ask(each, "web") for each in (reserve, bind)} == {grpc.StatusCode.UNAVAILABLE}
        until(lambda: operator.ask(read, "web") is grpc.StatusCode.UNAVAILABLE, "remembered answers to end")
        codes = [operator.ask(each, "web") for each in (read, reserve, bind)]
        assert codes == [grpc.StatusCode.UNAVAILABLE] * 3
    finally:
        api_server.signal(signal.SIGCONT)
    until(lambda: operator.ask(read, "web") is grpc.StatusCode.OK, "the API server to answer again")
