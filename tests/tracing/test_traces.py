"""The spans of a trace, whichever side begins it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.decisions.decisions import Decisions
from mooring.decisions.journal import DecisionJournal
from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Status
from mooring.service.server import build
from mooring.service.services import Servicers
from mooring.serving.http.server import HttpServer
from mooring.testing.builders import make_node, make_pod
from mooring.tracing.configuration import tracer_of
from mooring.tracing.spans import Tracer
from mooring_client.v1 import decision_service_pb2 as decisions_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_extender.app import ExtenderApp, Options
from mooring_extender.client import GrpcClient
from tests.cli.commands import fetch
from tests.extender.fakes import question
from tests.scheduler.world import World as SchedulerWorld
from tests.service.backends import World, named, rejected, world
from tests.service.harness import LONG, QUIET
from tests.tracing.collector import Collector, collecting

SCHEDULE = "mooring.v1.SchedulingService/Schedule"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Slow(FilterPlugin[None]):
    name = "Slow"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


class Traced:
    """A server that traces, and the collector's spans of it."""

    def __init__(self, folder: Path, collector: Collector, rate: int = 1_000_000) -> None:
        tracer = tracer_of(str(collector.write_configuration(folder, rate)), "mooring")
        assert tracer is not None
        self.tracer: Tracer = tracer

    def serve(self, w: World, **changes: Any) -> Any:
        services = Servicers.of(w.backend).services()
        backend, tracer = w.backend, self.tracer
        options = replace(QUIET, **changes)
        return build(
            services, options, metrics=backend.metrics, slots=backend.slots, ready=lambda: "", tracer=tracer
        )


def schedule(address: str, name: str = "web", traceparent: str = "") -> None:
    metadata = (("traceparent", traceparent),) if traceparent else ()
    request = pb.ScheduleRequest(templates=[pb.PodTemplate(pod=named(name))])
    with grpc.insecure_channel(address) as channel:
        SchedulingServiceStub(channel).Schedule(request, timeout=LONG, metadata=metadata)


def test_a_call_with_what_its_plugins_took(tmp_path: Path, collector: Collector) -> None:
    traced = Traced(tmp_path, collector)
    with world(make_node("a"), make_pod("web"), plugins=[Slow]) as w:
        server = traced.serve(w)
        server.start()
        schedule(server.address)
        with grpc.insecure_channel(server.address) as channel:
            asked = decisions_pb.ListDecisionsRequest()
            (decision,) = DecisionServiceStub(channel).ListDecisions(asked, timeout=LONG).decisions
        server.stop()
    traced.tracer.close()
    call = collector.named(SCHEDULE)
    assert call.service == "mooring"
    assert call.parent == ""
    assert call.attributes["rpc.method"] == "Schedule"
    assert call.attributes["rpc.grpc.status_code"] == 0
    assert call.attributes["k8s.pod.name"] == "web"
    assert call.attributes["k8s.node.name"] == "a"
    assert "Filter" in collector.below(call)
    point = collector.named("Filter")
    assert collector.below(point) == ["Slow"]
    assert collector.named("Slow").attributes["extension_point"] == "Filter"
    assert call.seconds >= point.seconds >= collector.named("Slow").seconds
    assert decision.trace_id == call.trace


