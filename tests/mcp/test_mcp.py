"""An assistant's answers: the SDK's own client, over standard input and output, with a real server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from mooring.mcp.server import new_server
from mooring.mcp.tools import MAX_BYTES, Tools, fitting
from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client import Client as MooringClient
from mooring_client import Pods
from tests.cli.commands import environment, serving, write_manifests

HOSTILE = "node(s) \x1b[31mred\x1b[0m"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("mcp")
    running = pod_manifest("there", requests={"cpu": "2"}, spec={"nodeName": "n1"})
    items = [
        *(
            node_manifest(f"n{at}", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})
            for at in range(3)
        ),
        *(
            node_manifest(f"small{at:03}", allocatable={"cpu": "0", "memory": "1Gi", "pods": "9"})
            for at in range(300)
        ),
        running,
        pod_manifest("web", requests={"cpu": "1"}),
        pod_manifest("big", requests={"cpu": "64"}),
        *gang("train", 6),
        *gang("small", 2),
    ]
    manifests = write_manifests(folder / "cluster.yaml", *items)
    flags = ("--feature-gates", "GenericWorkload=true")
    with serving("--source", f"files:{manifests}", *flags) as started:
        yield started.address("grpc")


def gang(name: str, count: int) -> list[dict[str, Any]]:
    """Return a group, and ``count`` pods that all have to get a node."""
    spec = {"schedulingPolicy": {"gang": {"minCount": count}}}
    meta = {"name": name, "namespace": "ml", "uid": name}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}
    inside = {"schedulingGroup": {"podGroupName": name}}
    return [
        group,
        *(
            pod_manifest(
                f"{name}-{at}",
                namespace="ml",
                requests={"cpu": "2"},
                spec=inside,
                metadata={"uid": f"{name}-{at}"},
            )
            for at in range(count)
        ),
    ]


def ask(server: str, name: str, arguments: dict[str, Any]) -> Any:
    """Return a tool's answer to the SDK's client."""

    async def play() -> Any:
        with grpc.insecure_channel(server) as channel:
            async with Client(new_server(Tools(channel))) as client:
                return await client.call_tool(name, arguments)

    return asyncio.run(play())


def decide(server: str, pod: str) -> None:
    """Make a decision, so that there is one to list."""
    manifest = pod_manifest(pod, requests={"cpu": "64" if pod == "big" else "1"})
    with MooringClient(server) as client:
        client.schedule([Pods(json.dumps(manifest).encode(), [f"uid-{pod}"])])


def answer(server: str, name: str, **arguments: Any) -> dict[str, Any]:
    result = ask(server, name, arguments)
    assert not result.is_error, result.content
    (text,) = result.content
    assert len(text.text.encode()) <= 2 * MAX_BYTES  # indented by the SDK
    found: dict[str, Any] = json.loads(text.text)
    return found


@pytest.mark.slow
def test_the_command_offers_tools_that_only_read(server: str) -> None:
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "mooring", "mcp", "--server", server], env=environment()
    )

    async def play() -> tuple[Any, Any]:
        async with Client(program) as client:
            return await client.list_tools(), await client.call_tool("explain", {"pod": "web"})

    listed, explained = asyncio.run(play())
    names = {"why_pending", "explain", "compare_nodes", "what_if", "list_decisions"}
    assert {tool.name for tool in listed.tools} == names
    assert all(tool.annotations.read_only_hint and tool.description for tool in listed.tools)
    assert not explained.is_error


class TestAnswers:
    def test_why_a_pod_is_pending(self, server: str) -> None:
        found = answer(server, "why_pending", pod="default/big")
        assert found["answer"].startswith(
            "no node (303 nodes evaluated, 0 feasible): 0/303 nodes are available"
        )
        first = found["rejected"][0]
        assert (first["plugin"], first["reason"], first["nodes"]) == (
            "NodeResourcesFit",
            "Insufficient cpu",
            303,
        )

    def test_where_a_pod_would_go(self, server: str) -> None:
        found = answer(server, "explain", pod="web")
        assert found["best"][0]["node"] in {"n0", "n2"}
        assert sum(found["best"][0]["points"].values()) == found["best"][0]["total"]

    def test_two_nodes(self, server: str) -> None:
        found = answer(server, "compare_nodes", pod="web", node="n0", other="n1")
        assert found["ahead"] == "n0"
        assert sum(found["differences"].values()) == found["totals"]["n0"] - found["totals"]["n1"]

    def test_a_rejected_node_beside_a_feasible_one(self, server: str) -> None:
        found = answer(server, "compare_nodes", pod="web", node="n0", other="small000")
        assert (found["n0"], found["small000"]) == (
            "feasible",
            "rejected by NodeResourcesFit: Insufficient cpu",
        )

    def test_a_node_that_goes(self, server: str) -> None:
        found = answer(server, "what_if", node="n1")
        assert [pod["pod"] for pod in found["pods"]] == ["default/there"]

    def test_more_of_a_pod(self, server: str) -> None:
        found = answer(server, "what_if", pod="default/web")
        # The gang of two fits next to it; the one of six does not and takes no room.
        assert (found["room_for"], found["pending_placed_first"]) == (5, 3)

    def test_what_would_make_a_pod_fit_of_which_none_does(self, server: str) -> None:
        found = answer(server, "what_if", pod="default/big")
        (option, *_) = found["fits_with"]
        assert found["room_for"] == 0
        assert option["changes"] == [{"request": {"resource": "cpu", "before": "64000", "after": "4000"}}]
        assert option["then_on"] in {"n0", "n2"}

    def test_what_would_make_a_group_fit_as_a_whole(self, server: str) -> None:
        assert answer(server, "what_if", group="ml/small") == {"group": "ml/small", "fits": True}
        found = answer(server, "what_if", group="ml/train")
        (option, *_) = found["fits_with"]
        (change,) = option["changes"]
        assert not found["fits"]
        assert change["node"]["like"]
        assert sum(option["then_on"].values()) == 6

    def test_what_was_decided(self, server: str) -> None:
        decide(server, "web")
        (newest, *_) = answer(server, "list_decisions", pod="web")["decisions"]
        assert (newest["pod"], newest["result"]) == ("default/web", "scheduled")
        assert newest["node"] in {"n0", "n2"}

    def test_all_pods_that_are_pending(self, server: str) -> None:
        decide(server, "big")
        found = answer(server, "why_pending", namespace="default")
        reasons = {group["reason"] for group in found["groups"]}
        assert "NodeResourcesFit: Insufficient cpu" in reasons
        assert reasons > {"NodeResourcesFit: Insufficient cpu"}, "others are asked about now"
        assert found["pods_without_a_node"] > 1

    @pytest.mark.parametrize(
        ("tool", "arguments", "said"),
        [
            pytest.param("explain", {"pod": "default/nope"}, "NOT_FOUND", id="no such pod"),
            pytest.param(
                "compare_nodes", {"pod": "web", "node": "x", "other": "n1"}, "no node 'x'", id="no such node"
            ),
            pytest.param("what_if", {}, "give either", id="nothing asked"),
            pytest.param("what_if", {"node": "n1", "pod": "web"}, "give either", id="both asked"),
            pytest.param("what_if", {"pod": "web", "group": "g"}, "give either", id="a pod and a group"),
            pytest.param("what_if", {"group": "ml/nope"}, "NOT_FOUND", id="no such group"),
        ],
    )
    def test_a_question_that_can_not_be_answered(
        self, server: str, tool: str, arguments: dict[str, Any], said: str
    ) -> None:
        result = ask(server, tool, arguments)
        assert result.is_error
        assert said in result.content[0].text

    def test_no_server(self, tmp_path: Path) -> None:
        result = ask(f"unix:{tmp_path}/nobody", "explain", {"pod": "web"})
        assert result.is_error
        assert "no mooring server can be reached" in result.content[0].text


class TestFitting:
    def test_the_longest_list_is_shortened(self) -> None:
        found = fitting({"answer": "x", "rejected": [{"reason": "r" * 90}] * 500, "best": [1, 2]})
        assert len(json.dumps(found).encode()) <= MAX_BYTES
        assert found["shortened"]
        assert found["best"] == [1, 2]
        assert found["rejected"]

    def test_texts_are_cut_and_shown_as_text(self) -> None:
        found = fitting({"answer": HOSTILE + "x" * 1_000})
        assert "\x1b" not in found["answer"]
        assert len(found["answer"]) == 400
