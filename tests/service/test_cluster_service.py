"""ClusterService: what the state is, its nodes and their epochs, pushed objects."""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import grpc
import pytest

from mooring.app.bridge import Decoder
from mooring.cluster.sources import PushSource
from mooring.cluster.state import State
from mooring.framework.node_table import new_first_epoch
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.framework.sources import SourceStatus
from mooring.service.cluster import ClusterServicer
from mooring.serving.certificates import TlsFiles
from mooring.testing.builders import make_node, make_pod, to_json
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference
from tests.certificates import Authority
from tests.runtime.pausing import Running, pause
from tests.service.backends import WAYS, direct, listening, rejected, sent, served, world
from tests.service.harness import LONG
from tests.service.test_access import as_client

NODES = tuple(make_node(name) for name in ("a", "b", "c"))


@pytest.mark.parametrize("way", WAYS)
def test_what_the_server_knows(way: Callable[..., Any]) -> None:
    pods = (make_pod("pending"), make_pod("placed", node="a"))
    source = SourceStatus("files:x.yaml", True, 3, 2, error="gone")
    with world(*NODES, *pods, sources=lambda: [source]) as w, way(w.backend) as stubs:
        info = stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest())
        assert info.provenance.state_version == w.state.version
    assert (info.node_count, info.pod_count, info.pending_pod_count) == (3, 2, 1)
    assert (info.synced, info.api_server_connected) == (True, False)
    assert (info.sources[0].name, info.sources[0].error) == ("files:x.yaml", "gone")
    assert (info.kube_version, info.server_version) == (DEFAULT_KUBE_VERSION, "0.0.0")
    assert info.start_time.ToDatetime().year == 2026
    assert info.provenance.profile == ""
    assert info.provenance.configuration_hash
    assert (info.leads, info.leader) == (True, "")


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


