"""`mooring serve --source kubernetes`: follows, commits, and stops committing when it hears nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import call, fetch, serving
from tests.cluster.following import node, pod
from tests.fake_api_server import FakeApiServer
from tests.process import until


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        running.add(node("n1"), node("n2"), pod("p"), pod("q"))
        yield running


def reference(fake: FakeApiServer, name: str) -> objects_pb2.PodReference:
    stored = fake.get("Pod", name)
    assert stored is not None
    return objects_pb2.PodReference(namespace="default", name=name, uid=stored["metadata"]["uid"])


def node_of(fake: FakeApiServer, name: str) -> str:
    stored = fake.get("Pod", name)
    assert stored is not None
    return str(stored["spec"].get("nodeName", ""))


def rejected(call_: Callable[[], Any]) -> tuple[grpc.StatusCode, bytes]:
    with pytest.raises(grpc.RpcError) as caught:
        call_()
    metadata = {item.key: item.value for item in caught.value.trailing_metadata()}
    return caught.value.code(), bytes(metadata["grpc-status-details-bin"])


def test_decisions_follow_the_cluster_and_stop_committing_without_it(
    fake: FakeApiServer, tmp_path: Path
) -> None:
    source = f"kubernetes:{fake.kubeconfig(tmp_path / 'kubeconfig')}"
    with (
        serving("--source", source, "--max-staleness", "3s", "--insecure-binding") as server,
        grpc.insecure_channel(server.address("grpc")) as channel,
    ):
        readyz = f"http://{server.address('metrics')}/readyz"
        metrics = f"http://{server.address('metrics')}/metrics"
        scheduling, info = SchedulingServiceStub(channel), ClusterServiceStub(channel)
        until(lambda: fetch(readyz)[0] == 200, "readiness")
        told = info.GetClusterInfo(cluster.GetClusterInfoRequest())
        assert (told.node_count, told.pod_count, told.synced) == (2, 2, True)
        assert told.sources[0].name == f"kubernetes:{fake.url}"
        assert b'mooring_source_last_event_age_seconds{kind="Node",source="kubernetes:' in fetch(metrics)[1]

        question = pb.FilterRequest(pod=objects_pb2.PodSource(reference=reference(fake, "q")))
        answer = scheduling.Filter(question)
        assert (answer.feasible_count, list(answer.warnings)) == (2, [])
        bind = pb.BindRequest(pod=reference(fake, "p"), node="n1")
        assert scheduling.Bind(bind).outcome == pb.COMMIT_OUTCOME_BOUND
        assert node_of(fake, "p") == "n1"

        fake.stop()
        until(lambda: fetch(readyz)[0] == 503, "the end of readiness")
        assert b"nothing was heard of the cluster" in fetch(readyz)[1]
        code, details = rejected(lambda: scheduling.Bind(bind))
        assert (code, b"STATE_STALE" in details) == (grpc.StatusCode.UNAVAILABLE, True)
        stale = scheduling.Filter(question)
        assert stale.feasible_count == 2
        assert "nothing was heard of the cluster" in stale.warnings[0]
        assert b"mooring_stale_decisions_total 1.0" in fetch(metrics)[1]

        fake.start()
        until(lambda: fetch(readyz)[0] == 200, "readiness again")
        assert scheduling.Bind(bind).outcome == pb.COMMIT_OUTCOME_ALREADY_BOUND


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(
            ["--source=kubernetes:FILE", "--kubeconfig=FILE"], "is given together with", id="two files"
        ),
        pytest.param(["--source=kubernetes"], "no service account", id="outside a cluster"),
        pytest.param(["--source=kubernetes:absent"], "absent: no such file", id="no such file"),
        pytest.param(["--source=elsewhere"], "kubernetes[:KUBECONFIG]", id="no such source"),
    ],
)
def test_what_can_not_be_followed(
    flags: list[str], said: str, fake: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(fake.kubeconfig(tmp_path / "kubeconfig"))
    result = call(capsys, "serve", *(flag.replace("FILE", file) for flag in flags))
    assert result.code != 0
    assert said in result.err


ONE_IP = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {"multiPoint": {"enabled": [{"name": "UnderlayIP"}]}},
            "pluginConfig": [
                {
                    "name": "UnderlayIP",
                    "args": {"ipsPerNode": 1, "consumers": {"schedulerName": "default-scheduler"}},
                }
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("source", "flags", "left"),
    [
        pytest.param("kubernetes", ["--pods-in-flight=count"], 0, id="counted"),
        pytest.param("kubernetes", [], 0, id="waited for in vain, by default"),
        pytest.param("kubernetes", ["--pods-in-flight=off"], 2, id="off"),
        pytest.param("files", ["--pods-in-flight=count"], 2, id="a source that tells nothing more"),
    ],
)
def test_pods_in_flight_matter_where_their_bindings_are_heard_of(
    source: str, flags: list[str], left: int, fake: FakeApiServer, tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(ONE_IP))
    where = f"kubernetes:{fake.kubeconfig(tmp_path / 'kubeconfig')}"
    if source == "files":
        manifests = tmp_path / "manifests.json"
        items = [fake.get(kind, name) for kind, name in (("Node", "n1"), ("Node", "n2"), ("Pod", "p"))]
        items.append(fake.get("Pod", "q"))
        manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        where = f"files:{manifests}"
    with (
        serving("--source", where, "--config", config, *flags) as server,
        grpc.insecure_channel(server.address("grpc")) as channel,
    ):
        until(lambda: fetch(f"http://{server.address('metrics')}/readyz")[0] == 200, "readiness")
        scheduling = SchedulingServiceStub(channel)
        feasible = []
        for name in ("p", "q"):
            pod_ = objects_pb2.PodSource(reference=reference(fake, name))
            asked = pb.FilterRequest(pod=pod_, in_scheduling_cycle=True)
            feasible.append(scheduling.Filter(asked, timeout=2).feasible_count)
    assert feasible == [2, left]


def test_a_mode_of_pods_in_flight_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "serve", "--pods-in-flight=maybe")
    assert result.code == 2
    assert "--pods-in-flight: 'maybe' is not one of wait, count, off" in result.err
