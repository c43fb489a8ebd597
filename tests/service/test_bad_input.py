"""Bad input and bad plugins: a clear error in the right place, nothing half done, the next call served."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc
import numpy as np
import pytest

from mooring.framework import SUCCESS
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference, PodSource
from tests.process import until
from tests.service.backends import (
    WAYS,
    Stubs,
    configuration,
    direct,
    named,
    profile,
    rejected,
    sent,
    served,
    world,
)
from tests.service.fakes import filtering, gate, scoring, scoring_all
from tests.service.harness import LONG, Failed, given_up

NODES = (make_node("a"), make_node("b"))
POD = b'{"metadata":{"name":"p"},"spec":{"containers":[{"resources":{"requests":{%s}}}]}}'


def raw(json: bytes = b"", protobuf: bytes = b"") -> PodSource:
    message = KubernetesObject(json=json) if json else KubernetesObject(protobuf=protobuf)
    return PodSource(object=message)


def asking(**requests: bytes) -> PodSource:
    return raw(POD % b",".join(b'"%s":%s' % (name.encode(), amount) for name, amount in requests.items()))


QUESTIONS = (pb.FilterRequest, pb.ScoreRequest, pb.NormalizeScoreRequest, pb.ExplainRequest)
REQUESTS = "spec.containers[0].resources.requests"


@pytest.fixture(scope="module", params=WAYS)
def stubs(request: pytest.FixtureRequest) -> Iterator[Stubs]:
    """Yield the services over two nodes, in each way."""
    with world(*NODES) as w, request.param(w.backend) as stubs:
        yield stubs


@pytest.mark.parametrize(
    "request_", [pb.FilterRequest, pb.ScoreRequest, pb.NormalizeScoreRequest, pb.ExplainRequest]
)
@pytest.mark.parametrize(
    ("pod", "path"),
    [
        pytest.param(None, "pod", id="no pod"),
        pytest.param(PodSource(), "pod", id="neither object nor reference"),
        pytest.param(PodSource(object=KubernetesObject()), "pod.object", id="no encoding"),
        pytest.param(raw(b"{"), "pod.object.json", id="cut JSON"),
        pytest.param(raw(b"[]"), "pod.object.json", id="JSON of another shape"),
        pytest.param(raw(b'{"spec":' * 9_999), "pod.object.json", id="deep JSON"),
        pytest.param(raw(b"{}"), "pod.object.json.metadata.name", id="no name"),
        pytest.param(raw(protobuf=b"\xff\xff"), "pod.object.protobuf", id="no protobuf"),
        pytest.param(raw(protobuf=b"k8s\0\xff"), "pod.object.protobuf", id="envelope of nothing"),
        pytest.param(raw(protobuf=b'{"metadata":{}}'), "pod.object.protobuf", id="JSON as protobuf"),
        pytest.param(asking(cpu=b'"-1"'), f"pod.object.json.{REQUESTS}[cpu]", id="negative quantity"),
        pytest.param(asking(memory=b'"lots"'), f"pod.object.json.{REQUESTS}[memory]", id="no quantity"),
        pytest.param(
            asking(memory=b"1" + b"0" * 30), f"pod.object.json.{REQUESTS}[...]", id="number beyond 64 bits"
        ),
        pytest.param(
            raw(b'{"spec":null,"metadata":{"name":"\xff"}}'),
            "pod.object.json",
            id="no UTF-8 after a null",
        ),
        pytest.param(PodSource(reference=PodReference(name="p")), "pod.reference.namespace", id="nowhere"),
    ],
)
def test_a_pod_that_makes_no_sense_is_rejected_by_its_path(
    stubs: Stubs, request_: Any, pod: PodSource | None, path: str
) -> None:
    method = request_.DESCRIPTOR.name.removesuffix("Request")
    failure = rejected(lambda: getattr(stubs.scheduling, method)(request_(pod=pod)))
    assert stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()))).feasible_count == 2
    assert (failure.code, failure.info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID")
    assert [field for field, _ in failure.violations] == [path]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("request_", "code", "reason", "metadata"),
    [
        pytest.param(
            pb.FilterRequest(pod=named("x")), "NOT_FOUND", "POD_NOT_FOUND", {"pod": "default/x"}, id="pod"
        ),
        pytest.param(
            pb.FilterRequest(pod=named("p", uid="old")),
            "ABORTED",
            "POD_RECREATED",
            {"pod": "default/p", "uid": "pod/default/p"},
            id="UID",
        ),
        pytest.param(
            pb.FilterRequest(pod=named("p"), profile="x"),
            "NOT_FOUND",
            "PROFILE_NOT_FOUND",
            {"profile": "x", "known": "default-scheduler"},
            id="profile",
        ),
    ],
)
def test_what_is_unknown_is_named(
    way: Callable[..., Any], request_: pb.FilterRequest, code: str, reason: str, metadata: dict[str, str]
) -> None:
    with world(*NODES, make_pod("p")) as w, way(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.Filter(request_))
    assert (failure.code, failure.info.reason) == (grpc.StatusCode[code], reason)
    assert dict(failure.info.metadata) == metadata


def test_an_absurd_node_is_rejected_by_its_path() -> None:
    node = KubernetesObject(json=b'{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"-4"}}}')
    nodes = nodes_pb.NodeSelection(inline=nodes_pb.InlineNodes(nodes=[node]))
    with world(*NODES) as w, direct(w.backend) as stubs:
        failure = rejected(
            lambda: stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()), nodes=nodes))
        )
    assert [field for field, _ in failure.violations] == [
        "nodes.inline.nodes[0].json.status.allocatable[cpu]"
    ]


def raising(_: Any) -> Any:
    raise ZeroDivisionError("division by zero")


BAD_PLUGINS = [
    pytest.param(filtering("Bad", raising), "Filter", id="filter raises"),
    pytest.param(filtering("Bad", lambda _: None), "Filter", id="filter returns None"),
    pytest.param(scoring("Bad", raising), "Score", id="score raises"),
    pytest.param(scoring("Bad", lambda _: 1.5), "Score", id="float"),
    pytest.param(scoring("Bad", lambda _: float("nan")), "Score", id="NaN"),
    pytest.param(scoring("Bad", lambda _: 10**30), "Score", id="10**30"),
    pytest.param(scoring("Bad", lambda _: True), "Score", id="bool"),
    pytest.param(scoring("Bad", lambda _: None), "Score", id="None"),
    pytest.param(scoring("Bad", lambda _: 101), "ScoreExtensionNormalize", id="101 at the end"),
    pytest.param(scoring_all("Bad", lambda names: np.ones(len(names))), "Score", id="float64 column"),
    pytest.param(
        scoring_all("Bad", lambda names: np.ones(len(names) + 1, np.int64)), "Score", id="long column"
    ),
    pytest.param(scoring_all("Bad", lambda names: [1] * len(names)), "Score", id="list"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("plugin", "point"), BAD_PLUGINS)
def test_a_plugin_that_misbehaves_is_named_and_changes_nothing(
    way: Callable[..., Any], plugin: Any, point: str
) -> None:
    document = configuration(profile("NodeName"), profile("Bad", name="bad"))
    pod = sent(make_pod())
    with world(*NODES, plugins=[plugin], document=document) as w, way(w.backend) as stubs:
        version = w.state.version
        ask = stubs.scheduling
        failures = [
            rejected(lambda: ask.Explain(pb.ExplainRequest(pod=pod, profile="bad"))),
            rejected(
                lambda: ask.Schedule(pb.ScheduleRequest(templates=[pb.PodTemplate(pod=pod)], profile="bad"))
            ),
        ]
        bound = ask.Schedule(
            pb.ScheduleRequest(
                templates=[pb.PodTemplate(pod=pod)], profile="bad", commit_mode=pb.COMMIT_MODE_BIND
            )
        )
        assert w.state.version == version
        good = ask.Filter(pb.FilterRequest(pod=pod, profile="default-scheduler"))
    for failure in failures:
        assert (failure.code, failure.info.reason) == (grpc.StatusCode.INTERNAL, "PLUGIN_FAILED")
        assert failure.info.metadata["plugin"] == "Bad"
        assert failure.info.metadata["extension_point"] == point
    status = bound.verdicts[bound.pod_verdicts[0]]
    assert (status.plugin, list(status.reasons)) == ("Bad", ["PLUGIN_FAILED"])
    assert good.feasible_count == 2


def deadline_exceeded(failure: Failed, plugin: str) -> bool:
    return (
        failure.code is grpc.StatusCode.DEADLINE_EXCEEDED
        and failure.info.reason == "DEADLINE_EXCEEDED"
        and failure.info.metadata["plugin"] == plugin
        and plugin in failure.text
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_plugin_that_sleeps_past_the_deadline_is_named(way: Callable[..., Any]) -> None:
    with gate() as event:

        def sleepy(_: str) -> Any:
            event.wait(LONG)
            return SUCCESS

        document = configuration(profile("NodeName"), profile("Sleepy", name="sleepy"))
        pod = sent(make_pod())
        with (
            world(*NODES, plugins=[filtering("Sleepy", sleepy)], document=document) as w,
            way(w.backend) as stubs,
        ):
            failure = given_up(lambda: stubs.scheduling.Filter(pb.FilterRequest(pod=pod, profile="sleepy")))
            served_next = stubs.scheduling.Filter(pb.FilterRequest(pod=pod, profile="default-scheduler"))
            event.set()
            until(lambda: w.slots.abandoned == 0)
    assert deadline_exceeded(failure, "Sleepy")
    assert failure.info.metadata["extension_point"] == "Filter"
    assert served_next.feasible_count == 2


@pytest.mark.parametrize("way", WAYS)
def test_plugins_that_never_come_back_are_replaced_until_there_are_too_many(way: Callable[..., Any]) -> None:
    with gate() as event:
        stuck = filtering("Stuck", lambda _: event.wait(LONG * 10))
        document = configuration(profile("NodeName"), profile("Stuck", name="stuck"))
        good = pb.FilterRequest(pod=sent(make_pod()), profile="default-scheduler")
        bad = [pb.FilterRequest(pod=sent(make_pod(f"bad-{number}")), profile="stuck") for number in range(4)]
        with (
            world(*NODES, plugins=[stuck], document=document, max_abandoned=3) as w,
            way(w.backend) as stubs,
        ):
            for number in range(1, 4):
                assert deadline_exceeded(given_up(partial(stubs.scheduling.Filter, bad[number])), "Stuck")
                until(lambda: w.slots.abandoned == number)  # noqa: B023
                assert stubs.scheduling.Filter(good).feasible_count == 2
            given_up(lambda: stubs.scheduling.Filter(bad[0]))
            full = rejected(lambda: stubs.scheduling.Filter(good))
            assert not w.slots.alive()
            event.set()
            until(w.slots.alive)
            assert stubs.scheduling.Filter(good).feasible_count == 2
    assert (full.code, full.info.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "WORKERS_ABANDONED")


@pytest.mark.parametrize("way", WAYS)
def test_who_asks_again_about_a_pod_that_is_stuck_ends_nobody_else(way: Callable[..., Any]) -> None:
    with gate() as event:
        stuck = filtering("Stuck", lambda _: event.wait(LONG * 10))
        document = configuration(profile("NodeName"), profile("Stuck", name="stuck"))
        good = pb.FilterRequest(pod=sent(make_pod("good")), profile="default-scheduler")
        bad = pb.FilterRequest(pod=sent(make_pod("bad")), profile="stuck")
        with (
            world(*NODES, plugins=[stuck], document=document, max_abandoned=3) as w,
            way(w.backend) as stubs,
        ):
            failures = [given_up(lambda: stubs.scheduling.Filter(bad)) for _ in range(2)]
            until(lambda: w.slots.abandoned == 2)
            failures += [rejected(lambda: stubs.scheduling.Filter(bad)) for _ in range(6)]
            assert w.slots.alive()
            assert stubs.scheduling.Filter(good).feasible_count == 2
            event.set()
            until(lambda: w.slots.abandoned == 0)
    assert [failure.info.reason for failure in failures] == ["DEADLINE_EXCEEDED"] * 2 + ["OVERLOADED"] * 6


def test_bytes_that_are_no_request_are_rejected() -> None:
    with world(*NODES) as w, served(w.backend) as stubs:
        call = stubs.channel.unary_unary("/mooring.v1.SchedulingService/Filter")
        failure = rejected(lambda: call(b"\xff\xff\xff", timeout=LONG))
        assert stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()))).feasible_count == 2
    assert (failure.code, failure.info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID")
