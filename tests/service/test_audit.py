"""The audit: one line for each pod that a call reserves, frees or binds, and for each change of a source."""

import logging
import math
import re
from collections.abc import Callable
from contextlib import suppress

import grpc
import pytest

from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.service.backends import Stubs, direct, named, sent, world
from tests.service.test_bind import order
from tests.service.test_cluster_service import load
from tests.service.test_reserve import reserve, unreserve
from tests.service.test_schedule import batch

POD = "pod=default/p uid=pod/default/p"


def schedule(mode: pb.CommitMode.ValueType) -> pb.ScheduleRequest:
    request = batch(named("p"))
    request.commit_mode = mode
    return request


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        pytest.param(
            lambda stubs: stubs.scheduling.Bind(order("p", "a")),
            [f"Bind client=- {POD} node=a: LOCAL"],
            id="Bind",
        ),
        pytest.param(
            lambda stubs: stubs.scheduling.Reserve(reserve(named("p"))),
            [f"Reserve client=- {POD} node=a: OK"],
            id="Reserve",
        ),
        pytest.param(
            lambda stubs: stubs.scheduling.Reserve(reserve(named("large"))),
            ["Reserve client=- pod=default/large uid=pod/default/large node=a: UNSCHEDULABLE"],
            id="Reserve that finds no room",
        ),
        pytest.param(
            lambda stubs: stubs.scheduling.Unreserve(unreserve("p")),
            [f"Unreserve client=- {POD} node=-: NOT_RESERVED"],
            id="Unreserve",
        ),
        pytest.param(
            lambda stubs: stubs.scheduling.Bind(order("p", "gone")),
            [f"Bind client=- {POD} node=gone: NODE_NOT_FOUND"],
            id="Bind that fails",
        ),
        pytest.param(
            lambda stubs: stubs.scheduling.Schedule(schedule(pb.COMMIT_MODE_RESERVE)),
            [f"Schedule+Reserve client=- {POD} node=a: OK"],
            id="Schedule that reserves",
        ),
        pytest.param(
            lambda stubs: stubs.scheduling.Schedule(schedule(pb.COMMIT_MODE_BIND)),
            [f"Schedule+Bind client=- {POD} node=a: OK"],
            id="Schedule that binds",
        ),
        pytest.param(
            lambda stubs: stubs.scheduling.Schedule(schedule(pb.COMMIT_MODE_DRY_RUN)), [], id="a dry run"
        ),
        pytest.param(lambda stubs: stubs.scheduling.Bind(pb.BindRequest()), [], id="nothing was tried"),
        pytest.param(
            lambda stubs: stubs.cluster.PushObjects(load(make_node("b"), source="y")),
            ["PushObjects client=- source=y: 3 events"],
            id="PushObjects",
        ),
        pytest.param(
            lambda stubs: stubs.cluster.PushObjects(
                cluster_pb.PushObjectsRequest(source="x", session="s", first_sequence=4)
            ),
            [],
            id="a push of nothing",
        ),
        pytest.param(
            lambda stubs: stubs.cluster.RemoveSource(cluster_pb.RemoveSourceRequest(source="x")),
            ["RemoveSource client=- source=x: removed"],
            id="RemoveSource",
        ),
    ],
)
def test_who_changes_something_is_told(
    caplog: pytest.LogCaptureFixture, call: Callable[[Stubs], object], lines: list[str]
) -> None:
    large = make_pod("large", requests={"cpu": "400"})
    with world(push=True) as w, direct(w.backend) as stubs:
        stubs.cluster.PushObjects(load(make_node("a"), make_pod("p"), large))
        caplog.clear()
        with caplog.at_level(logging.INFO, "mooring.audit"), suppress(grpc.RpcError):
            call(stubs)
    assert [record.getMessage() for record in caplog.records if record.name == "mooring.audit"] == lines


def test_pushes_of_a_source_share_lines(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world(push=True) as w, direct(w.backend) as stubs, caplog.at_level(logging.INFO, "mooring.audit"):
        for number in range(4):
            if number == 3:
                monkeypatch.setattr("mooring.audit.repeats.time.monotonic", lambda: math.inf)
            stubs.cluster.PushObjects(load(make_node("a"), first=3 * number + 1))
    assert [record.getMessage() for record in caplog.records if record.name == "mooring.audit"] == [
        "PushObjects client=- source=x: 3 events",
        "PushObjects client=- source=x: 3 events, the last of 2 calls",
        "PushObjects client=- source=x: 3 events",
    ]


def test_pods_of_a_batch_share_lines(caplog: pytest.LogCaptureFixture) -> None:
    request = pb.ScheduleRequest(
        templates=[pb.PodTemplate(pod=sent(make_pod("p")))],
        commit_mode=pb.COMMIT_MODE_RESERVE,
        pods=pb.PodColumns(
            template_indices=[0] * 60,
            names=[f"p-{number}" for number in range(60)],
            uids=[f"u-{number}" for number in range(60)],
        ),
    )
    with (
        world(make_node("a")) as w,
        direct(w.backend) as stubs,
        caplog.at_level(logging.INFO, "mooring.audit"),
    ):
        stubs.scheduling.Schedule(request)
    lines = [record.getMessage() for record in caplog.records if record.name == "mooring.audit"]
    assert len(lines) == 2
    assert all(line.startswith("Schedule+Reserve client=- pod=default/p-") for line in lines)
    assert all(line.endswith(" node=a: OK") for line in lines)
    told = re.findall(r"pod=default/p-(\d+) uid=u-(\d+) node=a", " ".join(lines))
    assert told == [(str(number), str(number)) for number in range(60)]
