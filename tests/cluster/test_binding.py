"""Bindings at the API server: what counts as bound, what rejections mean, and what a lost answer costs."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from mooring.cluster.api import ApiServer, ClientOptions
from mooring.cluster.binding import KubernetesBinder, LocalBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.state import State
from mooring.framework.cluster_api import ObjectReference
from mooring.framework.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    MooringError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from mooring.framework.handle import BindOutcome, Leadership
from mooring.testing.builders import make_node, make_pod, pod_manifest
from tests.fake_api_server import Answer, Cut, FakeApiServer

UID = {"uid": "uid-1"}
POD = make_pod("p", metadata=UID)
DELETING = {**UID, "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/held"]}
BINDING = "/binding$"


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        yield running


def stored(**fields: Any) -> dict[str, Any]:
    return pod_manifest("p", **{"metadata": UID, **fields})


def binder_for(
    fake: FakeApiServer, seconds: float = 5.0, leadership: Leadership | None = None, **options: Any
) -> KubernetesBinder:
    api = ApiServer(lambda: configuration(fake.url), ClientOptions(timeout_seconds=seconds, **options))
    return KubernetesBinder(api, leadership)


def configuration(url: str) -> Any:
    from kubernetes.client import Configuration

    made = Configuration()
    made.host = url
    return made


def node_of(fake: FakeApiServer) -> str:
    pod = fake.get("Pod", "p")
    assert pod is not None
    return str(pod["spec"].get("nodeName", ""))


def test_bind_happy_status(fake: FakeApiServer) -> None:
    fake.add(stored())
    assert binder_for(fake).bind(POD, "n") is BindOutcome.BOUND
    (entry,) = fake.history.bindings()
    assert (entry.status, entry.call.body["metadata"]["uid"]) == (201, "uid-1")
    assert entry.call.body["target"]["kind"] == "Node"
    assert entry.call.query == {"timeout": "5s"}
    assert node_of(fake) == "n"


@pytest.mark.parametrize("fault", [Cut(after=True), Answer(500, after=True)], ids=["cut", "HTTP 500"])
def test_bind_response_lost(fake: FakeApiServer, fault: Any) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, fault, times=1)
    assert binder_for(fake).bind(POD, "n") is BindOutcome.BOUND
    assert len(fake.history.bindings()) == 1


def test_bind_request_lost(fake: FakeApiServer) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Cut(), times=1)
    assert binder_for(fake).bind(POD, "n") is BindOutcome.BOUND
    assert [entry.done for entry in fake.history.bindings()] == [False, True]


@pytest.mark.parametrize("at_byte", [1, 15, 80, 200])
def test_an_answer_that_is_cut_short_counts_as_lost(fake: FakeApiServer, at_byte: int) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Cut(after=True, at_byte=at_byte), times=1)
    assert binder_for(fake).bind(POD, "n") is BindOutcome.BOUND
    assert sum(entry.done for entry in fake.history.bindings()) == 1


def test_bind_409_same_node(fake: FakeApiServer) -> None:
    fake.add(stored(node="n"))
    assert binder_for(fake).bind(POD, "n") is BindOutcome.ALREADY_BOUND


@pytest.mark.parametrize(
    ("pod", "error", "reason", "metadata"),
    [
        pytest.param(None, NotFoundError, "POD_NOT_FOUND", {}, id="gone"),
        pytest.param(
            stored(node="other"),
            FailedPreconditionError,
            "POD_BOUND_ELSEWHERE",
            {"node": "other"},
            id="bind_409_other_node",
        ),
        pytest.param(
            stored(metadata=DELETING), FailedPreconditionError, "POD_DELETING", {}, id="bind_deleting_pod"
        ),
        pytest.param(
            stored(spec={"schedulingGates": [{"name": "g"}]}),
            FailedPreconditionError,
            "POD_GATED",
            {},
            id="gated",
        ),
        pytest.param(
            stored(metadata={"uid": "uid-2"}),
            AbortedError,
            "POD_RECREATED",
            {"uid": "uid-2"},
            id="bind_uid_mismatch",
        ),
    ],
)
def test_what_keeps_a_pod_from_being_bound(
    fake: FakeApiServer,
    pod: dict[str, Any] | None,
    error: type[MooringError],
    reason: str,
    metadata: dict[str, str],
) -> None:
    fake.add(*([pod] if pod else []))
    with pytest.raises(error) as raised:
        binder_for(fake).bind(POD, "n")
    assert raised.value.reason == reason
    assert metadata.items() <= raised.value.metadata.items()
    assert not list(fake.history.accepted_bindings())
    assert len(fake.history.bindings()) == 1


@pytest.mark.parametrize("retry_after", [None, 1], ids=["no time named", "Retry-After"])
def test_bind_429(fake: FakeApiServer, retry_after: int | None) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Answer(429, retry_after), times=2)
    assert binder_for(fake).bind(POD, "n") is BindOutcome.BOUND
    times = [entry.call.at for entry in fake.history.bindings()]
    assert len(times) == 3
    assert all(later - earlier >= 0.9 for earlier, later in pairwise(times))


def test_bind_429_for_longer_than_there_is_time_is_known_not_to_be_bound(fake: FakeApiServer) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Answer(429, 30))
    with pytest.raises(ResourceExhaustedError):
        binder_for(fake, seconds=1.0).bind(POD, "n")
    assert len(fake.history.bindings()) == 1


@pytest.mark.parametrize(
    ("fault", "error", "reason"),
    [
        *(
            pytest.param(Answer(status), UnavailableError, "API_SERVER_UNAVAILABLE", id=str(status))
            for status in (409, 500, 502, 503, 504)
        ),
        pytest.param(Cut(), UnavailableError, "API_SERVER_UNAVAILABLE", id="cut off each time"),
        pytest.param(Answer(403), PermissionDeniedError, "FORBIDDEN", id="403"),
        pytest.param(Answer(422), InvalidArgumentError, "REQUEST_INVALID", id="422"),
        pytest.param(
            Answer(500, message="target.name: Required value"),
            InvalidArgumentError,
            "REQUEST_INVALID",
            id="500 for a bad target",
        ),
    ],
)
def test_bind_5xx_and_500_invalid(
    fake: FakeApiServer, fault: Any, error: type[MooringError], reason: str
) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, fault)
    with pytest.raises(error) as raised:
        binder_for(fake).bind(POD, "n")
    assert raised.value.reason == reason
    assert node_of(fake) == ""


@pytest.mark.parametrize(
    "unread",
    [
        pytest.param(Answer(403), id="rejected"),
        pytest.param(Answer(503), id="unavailable"),
        pytest.param(Answer(200, body=b"<html>"), id="nonsense"),
    ],
)
def test_a_pod_that_can_not_be_read_leaves_the_outcome_unknown(fake: FakeApiServer, unread: Answer) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Cut(after=True))
    fake.faults.on("GET", "/pods/p$", unread)
    with pytest.raises(UnavailableError) as raised:
        binder_for(fake).bind(POD, "n")
    assert raised.value.reason == "API_SERVER_UNAVAILABLE"
    assert node_of(fake) == "n"


@pytest.mark.parametrize("status", [403, 404, 422, 429])
def test_a_rejected_repetition_says_nothing_of_what_was_sent_before(fake: FakeApiServer, status: int) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Cut(), times=1)
    fake.faults.on("POST", BINDING, Answer(status, 30))
    with pytest.raises(UnavailableError) as raised:
        binder_for(fake, seconds=1.0).bind(POD, "n")
    assert raised.value.reason == "API_SERVER_UNAVAILABLE"
    assert len(fake.history.bindings()) == 2


def test_a_lease_that_is_lost_after_a_binding_was_sent_leaves_the_outcome_unknown(
    fake: FakeApiServer,
) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Cut(), times=1)
    with pytest.raises(UnavailableError) as raised:
        binder_for(fake, leadership=Deposed(1)).bind(POD, "n")
    assert raised.value.reason == "API_SERVER_UNAVAILABLE"
    assert len(fake.history.bindings()) == 1


def test_no_api_server_is_a_clear_error() -> None:
    with FakeApiServer() as fake:
        binder = binder_for(fake)
    with pytest.raises(UnavailableError, match="default/p"):
        binder.bind(POD, "n")


class Deposed:
    """Leads for the first ``terms`` questions."""

    def __init__(self, terms: int) -> None:
        self.terms = terms

    def is_leader(self) -> bool:
        self.terms -= 1
        return self.terms >= 0

    def leader(self) -> str:
        return "the-other"


@pytest.mark.parametrize(("terms", "sent"), [(0, 0), (1, 1)], ids=["before", "while it is put off"])
def test_a_leader_whose_lease_ran_out_sends_no_binding(fake: FakeApiServer, terms: int, sent: int) -> None:
    fake.add(stored())
    fake.faults.on("POST", BINDING, Answer(429, 0), times=1)
    with pytest.raises(UnavailableError) as raised:
        binder_for(fake, leadership=Deposed(terms)).bind(POD, "n")
    assert (raised.value.reason, raised.value.metadata["leader"]) == ("NOT_LEADER", "the-other")
    assert len(fake.history.bindings()) == sent
    assert node_of(fake) == ""


def test_a_leader_whose_lease_runs_out_while_a_binding_waits_for_its_turn_sends_none(
    fake: FakeApiServer,
) -> None:
    fake.add(stored())

    class Timed:
        """Leads for a third of the time that a request waits for its turn."""

        ends = float("inf")

        def is_leader(self) -> bool:
            return time.monotonic() < self.ends

        def leader(self) -> str:
            return "the-other"

    leadership = Timed()
    binder = binder_for(fake, leadership=leadership, qps=1 / 0.3, burst=1)
    with pytest.raises(NotFoundError):
        binder.bind(make_pod("unknown"), "n")
    leadership.ends = time.monotonic() + 0.1
    with pytest.raises(UnavailableError, match="does not lead"):
        binder.bind(POD, "n")
    assert len(fake.history.bindings()) == 1
    assert node_of(fake) == ""


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda api: api.delete_pod(POD), id="delete a pod"),
        pytest.param(lambda api: api.patch_pod_status(POD, {"nominatedNodeName": "n"}), id="write a status"),
        pytest.param(lambda api: api.patch(ObjectReference("Pod", "default", "p"), {}), id="patch"),
        pytest.param(
            lambda api: api.set_finalizers(ObjectReference("Pod", "default", "p"), ["f"]), id="finalizers"
        ),
        pytest.param(lambda api: api.create("Event", "default", {"metadata": {"name": "e"}}), id="create"),
    ],
)
def test_a_leader_whose_lease_ran_out_writes_nothing_else_either(
    fake: FakeApiServer, write: Callable[[KubernetesApi], object]
) -> None:
    fake.add(stored())
    before = fake.get("Pod", "p")
    api = KubernetesApi(ApiServer(lambda: configuration(fake.url)), Deposed(0))
    assert api.read_pod("default", "p") is not None
    with pytest.raises(UnavailableError, match="does not lead"):
        write(api)
    assert fake.get("Pod", "p") == before is not None
    assert fake.all("Event") == []


def test_of_many_bindings_of_one_pod_exactly_one_is_accepted(fake: FakeApiServer) -> None:
    fake.add(stored())
    binder = binder_for(fake)
    outcomes: list[object] = []

    def bind(node: str) -> None:
        try:
            outcomes.append(binder.bind(POD, node))
        except FailedPreconditionError as error:
            outcomes.append(error.reason)

    threads = [threading.Thread(target=bind, args=(f"n{at % 4}",)) for at in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(BindOutcome.BOUND) == 1
    assert outcomes.count(BindOutcome.ALREADY_BOUND) == 3
    assert outcomes.count("POD_BOUND_ELSEWHERE") == 12
    assert len(list(fake.history.accepted_bindings())) == 1


def test_a_local_binding_is_an_assumption() -> None:
    state = State()
    state.replace("test", [make_node("n"), make_node("m"), POD])
    binder = LocalBinder(state)
    assert binder.bind(POD, "n") is BindOutcome.LOCAL
    assert binder.bind(POD, "n") is BindOutcome.LOCAL
    record = state.snapshot.pods.get("uid-1")
    assert record is not None
    assert (record.pod.spec.node_name, record.assumed) == ("n", True)
    with pytest.raises(FailedPreconditionError):
        binder.bind(POD, "m")
    with pytest.raises(NotFoundError):
        binder.bind(make_pod("q"), "nowhere")


def test_the_kubernetes_package_is_imported_only_when_a_cluster_is_used() -> None:
    code = (
        "import sys, mooring.cluster.binding, mooring.cluster.sources;"
        "sys.exit('kubernetes' in sys.modules or 'grpc' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
