"""Several replicas of `mooring serve`: one of them commits, all of them answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import grpc
import pytest

from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.errors_pb2 import ErrorReason
from mooring_client.v1.objects_pb2 import PodReference, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import call, fetch, serving
from tests.fake_api_server import FakeApiServer
from tests.process import until
from tests.service.harness import decode, failed

ELECTION = {"leaderElect": True, "leaseDuration": "60s", "renewDeadline": "40s", "retryPeriod": "200ms"}
"""A leader keeps its lease on a busy machine; it releases it at its end."""
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": ELECTION,
}


@contextmanager
def replica(directory: Path, fake: FakeApiServer, *more: str) -> Iterator[tuple[SchedulingServiceStub, str]]:
    """Yield its stub, and where its extender is."""
    directory.mkdir()
    config = directory / "config.json"
    config.write_text(json.dumps(CONFIG))
    flags = ("--config", str(config), "--source", f"kubernetes:{fake.kubeconfig(directory / 'kubeconfig')}")
    with (
        serving(
            *flags, *more, "--leader-elect", "--insecure-binding", "--extender-listen", "127.0.0.1:0"
        ) as server,
        grpc.insecure_channel(server.address("grpc")) as channel,
    ):
        yield SchedulingServiceStub(channel), server.address("extender")


def bound(stub: SchedulingServiceStub, name: str) -> bool:
    """Return whether the replica bound the pod; otherwise it must have said that it does not lead, or know,
    yet.
    """
    pod = PodReference(namespace="default", name=name, uid=f"uid-{name}")
    try:
        stub.Bind(pb.BindRequest(pod=pod, node="a"), timeout=10)
    except grpc.RpcError as error:
        failed = decode(error)
        assert failed.code is grpc.StatusCode.UNAVAILABLE
        assert failed.info.reason in ("NOT_LEADER", "NOT_SYNCED")
        return False
    return True


def test_one_replica_commits_and_another_one_follows_when_it_ends(tmp_path: Path) -> None:
    with FakeApiServer() as fake:
        fake.add(node_manifest("a"))
        fake.add(*(pod_manifest(name, metadata={"uid": f"uid-{name}"}) for name in ("p", "q", "r")))
        with replica(tmp_path / "second", fake) as second:
            with replica(tmp_path / "first", fake) as first:
                until(lambda: any(bound(stub, "p") for stub, _ in (first, second)))
                leads = [bound(stub, "p") for stub, _ in (first, second)]
                assert sorted(leads) == [False, True]
                for stub, _ in (first, second):
                    until(partial(finds_a_node, stub, "q"))
                follower, extender = (second, first)[leads[1]]
                assert {rejection(call) for call in commits(follower, "q")} == {"NOT_LEADER"}
                assert "does not lead" in bind_verb(extender, "q")
            until(lambda: bound(second[0], "r"))
        assert {uid for uid, _, _ in fake.history.accepted_bindings()} == {"uid-p", "uid-r"}


def test_who_does_not_lead_names_the_leader_and_its_address(tmp_path: Path) -> None:
    with FakeApiServer() as fake:
        fake.add(node_manifest("a"), *(pod_manifest(n, metadata={"uid": f"uid-{n}"}) for n in ("p", "q")))
        addresses = ("first.example:50051", "second.example:50051")
        with (
            replica(tmp_path / "first", fake, "--advertise-address", addresses[0]) as first,
            replica(tmp_path / "second", fake, "--advertise-address", addresses[1]) as second,
        ):
            stubs = first[0], second[0]
            until(lambda: any(bound(stub, "p") for stub in stubs))
            leads = [bound(stub, "p") for stub in stubs]
            follower, address = stubs[leads.index(False)], addresses[leads.index(True)]
            until(partial(finds_a_node, follower, "q"))
            pod = PodReference(namespace="default", name="q", uid="uid-q")
            failure = failed(lambda: follower.Bind(pb.BindRequest(pod=pod, node="a"), timeout=10))
    assert failure.told.reason == ErrorReason.ERROR_REASON_NOT_LEADER
    assert failure.told.metadata["leader_address"] == address
    assert failure.told.metadata["leader"].startswith(f"{address}_")
    assert address in failure.text


def finds_a_node(stub: SchedulingServiceStub, name: str) -> bool:
    """Return whether a replica finds a node for the pod; it may not know the cluster yet."""
    try:
        return stub.Filter(pb.FilterRequest(pod=source(name)), timeout=10).feasible_count == 1
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return False


def source(name: str) -> PodSource:
    return PodSource(reference=PodReference(namespace="default", name=name, uid=f"uid-{name}"))


def commits(stub: SchedulingServiceStub, name: str) -> list[Callable[[], object]]:
    """Return every call that changes something about a pod."""
    pod, template = source(name), pb.PodTemplate(pod=source(name))
    modes = (pb.COMMIT_MODE_RESERVE, pb.COMMIT_MODE_BIND)
    return [
        lambda: stub.Bind(pb.BindRequest(pod=pod.reference, node="a"), timeout=10),
        lambda: stub.Reserve(pb.ReserveRequest(pod=pod, node="a"), timeout=10),
        lambda: stub.Unreserve(pb.UnreserveRequest(pod=pod.reference), timeout=10),
        *(
            partial(stub.Schedule, pb.ScheduleRequest(templates=[template], commit_mode=mode), timeout=10)
            for mode in modes
        ),
    ]


def rejection(call: Callable[[], object]) -> str:
    """Return the reason with which it is UNAVAILABLE."""
    with pytest.raises(grpc.RpcError) as raised:
        call()
    failed = decode(raised.value)
    assert failed.code is grpc.StatusCode.UNAVAILABLE
    return str(failed.info.reason)


def bind_verb(extender: str, name: str) -> str:
    """Return the error that the extender's bind verb answers."""
    order = {"PodName": name, "PodNamespace": "default", "PodUID": f"uid-{name}", "Node": "a"}
    status, body = fetch(f"{extender}/bind", json.dumps(order).encode())
    assert status == 200
    return str(json.loads(body)["Error"])


def test_an_election_needs_an_api_server(capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "serve", "--source", "sample", "--leader-elect")
    assert (ended.code, "--leader-elect: needs an API server" in ended.err) == (1, True)