@pytest.mark.parametrize("way", WAYS)
def test_pending_pods(way: Callable[..., Any]) -> None:
    owners = [
        {"kind": "Team", "name": "t", "uid": "t"},
        {"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True},
    ]
    told = {"uid": "u", "creationTimestamp": "2026-11-23T01:02:03Z", "ownerReferences": owners}
    pods = (
        make_pod("told", labels={"a": "b"}, metadata=told, status={"conditions": [UNSCHEDULABLE]}),
        make_pod("bare", metadata={"uid": "bare", "creationTimestamp": "yesterday"}),
        make_pod("gated", status={"conditions": [{**UNSCHEDULABLE, "reason": "SchedulingGated"}]}),
        make_pod("elsewhere", namespace="other"),
        make_pod("placed", node="a"),
    )
    with world(*NODES, *pods) as w, way(w.backend) as stubs:
        everywhere = stubs.cluster.ListPendingPods(pb.ListPendingPodsRequest())
        here = stubs.cluster.ListPendingPods(pb.ListPendingPodsRequest(namespace="default"))
        assert here.provenance.state_version == w.state.version
    assert [each.pod.name for each in everywhere.pods] == ["told", "bare", "gated", "elsewhere"]
    first = pb.PendingPod(
        pod=PodReference(namespace="default", name="told", uid="u"),
        labels={"a": "b"},
        controller_kind="ReplicaSet",
        controller_name="r",
        unschedulable=True,
    )
    first.creation_time.FromJsonString("2026-11-23T01:02:03Z")
    bare = pb.PendingPod(pod=PodReference(namespace="default", name="bare", uid="bare"))
    assert list(here.pods)[:2] == [first, bare]
    assert (here.pods[2].pod.name, here.pods[2].unschedulable) == ("gated", False)


@pytest.mark.parametrize("way", WAYS)
def test_nodes_and_pending_pods_with_labels(way: Callable[..., Any]) -> None:
    nodes = (make_node(name, labels={"zone": zone}) for name, zone in (("a", "x"), ("b", "y"), ("c", "x")))
    pods = (make_pod("web-1", labels={"app": "web"}), make_pod("db", labels={"app": "db"}))
    with world(*nodes, *pods) as w, way(w.backend) as stubs:
        found = stubs.cluster.ListNodes(pb.ListNodesRequest(label_selector="zone in (x)"))
        waiting = stubs.cluster.ListPendingPods(pb.ListPendingPodsRequest(label_selector="app!=db"))
        for request in (
            pb.ListNodesRequest(label_selector="zone=("),
            pb.ListNodesRequest(label_selector="zone=x", since_epoch=1),
        ):
            failure = rejected(lambda asked=request: stubs.cluster.ListNodes(asked))  # type: ignore[misc]
            assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
            assert [field for field, _ in failure.violations] == ["label_selector"]
    assert (list(found.nodes.names.names), len(found.indices), found.complete) == (["a", "c"], 2, True)
    assert [each.pod.name for each in waiting.pods] == ["web-1"]


def test_what_nodes_offer_and_their_pods_take() -> None:
    zone = "topology.kubernetes.io/zone"
    nodes = (
        make_node("a", allocatable={"cpu": "4", "memory": "8Gi", "pods": "10"}),
        make_node(
            "b",
            labels={zone: "a"},
            allocatable={"cpu": "8", "memory": "8Gi", "pods": "10", "example.com/gpu": "2"},
            taints=[
                {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                {"key": "b", "effect": "NoExecute"},
            ],
        ),
        make_node("c", labels={zone: "a"}, spec={"unschedulable": True}),
    )
    pods = (make_pod("one", node="b", requests={"cpu": "1500m"}), make_pod("two", node="b"))
    with world(*nodes, *pods) as w, direct(w.backend) as stubs:
        whole = stubs.cluster.ListNodes(pb.ListNodesRequest(include_usage=True))
        second = stubs.cluster.ListNodes(pb.ListNodesRequest(include_usage=True, label_selector=f"{zone}=a"))
        plain = stubs.cluster.ListNodes(pb.ListNodesRequest())
    assert not plain.HasField("usage")
    usage = whole.usage
    columns = {each.name: (list(each.allocatable), list(each.requested)) for each in usage.resources}
    assert columns["cpu"][0][:2] == [4000, 8000]
    assert columns["cpu"][1] == [0, 1500, 0]
    assert columns["pods"][1] == [0, 2, 0]
    assert columns["example.com/gpu"][0] == [0, 2, 0]
    assert [usage.zones[at] for at in usage.zone_positions] == ["", "a", "a"]
    assert [usage.taints[at] for at in usage.taint_positions] == ["", "gpu=yes:NoSchedule, b:NoExecute", ""]
    assert list(usage.cordoned_positions) == [2]
    assert list(second.nodes.names.names) == ["b", "c"]
    assert list(second.usage.cordoned_positions) == [1]


LISTED = (
    make_pod("web-2", node="a", labels={"app": "web"}, requests={"cpu": "2", "memory": "1Gi"}),
    make_pod(
        "web-1",
        labels={"app": "web"},
        metadata={
            "creationTimestamp": "2026-11-23T01:02:03Z",
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "r", "controller": True}],
        },
        spec={"priority": 7},
    ),
    make_pod("DB", namespace="data", node="b"),
    make_pod("cache", namespace="data", node="a"),
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({}, ["web-1", "DB", "cache", "web-2"], id="all, those without a node first"),
        pytest.param({"namespace": "data"}, ["DB", "cache"], id="of a namespace"),
        pytest.param({"label_selector": "app=web"}, ["web-1", "web-2"], id="with labels"),
        pytest.param({"node": "a"}, ["cache", "web-2"], id="on a node"),
        pytest.param(
            {"controller_kind": "ReplicaSet", "controller_name": "web"}, ["web-1"], id="of an owner"
        ),
        pytest.param({"controller_name": "other"}, [], id="of an unknown owner"),
        pytest.param({"name_part": "a/db"}, ["DB"], id="with a part of the name"),
        pytest.param({"placed": True}, ["DB", "cache", "web-2"], id="with a node"),
        pytest.param({"placed": False}, ["web-1"], id="without a node"),
    ],
)
def test_pods_are_listed(way: Callable[..., Any], wanted: dict[str, Any], expected: list[str]) -> None:
    with world(*NODES, *LISTED) as w, way(w.backend) as stubs:
        found = stubs.cluster.ListPods(pb.ListPodsRequest(**wanted))
    assert [each.pod.name for each in found.pods] == expected
    assert (found.pod_count, found.unplaced_count) == (len(expected), "web-1" in expected)


def test_a_listed_pod_says_where_it_is_and_what_it_takes() -> None:
    with world(*NODES, *LISTED) as w, direct(w.backend) as stubs:
        waiting, *_, placed = stubs.cluster.ListPods(pb.ListPodsRequest()).pods
    assert (waiting.node, waiting.priority) == ("", 7)
    assert (waiting.controller_kind, waiting.controller_name) == ("ReplicaSet", "web")
    assert waiting.creation_time.ToJsonString() == "2026-11-23T01:02:03Z"
    assert (placed.node, placed.assumed) == ("a", False)
    assert dict(placed.requests) == {"cpu": 2000, "memory": 1 << 30}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize("way", WAYS)
