"""Cluster Autoscaler's question: which node groups would place the pods."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from mooring.kubernetes.v1.node_pb2 import Node
from mooring.kubernetes.v1.pod_pb2 import Pod
from mooring.testing.builders import make_node
from mooring_expander.wire import expander_service_pb2 as pb
from tests.expander.asking import expander

FULL = make_node("full", allocatable={"cpu": "1", "memory": "1Gi", "pods": 0})


def node(cpu: str, **labels: str) -> bytes:
    made = Node()
    made.metadata.name = "template"
    made.metadata.uid = "template"
    made.metadata.labels.update({"kubernetes.io/hostname": "template", **labels})
    for name, amount in {"cpu": cpu, "memory": "64Gi", "pods": "110"}.items():
        made.status.allocatable[name].string = amount
    return made.SerializeToString()


def pod(name: str, cpu: str = "1", *, apart: bool = False, **selector: str) -> bytes:
    made = Pod()
    made.metadata.name, made.metadata.namespace, made.metadata.uid = name, "default", name
    made.metadata.labels["app"] = "web"
    made.spec.containers.add(name="c").resources.requests["cpu"].string = cpu
    made.spec.node_selector.update(selector)
    if apart:
        term = made.spec.affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution.add()
        term.topology_key = "kubernetes.io/hostname"
        term.label_selector.match_labels["app"] = "web"
    return made.SerializeToString()


def option(group: str, count: int, *pods: bytes) -> pb.Option:
    return pb.Option(node_group_id=group, node_count=count, debug=f"of {group}", pod_bytes=pods)


THREE = (pod("p0"), pod("p1"), pod("p2"))
APART = tuple(pod(f"p{number}", apart=True) for number in range(3))


@pytest.mark.parametrize(
    ("nodes", "options", "best"),
    [
        pytest.param(
            {"s": node("2"), "l": node("4")},
            [option("s", 1, *THREE), option("l", 1, *THREE)],
            ["l"],
            id="the one that places all",
        ),
        pytest.param(
            {"s": node("2"), "l": node("1")},
            [option("s", 1, *THREE), option("l", 1, *THREE)],
            ["s"],
            id="the one that places most",
        ),
        pytest.param(
            {"s": node("4"), "l": node("32")},
            [option("s", 1, *THREE), option("l", 1, *THREE)],
            ["l", "s"],
            id="by scores",
        ),
        pytest.param(
            {"s": node("4"), "l": node("4")},
            [option("s", 1, *THREE), option("l", 1, *THREE)],
            ["s", "l"],
            id="equal ones in order",
        ),
        pytest.param(
            {"one": node("64"), "three": node("4")},
            [option("one", 1, *APART), option("three", 3, *APART)],
            ["three"],
            id="each node has a host name of its own",
        ),
        pytest.param(
            {"one": node("64"), "all": node("4")},
            [option("one", 1, *APART), option("all", 2**31 - 1, *APART)],
            ["all"],
            id="more nodes than memory has room for",
        ),
        pytest.param(
            {"s": node("4", zone="east"), "l": node("4", zone="west")},
            [option(group, 1, pod("p", zone="west")) for group in ("s", "l")],
            ["l"],
            id="labels of the template",
        ),
        pytest.param({"s": node("1")}, [option("s", 3, pod("p", "2"))], [], id="none places any"),
        pytest.param({"s": node("1")}, [option("s", 0, *THREE), option("s", 1)], [], id="nothing to try"),
        pytest.param({}, [], [], id="no option"),
    ],
)
@pytest.mark.parametrize("form", ["bytes", "messages"])
def test_best_options(nodes: dict[str, bytes], options: list[pb.Option], best: list[str], form: str) -> None:
    if form == "bytes":
        request = pb.BestOptionsRequest(options=options, node_bytes_map=nodes)
    else:
        before = [
            pb.Option(node_group_id=each.node_group_id, node_count=each.node_count, pod=each.pod_bytes)
            for each in options
        ]
        request = pb.BestOptionsRequest(options=before, node_map=nodes)
    with expander(FULL) as stub:
        found = stub.BestOptions(request).options
    assert [each.node_group_id for each in found] == best
    assert not any(each.pod_bytes or each.pod for each in found)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        pytest.param(
            pb.BestOptionsRequest(options=[option("s", 1, *THREE)]),
            "options[0].node_group_id: there is no node of 's'",
            id="no template",
        ),
        pytest.param(
            pb.BestOptionsRequest(options=[option("s", -1)], node_bytes_map={"s": node("1")}),
            "options[0].node_count: -1 is negative",
            id="negative",
        ),
        pytest.param(
            pb.BestOptionsRequest(options=[option("s", 1, *THREE)], node_bytes_map={"s": b"\xff"}),
            "mooring: changes[0].put.objects[0]",
            id="not a node",
        ),
        pytest.param(
            pb.BestOptionsRequest(options=[option("s", 1, b"\xff")], node_bytes_map={"s": node("1")}),
            "mooring: templates[0].pod",
            id="not a pod",
        ),
    ],
)
def test_rejected(request_: pb.BestOptionsRequest, text: str) -> None:
    with expander(FULL) as stub, pytest.raises(grpc.RpcError) as failed:
        stub.BestOptions(request_)
    error: Any = failed.value
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert text in error.details()
