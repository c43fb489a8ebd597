"""100,000 nodes for clients whose messages have 4 MiB at most, as they have in every gRPC library."""

from typing import Any

import grpc
from msgspec.structs import replace

from mooring.cluster.kinds import Put
from mooring.framework import Node
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.service.backends import listening, sent, world
from tests.service.test_pages import names_in, paged

COUNT = 100_000
NAMES = {f"ip-10-{at >> 16}-{at >> 8 & 255}-{at & 255}.eu-central-1.compute.internal" for at in range(COUNT)}
SECONDS = 120.0


def nodes() -> list[Node]:
    one = make_node("n")
    return [replace(one, metadata=replace(one.metadata, name=name, uid=name)) for name in NAMES]


def list_all(cluster: ClusterServiceStub) -> None:
    for form in (nodes_pb2.NODE_FORM_NAMES, nodes_pb2.NODE_FORM_JOINED_NAMES):
        request = pb.ListNodesRequest(form=form)
        answers = list(paged(lambda asked: cluster.ListNodes(asked, timeout=SECONDS), request))
        assert max(answer.ByteSize() for answer in answers) <= 2 << 20
        assert {name for answer in answers for name in names_in(answer)} == NAMES
        assert sum(len(answer.indices) for answer in answers) == COUNT


def watch(cluster: ClusterServiceStub, change: Any) -> None:
    stream = cluster.WatchNodes(pb.WatchNodesRequest(), timeout=SECONDS)
    known: set[str] = set()
    for piece in stream:
        known.update(names_in(piece))
        if not piece.more:
            break
    assert known == NAMES
    change()
    news = next(stream)
    stream.cancel()
    assert (names_in(news), news.complete) == (["new"], False)


def in_parts(scheduling: SchedulingServiceStub, method: str, form: Any) -> None:
    question = getattr(scheduling_pb, f"{method}Request")(pod=sent(make_pod(requests={"cpu": "1"})))
    question.nodes.answer_form = form
    if method == "Score":
        question.include_totals = True
    request = getattr(scheduling_pb, f"{method}StreamRequest")(request=question)
    answer = getattr(scheduling_pb, f"{method}Response")()
    for each in getattr(scheduling, f"{method}Stream")(request, timeout=SECONDS):
        answer.MergeFrom(each.part)
    named = form == nodes_pb2.NODE_FORM_NAMES
    listed = answer.nodes.names.names if named else answer.nodes.indices.indices
    assert len(listed) == COUNT + 1
    assert not named or set(listed) > NAMES
    if method != "Filter":
        assert len(answer.totals) == len(answer.plugins[0].raw) == COUNT + 1


def test_a_client_of_4_mib_lists_watches_and_explains_100000_nodes() -> None:
    with world(*nodes()) as w, listening(w.backend) as address, grpc.insecure_channel(address) as channel:
        cluster, scheduling = ClusterServiceStub(channel), SchedulingServiceStub(channel)
        list_all(cluster)
        watch(cluster, lambda: w.state.apply("test", [Put(make_node("new"))]))
        for form in (nodes_pb2.NODE_FORM_NAMES, nodes_pb2.NODE_FORM_INDICES):
            for method in ("Filter", "Score", "Explain"):
                in_parts(scheduling, method, form)