def test_an_object_is_returned_in_a_form_that_is_taken_again(way: Callable[..., Any]) -> None:
    node = make_node("big", labels={"disk": "ssd"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    annotations = {LAST_APPLIED: "secret", "a": "secret", "mooring.dev/explain": "true"}
    pod = make_pod("web", requests={"cpu": "2"}, metadata={"annotations": annotations})
    with world(node, pod) as w, way(w.backend) as stubs:
        of_node = stubs.cluster.GetObject(pb.GetObjectRequest(kind="Node", name="big"))
        of_pod = stubs.cluster.GetObject(pb.GetObjectRequest(kind="Pod", namespace="default", name="web"))
    assert of_node.provenance.state_version == w.state.version
    assert json.loads(of_node.object.json)["kind"] == "Node"
    assert Decoder().node("json", of_node.object.json, "node") == node
    read = Decoder().pod("json", of_pod.object.json, "pod")
    shown = {"a": "(hidden)", "mooring.dev/explain": "true"}
    assert (read.spec, read.metadata.annotations) == (pod.spec, shown)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        pytest.param(pb.GetObjectRequest(kind="Node", name="x"), "NODE_NOT_FOUND", id="no such node"),
        pytest.param(
            pb.GetObjectRequest(kind="Pod", namespace="d", name="x"), "POD_NOT_FOUND", id="no such pod"
        ),
        pytest.param(pb.GetObjectRequest(kind="Secret", name="x"), "REQUEST_INVALID", id="another kind"),
        pytest.param(pb.GetObjectRequest(kind="Pod", name="x"), "REQUEST_INVALID", id="no namespace"),
    ],
)
def test_an_object_that_is_not_there(request_: pb.GetObjectRequest, reason: str) -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        assert rejected(lambda: stubs.cluster.GetObject(request_)).info.reason == reason


def test_what_the_server_knows_is_told_while_the_state_is_busy() -> None:
    with world(*NODES) as w, served(w.backend) as stubs, w.state.lock:
        info = stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG / 4)
    assert (info.node_count, info.synced) == (3, True)


def test_probes_wait_for_no_push() -> None:
    source = PushSource(State())
    with ThreadPoolExecutor(1) as others, source._lock:
        assert others.submit(lambda: source.synced).result(LONG / 4) is False