@pytest.mark.parametrize(
    ("traceparent", "rate", "parent"),
    [
        pytest.param(f"00-{TRACE}-{SPAN}-01", 0, SPAN, id="the caller traces"),
        pytest.param(f"00-{TRACE}-{SPAN}-00", 1_000_000, None, id="the caller decided not to"),
        pytest.param("", 0, None, id="a rate of 0"),
        pytest.param("", 1_000_000, "", id="a rate of all"),
        pytest.param(f"00-{'0' * 32}-{SPAN}-01", 0, None, id="no trace"),
        pytest.param(f"ff-{TRACE}-{SPAN}-01", 0, None, id="no version"),
        pytest.param("x" * 5_000, 0, None, id="nonsense"),
    ],
)
def test_who_decides(
    traceparent: str, rate: int, parent: str | None, tmp_path: Path, collector: Collector
) -> None:
    traced = Traced(tmp_path, collector, rate)
    with world(make_node("a"), make_pod("web")) as w:
        server = traced.serve(w)
        server.start()
        schedule(server.address, traceparent=traceparent)
        server.stop()
    traced.tracer.close()
    assert [span.parent for span in collector.spans if span.name == SCHEDULE] == (
        [] if parent is None else [parent]
    )
    if parent:
        assert collector.named(SCHEDULE).trace == TRACE


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"listen": "0.0.0.0:0", "insecure_listen": True}, id="others reach the listener"),
        pytest.param({"allow_clients": frozenset({"kube-scheduler"})}, id="clients have names"),
    ],
)
def test_a_stranger_does_not_decide(changes: dict[str, Any], tmp_path: Path, collector: Collector) -> None:
    traced = Traced(tmp_path, collector, rate=0)
    with world(make_node("a"), make_pod("web")) as w:
        server = traced.serve(w, **changes)
        server.start()
        schedule(f"127.0.0.1:{server.address.rpartition(':')[2]}", traceparent=f"00-{TRACE}-{SPAN}-01")
        server.stop()
    traced.tracer.close()
    assert [span for span in collector.spans if span.name == SCHEDULE] == []


def test_a_call_that_fails_says_why(tmp_path: Path, collector: Collector) -> None:
    class Broken(Slow):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            raise RuntimeError("no licence")

    traced = Traced(tmp_path, collector)
    with world(make_node("a"), make_pod("web"), plugins=[Broken]) as w:
        server = traced.serve(w)
        server.start()
        rejected(lambda: schedule(server.address))
        rejected(lambda: schedule(server.address, "nobody"))
        server.stop()
    traced.tracer.close()
    errors = {
        span.attributes["rpc.grpc.status_code"]: span.error for span in collector.spans if not span.parent
    }
    assert "no licence" in errors[grpc.StatusCode.INTERNAL.value[0]]
    assert errors[grpc.StatusCode.NOT_FOUND.value[0]] == ""


def test_an_attempt_of_the_scheduler_with_its_binding(tmp_path: Path, collector: Collector) -> None:
    traced = Traced(tmp_path, collector)
    noted = Decisions(DecisionJournal())
    cluster = SchedulerWorld(nodes=[make_node("a")], tracer=traced.tracer, decisions=noted)
    cluster.add(make_pod("web"))
    traced.tracer.close()
    attempt = collector.named("schedulingCycle")
    assert attempt.attributes["k8s.pod.name"] == "web"
    (record,) = noted.journal.newest(1)
    assert record[1].details.trace_id == attempt.trace
    assert "bindingCycle" in collector.below(attempt)
    assert "Bind" in collector.below(collector.named("bindingCycle"))


def test_an_extender_call_goes_on_in_mooring(tmp_path: Path, collector: Collector) -> None:
    traced = Traced(tmp_path, collector)
    adapter_tracer = tracer_of(str(collector.write_configuration(tmp_path)), "mooring-extender")
    with world(make_node("a"), make_node("b")) as w:
        server = traced.serve(w)
        server.start()
        app = ExtenderApp(lambda: GrpcClient(server.address), Options(), adapter_tracer)
        adapter = HttpServer(app, "127.0.0.1", 0)
        adapter.start()
        status, _ = fetch(f"{adapter.url}/filter", question(["a", "b"]))
        adapter.stop()
        server.stop()
    traced.tracer.close()
    assert adapter_tracer is not None
    adapter_tracer.close()
    assert status == 200
    call = collector.named("POST /filter")
    assert call.service == "mooring-extender"
    assert call.attributes["http.response.status_code"] == 200
    inner = collector.named("mooring.v1.SchedulingService/Filter")
    assert (inner.service, inner.trace, inner.parent) == ("mooring", call.trace, call.id)


def test_a_collector_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    with collecting() as gone:
        pass
    traced = Traced(tmp_path, gone)
    with world(make_node("a"), make_pod("web")) as w:
        server = traced.serve(w)
        server.start()
        for _ in range(20):
            schedule(server.address)
        server.stop()
    traced.tracer.close()
