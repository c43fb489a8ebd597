"""Limits of a request: counted before it is parsed, decompressed within a budget."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.errors import InvalidArgumentError, ResourceExhaustedError
from mooring.framework.memory import memory_bytes
from mooring.serving.calls.counting import MAX_BYTES, MAX_ENTRIES, MAX_FIELDS, Counting
from mooring.serving.calls.memory import FREE_BYTES, MemoryBudget, Share
from mooring.serving.calls.reading import MAX_MESSAGE_BYTES, Reader
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.service.backends import listening, rejected, sent, served, world
from tests.service.harness import LONG, SERVICE, running
from tests.service.test_server import listed
from tests.service.wire import field

ALL_REQUESTS = [
    method.input_type._concrete_class
    for file in (pb, cluster_pb)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
GRPC_OF = {"gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}
COMPRESS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}


def inside(*numbers: int, of: bytes) -> bytes:
    for number in reversed(numbers):
        of = field(number, of)
    return of


def many(number: int, count: int = MAX_ENTRIES + 1) -> bytes:
    return field(number, b"") * count


def read(kind: Any, body: bytes, budget: int = 1 << 40) -> Any:
    return Reader(kind.FromString, kind.DESCRIPTOR).read(body, Share(MemoryBudget(budget)))


def nodes_of(**selection: Any) -> pb.FilterRequest:
    return pb.FilterRequest(nodes=nodes_pb2.NodeSelection(**selection))


def inline(*sizes: int) -> nodes_pb2.InlineNodes:
    return nodes_pb2.InlineNodes(nodes=[objects_pb2.KubernetesObject(json=bytes(size)) for size in sizes])


@pytest.mark.parametrize(
    ("kind", "body", "path"),
    [
        pytest.param(pb.FilterRequest, inside(2, 6, of=many(1)), "nodes.inline.nodes", id="inline nodes"),
        pytest.param(pb.ScoreRequest, inside(2, 2, of=many(1)), "nodes.names.names", id="names"),
        pytest.param(pb.ExplainRequest, inside(2, of=many(7)), "nodes.assumed_pods", id="assumed pods"),
        pytest.param(
            pb.ExplainRequest, field(2, many(7, 1)) * (MAX_ENTRIES + 1), "nodes.assumed_pods", id="in parts"
        ),
        pytest.param(pb.ScheduleRequest, many(1), "templates", id="templates"),
        pytest.param(pb.ScheduleRequest, inside(2, of=many(3)), "pods.names", id="columns"),
        pytest.param(pb.PreemptRequest, inside(4, of=many(1)), "candidates.candidates", id="candidates"),
        pytest.param(
            pb.PreemptRequest, inside(4, 1, of=many(2)), "candidates.candidates.victims", id="victims"
        ),
        pytest.param(pb.NormalizeScoreRequest, many(4), "plugins", id="plugins"),
        pytest.param(cluster_pb.PushObjectsRequest, many(4), "events", id="events"),
        pytest.param(
            cluster_pb.PushObjectsRequest, inside(4, 2, of=many(3)), "events.put.objects", id="objects"
        ),
        pytest.param(pb.FilterRequest, many(1, MAX_FIELDS + 1), "", id="fields without number"),
        pytest.param(pb.FilterRequest, inside(2, of=many(99, MAX_FIELDS)), "", id="unknown fields"),
        pytest.param(pb.FilterRequest, inside(2, 3, of=bytes(MAX_BYTES)), "", id="bytes of names"),
        pytest.param(
            pb.BindRequest, inside(2, of=bytes(MAX_BYTES)), "", id="bytes of a method without lists"
        ),
    ],
)
def test_what_holds_too_much_is_rejected_before_it_is_parsed(kind: Any, body: bytes, path: str) -> None:
    kind.FromString(body)
    parsed = False

    def deserialize(_: bytes) -> None:
        nonlocal parsed
        parsed = True

    with pytest.raises(InvalidArgumentError) as caught:
        Reader(deserialize, kind.DESCRIPTOR).read(body, Share(MemoryBudget(1 << 40)))
    assert [violation.path for violation in caught.value.violations] == [path]
    assert not parsed


@pytest.mark.parametrize(
    "needed",
    [
        pytest.param(lambda: nodes_of(inline=inline(*[100] * 100_000)), id="many inline nodes"),
        pytest.param(lambda: nodes_of(inline=inline(MAX_BYTES, MAX_BYTES)), id="large inline nodes"),
        pytest.param(
            lambda: nodes_of(names=nodes_pb2.NodeNames(names=["a\nb\n" * 9] * MAX_ENTRIES)),
            id="names with line feeds",
        ),
        pytest.param(lambda: nodes_of(joined_names=b"a\0" * MAX_ENTRIES), id="joined names"),
        pytest.param(
            lambda: cluster_pb.PushObjectsRequest(
                events=[
                    cluster_pb.PushEvent(put=cluster_pb.PutObjects(objects=inline(MAX_BYTES).nodes)),
                    cluster_pb.PushEvent(put=cluster_pb.PutObjects(objects=inline(MAX_BYTES).nodes)),
                ]
            ),
            id="pushed objects",
        ),
        pytest.param(
            lambda: pb.ScheduleRequest(
                pods=pb.PodColumns(
                    template_indices=[1] * 100_000, names=["n"] * 100_000, uids=["u"] * 100_000
                )
            ),
            id="columns",
        ),
    ],
)
def test_what_a_cluster_needs_is_read(needed: Callable[[], Message]) -> None:
    request = needed()
    assert read(type(request), request.SerializeToString()) == request


@pytest.mark.parametrize("kind", ALL_REQUESTS, ids=lambda kind: kind.DESCRIPTOR.name)
@given(data=st.binary(max_size=200))
def test_what_is_counted_is_what_protobuf_reads(kind: Any, data: bytes) -> None:
    try:
        kind.FromString(data)
    except DecodeError:
        return
    try:
        Counting(kind.DESCRIPTOR).entries(data)
    except DecodeError as error:
        # protobuf steps over groups, which no request has.
        if "wire type" not in str(error):
            raise


@pytest.mark.parametrize("kind", ALL_REQUESTS, ids=lambda kind: kind.DESCRIPTOR.name)
def test_no_request_looks_compressed(kind: Any) -> None:
    assert all(field.number != 15 for field in kind.DESCRIPTOR.fields)


@pytest.mark.parametrize("how", COMPRESS)
def test_compressed_calls_are_answered(how: str) -> None:
    names = [f"n{number}" for number in range(2_000)]
    request = pb.FilterRequest(
        pod=sent(make_pod()), nodes=nodes_pb2.NodeSelection(names=nodes_pb2.NodeNames(names=[*names, "a"]))
    )
    with (
        world(make_node("a")) as w,
        listening(w.backend) as address,
        grpc.insecure_channel(address, compression=GRPC_OF[how]) as channel,
    ):
        stub = SchedulingServiceStub(channel)
        answer = stub.Filter(request, timeout=LONG)
        small = stub.Filter(pb.FilterRequest(pod=sent(make_pod())), timeout=LONG)
    assert (answer.feasible_count, small.feasible_count) == (1, 1)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(gzip.compress(b"\x0a\x00")[:-1], id="cut"),
        pytest.param(b"\x1f\x8b", id="a beginning"),
        pytest.param(gzip.compress(b"\x0a\x00")[:12] + b"\xff" * 20, id="broken"),
        pytest.param(gzip.compress(b"\xff\xff\xff"), id="no message inside"),
        pytest.param(b"\x78\x9c", id="a beginning of deflate"),
    ],
)
def test_broken_compression_is_rejected_as_any_broken_message(body: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="not a message of this method"):
        read(pb.FilterRequest, body)


@pytest.mark.parametrize("how", ["gzip", pytest.param("deflate", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("budget", "error", "text"),
    [
        pytest.param(1 << 40, InvalidArgumentError, f"more than {MAX_MESSAGE_BYTES} bytes", id="size"),
        pytest.param(1 << 24, ResourceExhaustedError, "retry after a pause", id="budget"),
    ],
)
def test_a_bomb_is_let_out_only_as_far_as_there_is_room(
    how: str, budget: int, error: type[Exception], text: str
) -> None:
    bomb = COMPRESS[how](bytes(2 * MAX_MESSAGE_BYTES))
    tracemalloc.start()
    try:
        with pytest.raises(error, match=text):
            read(pb.FilterRequest, bomb, budget)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < min(budget, MAX_MESSAGE_BYTES) + (8 << 20)


def test_bodies_have_a_budget_together_and_small_ones_are_free() -> None:
    budget = MemoryBudget(1 << 20)
    first, second, small = Share(budget), Share(budget), Share(budget)
    first.grow_to(FREE_BYTES + (1 << 20))
    small.grow_to(FREE_BYTES)
    with pytest.raises(ResourceExhaustedError):
        second.grow_to(FREE_BYTES + 1)
    first.end()
    second.grow_to(FREE_BYTES + (1 << 20))
    for share in (first, second, small):
        share.end()
    third = Share(budget)
    third.grow_to(FREE_BYTES + (1 << 20))


def test_a_call_beyond_the_budget_is_told_to_come_again_and_others_are_answered() -> None:
    large = pb.FilterRequest(pod=sent(make_pod()), nodes=nodes_pb2.NodeSelection(inline=inline(1 << 20)))
    with world(make_node("a")) as w, served(w.backend, body_budget_bytes=1 << 19) as stubs:
        failures = [rejected(lambda: stubs.scheduling.Filter(large)) for _ in range(3)]
        assert stubs.scheduling.Filter(pb.FilterRequest(pod=sent(make_pod()))).feasible_count == 1
    assert {(failure.code, failure.info.reason) for failure in failures} == {
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    }


def test_streams_may_be_compressed_too() -> None:
    with running(reflection=True) as mooring:
        assert SERVICE.full_name in listed(mooring.server.address, compression=grpc.Compression.Gzip)


@pytest.mark.parametrize(
    ("texts", "megabytes"),
    [
        pytest.param(["536870912\n", None], 512, id="a limit"),
        pytest.param([None, "268435456\n"], 256, id="a limit in the first version's file"),
        pytest.param(["max\n", None], None, id="no limit"),
        pytest.param([None, "9223372036854771712\n"], None, id="no limit in the first version's file"),
        pytest.param([None, None], None, id="no file"),
    ],
)
def test_the_memory_is_that_of_the_container(
    texts: list[str | None], megabytes: int | None, tmp_path: Path
) -> None:
    files = (tmp_path / "new", tmp_path / "old")
    for file, text in zip(files, texts, strict=True):
        if text is not None:
            file.write_text(text)
    found = memory_bytes(files)
    assert found == (memory_bytes((tmp_path / "none",)) if megabytes is None else megabytes * 2**20)