@pytest.mark.parametrize(
    "sources",
    [
        pytest.param([], id="no source"),
        pytest.param([SourceStatus("one", True), SourceStatus("two", False)], id="one is not synced"),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_decided_before_the_state_is_complete(
    way: Callable[..., Any], sources: list[SourceStatus]
) -> None:
    with world(*NODES, sources=lambda: sources) as w, way(w.backend) as stubs:
        failures = [
            rejected(lambda: stubs.cluster.ListNodes(pb.ListNodesRequest())),
            rejected(lambda: stubs.cluster.ListPendingPods(pb.ListPendingPodsRequest())),
            rejected(lambda: stubs.scheduling.Filter(scheduling_pb.FilterRequest(pod=sent(make_pod())))),
        ]
        assert not stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest()).synced
    for failure in failures:
        assert (failure.code, failure.info.reason) == (grpc.StatusCode.UNAVAILABLE, "NOT_SYNCED")


@pytest.mark.parametrize(
    ("form", "listed"),
    [
        pytest.param(nodes_pb2.NODE_FORM_UNSPECIFIED, {"names": ["a", "b", "c"]}, id="default"),
        pytest.param(nodes_pb2.NODE_FORM_NAMES, {"names": ["a", "b", "c"]}, id="names"),
        pytest.param(nodes_pb2.NODE_FORM_JOINED_NAMES, b"a\0b\0c", id="joined"),
        pytest.param(nodes_pb2.NODE_FORM_INDICES, None, id="indices"),
    ],
)
def test_all_nodes(form: Any, listed: Any) -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.cluster.ListNodes(pb.ListNodesRequest(form=form))
    assert answer.complete
    assert list(answer.indices) == [0, 1, 2]
    assert not answer.removed_indices
    assert answer.HasField("nodes") == (listed is not None)
    if isinstance(listed, dict):
        assert list(answer.nodes.names.names) == listed["names"]
    elif listed:
        assert answer.nodes.joined_names == listed


def applied(known: dict[int, str], answer: pb.ListNodesResponse) -> dict[int, str]:
    """Return a client's names after an answer: removals first, then additions."""
    kept = {} if answer.complete else {i: n for i, n in known.items() if i not in set(answer.removed_indices)}
    return kept | dict(zip(answer.indices, answer.nodes.names.names, strict=True))


def test_differences_lead_to_the_whole() -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        first = stubs.cluster.ListNodes(pb.ListNodesRequest())
        epochs = [first.provenance.node_epoch]
        states = [applied({}, first)]
        for listed in (("a", "c"), ("a", "c", "d"), ("d", "e"), ("d", "e")):
            w.put(*map(make_node, listed))
            whole = stubs.cluster.ListNodes(pb.ListNodesRequest())
            assert set(applied({}, whole).values()) == set(listed)
            for epoch, known in zip(epochs, states, strict=True):
                difference = stubs.cluster.ListNodes(pb.ListNodesRequest(since_epoch=epoch))
                assert not difference.complete
                assert applied(known, difference) == applied({}, whole)
                assert list(difference.removed_indices) == sorted(difference.removed_indices)
            epochs.append(whole.provenance.node_epoch)
            states.append(applied({}, whole))
        same = stubs.cluster.ListNodes(pb.ListNodesRequest(since_epoch=epochs[-1]))
    assert (list(same.indices), list(same.removed_indices), same.complete) == ([], [], False)


def test_the_last_of_all_first_epochs_is_exact_in_javascript() -> None:
    with patch("mooring.framework.node_table.secrets.randbits", lambda bits: 2**bits - 1):
        assert new_first_epoch() < 2**52


@pytest.mark.parametrize(
    "epoch", [pytest.param(5, id="of an earlier start"), pytest.param(2**63, id="of the future")]
)
def test_an_epoch_of_another_start_gets_the_complete_set(epoch: int) -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.cluster.ListNodes(pb.ListNodesRequest(since_epoch=epoch))
    assert answer.complete
    assert len(answer.indices) == 3


def test_an_unknown_form_is_rejected() -> None:
    request = pb.ListNodesRequest.FromString(b"\x10\x09")
    with world(*NODES) as w, direct(w.backend) as stubs:
        failure = rejected(lambda: stubs.cluster.ListNodes(request))
    assert [field for field, _ in failure.violations] == ["form"]


def load(*objects: Any, first: int = 1, session: str = "s", source: str = "x") -> pb.PushObjectsRequest:
    put = pb.PutObjects(objects=[KubernetesObject(json=_kind(item)) for item in objects])
    events = [
        pb.PushEvent(snapshot_begin=pb.SnapshotBegin()),
        pb.PushEvent(put=put),
        pb.PushEvent(snapshot_end=pb.SnapshotEnd()),
    ]
    return pb.PushObjectsRequest(source=source, session=session, first_sequence=first, events=events)


def _kind(item: Any) -> bytes:
    return b'{"kind":"' + type(item).__name__.encode() + b'",' + to_json(item)[1:]


@pytest.mark.parametrize("way", WAYS)
def test_pushed_objects_are_decided_on(way: Callable[..., Any]) -> None:
    with world(push=True) as w, way(w.backend) as stubs:
        assert not stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest()).synced
        pushed = stubs.cluster.PushObjects(load(*NODES, make_pod("p")))
        again = stubs.cluster.PushObjects(load(*NODES, make_pod("p")))
        info = stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest())
        decided = stubs.scheduling.Filter(scheduling_pb.FilterRequest(pod=sent(make_pod())))
    assert (pushed.applied_count, pushed.next_sequence) == (3, 4)
    assert (again.applied_count, again.next_sequence) == (0, 4)
    assert pushed.provenance == again.provenance
    assert (info.synced, info.node_count, info.sources[0].next_sequence) == (True, 3, 4)
    assert decided.feasible_count == 3


def test_a_gap_asks_for_what_is_missing() -> None:
    with world(push=True) as w, direct(w.backend) as stubs:
        failure = rejected(lambda: stubs.cluster.PushObjects(load(*NODES, first=4)))
    assert (failure.code, failure.info.reason) == (grpc.StatusCode.OUT_OF_RANGE, "RESYNC_REQUIRED")
    assert failure.info.metadata["expected_sequence"] == "1"


def test_without_a_push_source_nothing_is_taken() -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        failures = [
            rejected(lambda: stubs.cluster.PushObjects(load())),
            rejected(lambda: stubs.cluster.RemoveSource(pb.RemoveSourceRequest(source="x"))),
        ]
    for failure in failures:
        assert (failure.code, failure.info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PUSH_DISABLED")


@pytest.mark.parametrize("way", WAYS)
def test_a_typo_in_a_source_holds_up_no_decision(way: Callable[..., Any]) -> None:
    begun = load()
    del begun.events[1:]
    with world(push=True) as w, way(w.backend) as stubs:
        stubs.cluster.PushObjects(load(*NODES))
        for source, events in (("empty", []), ("begun", begun.events)):
            stubs.cluster.PushObjects(
                pb.PushObjectsRequest(source=source, session="s", first_sequence=1, events=events)
            )
        info = stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest())
        decided = stubs.scheduling.Filter(scheduling_pb.FilterRequest(pod=sent(make_pod())))
    assert (info.synced, decided.feasible_count) == (True, 3)
    assert [(source.name, source.synced) for source in info.sources] == [
        ("push:begun", False),
        ("push:x", True),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_a_source_that_is_removed_takes_its_objects_along(way: Callable[..., Any]) -> None:
    with world(push=True) as w, way(w.backend) as stubs:
        stubs.cluster.PushObjects(load(*NODES))
        stubs.cluster.RemoveSource(pb.RemoveSourceRequest(source="x"))
        info = stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest())
        again = rejected(lambda: stubs.cluster.RemoveSource(pb.RemoveSourceRequest(source="x")))
        nameless = rejected(lambda: stubs.cluster.RemoveSource(pb.RemoveSourceRequest()))
    assert (info.node_count, len(info.sources), info.synced) == (0, 0, False)
    assert (again.code, again.info.reason) == (grpc.StatusCode.NOT_FOUND, "SOURCE_NOT_FOUND")
    assert [field for field, _ in nameless.violations] == ["source"]


def test_a_source_belongs_to_the_name_in_the_certificate_that_made_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown = authority.issue("server")
    files = TlsFiles(shown.certificate, shown.key, authority=authority.certificate)
    with (
        world(push=True) as w,
        listening(w.backend, tls=files, allow_clients=frozenset({"owner", "other"})) as address,
        as_client(address, authority, authority.issue("owner")) as owner,
        as_client(address, authority, authority.issue("other")) as other,
    ):
        owns, tries = ClusterServiceStub(owner), ClusterServiceStub(other)
        owns.PushObjects(load(*NODES), timeout=LONG)
        failures = [
            rejected(lambda: tries.PushObjects(load(make_node("b"), session="mine"), timeout=LONG)),
            rejected(lambda: tries.RemoveSource(pb.RemoveSourceRequest(source="x"), timeout=LONG)),
        ]
        assert tries.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG).node_count == 3
        assert owns.PushObjects(load(make_node("d"), session="new"), timeout=LONG).applied_count == 3
    for failure in failures:
        assert (failure.code, failure.info.reason) == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")
        assert "belongs to another client" in failure.text


def test_one_bad_object_and_nothing_is_applied() -> None:
    with world(push=True) as w, direct(w.backend) as stubs:
        stubs.cluster.PushObjects(load(*NODES))
        request = load(make_node("d"), first=4)
        request.events[1].put.objects.add(json=b'{"kind":"Node","metadata":{"name":""}}')
        failure = rejected(lambda: stubs.cluster.PushObjects(request))
        info = stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest())
    assert [field for field, _ in failure.violations] == ["events[1].put.objects[1].json.metadata.name"]
    assert (info.node_count, info.sources[0].next_sequence) == (3, 4)


def test_who_asks_for_all_waits_for_no_source_while_the_state_waits_for_it() -> None:
    with (
        world(push=True) as w,
        direct(w.backend) as stubs,
        pause(ClusterServicer, "_provenance", thread="asking") as inside,
    ):
        stubs.cluster.PushObjects(load(*NODES))
        servicer = ClusterServicer(w.backend)
        asking = Running(
            "asking", lambda: servicer.GetClusterInfo(pb.GetClusterInfoRequest(), cast("Any", None))
        )
        inside.wait()
        pushing = Running("pushing", lambda: stubs.cluster.PushObjects(load(*NODES, first=4)))
        time.sleep(0.1)
        inside.go_on()
        assert asking.result().synced
        pushing.result()


def test_asking_while_pushing_ends() -> None:
    with world(push=True) as w, direct(w.backend) as stubs:
        stubs.cluster.PushObjects(load(*NODES))

        def push() -> None:
            for number in range(4, 100, 3):
                stubs.cluster.PushObjects(load(*NODES, make_node(f"n{number}"), first=number))

        pushing = threading.Thread(target=push, daemon=True)
        pushing.start()
        while pushing.is_alive():
            stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG)
        pushing.join()
        assert stubs.cluster.GetClusterInfo(pb.GetClusterInfoRequest()).sources[0].next_sequence == 100
