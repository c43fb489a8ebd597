"""Requests of a real kube-scheduler, as they came and with the keys of every struct in another casing."""

import http.client
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mooring_extender.client import GrpcClient
from tests.extender.fakes import CAPTURED, UNRESOLVABLE, FakeClient, Rules, ask, grpc_server, listening

# Fields of Kubernetes objects that hold Go maps: their keys are data and keep their casing. Victims are
# structs again, one level below.
MAPS = {
    *("labels", "annotations", "nodeSelector", "matchLabels"),
    *("requests", "limits", "capacity", "allocatable", "fieldsV1"),
}
MAPS_OF_STRUCTS = {"NodeNameToVictims", "NodeNameToMetaVictims"}


def recased(value: Any, change: Callable[[str], str], inside: str = "") -> Any:
    if isinstance(value, list):
        return [recased(item, change) for item in value]
    if not isinstance(value, dict) or inside in MAPS:
        return value
    keep = inside in MAPS_OF_STRUCTS
    return {(key if keep else change(key)): recased(item, change, key) for key, item in value.items()}


def alternating(key: str) -> str:
    return "".join(letter.upper() if i % 2 else letter.lower() for i, letter in enumerate(key))


CASINGS: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper, "mixed": alternating}
FILES = sorted(CAPTURED.glob("*.json"))


def rules() -> Rules:
    return Rules(
        verdict=lambda name: 2 if name == "node-00001" else 0, total=lambda name: 10 * int(name[-1]) + 40
    )


def verb_of(file: Path) -> str:
    found = re.fullmatch(r"cache-\w+-\d\d-([a-z]+)-.*", file.stem)
    assert found
    return found.group(1)


def names_asked(document: Any) -> list[str]:
    return document["NodeNames"] or [node["metadata"]["name"] for node in document["Nodes"]["items"]]


def expected(verb: str, document: Any) -> Any:
    if verb == "bind":
        return {"Error": ""}
    if verb == "preempt":
        victims = document["NodeNameToMetaVictims"] or {
            node: {
                "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]],
                "NumPDBViolations": victims["NumPDBViolations"],
            }
            for node, victims in document["NodeNameToVictims"].items()
        }
        return {"NodeNameToMetaVictims": dict(list(victims.items())[1:])}
    names = names_asked(document)
    if verb == "prioritize":
        scores = {"node-00000": 4, "node-00002": 6}
        return [{"Host": name, "Score": scores[name]} for name in names if name in scores]
    kept = [name for name in names if name != "node-00001"]
    nodes = document["Nodes"] and {
        "metadata": {},
        "items": [node for node in document["Nodes"]["items"] if node["metadata"]["name"] in kept],
    }
    return {
        "Nodes": nodes,
        "NodeNames": kept if document["NodeNames"] else None,
        "FailedNodes": None,
        "FailedAndUnresolvableNodes": {"node-00001": UNRESOLVABLE} if "node-00001" in names else None,
        "Error": "",
    }


def test_every_verb_was_captured_in_both_modes() -> None:
    found = {(file.name.split("-")[1], verb_of(file)) for file in FILES}
    assert found == {
        (mode, verb) for mode in ("true", "false") for verb in ("filter", "prioritize", "bind", "preempt")
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_captured_request_is_answered(file: Path) -> None:
    reply = ask(FakeClient(rules()), f"/{verb_of(file)}", file.read_bytes())
    assert reply.status == 200
    assert reply.json == expected(verb_of(file), json.loads(file.read_bytes()))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_objects_travel_byte_for_byte(file: Path) -> None:
    body, verb = file.read_bytes(), verb_of(file)
    client = FakeClient(rules())
    reply = ask(client, f"/{verb}", body)
    if verb == "bind":
        return
    assert client.rules.requests[0].pod.object.json in body
    if verb == "filter" and reply.json["Nodes"]:
        for node in client.rules.requests[0].nodes.inline.nodes:
            name = json.loads(node.json)["metadata"]["name"]
            assert node.json in body
            assert (node.json in reply.body) == (name != "node-00001")


@pytest.mark.parametrize("casing", CASINGS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_casing_changes_nothing(file: Path, casing: str) -> None:
    verb, document = verb_of(file), json.loads(file.read_bytes())
    exact, other = FakeClient(rules()), FakeClient(rules())
    plain = ask(exact, f"/{verb}", file.read_bytes())
    reply = ask(other, f"/{verb}", json.dumps(recased(document, CASINGS[casing])).encode())
    assert (reply.status, reply.json) == (200, plain.json)
    assert [list(reply.json)] == [list(plain.json)] if verb != "prioritize" else True
    if verb != "bind":
        (asked,), (asked_plainly,) = other.rules.requests, exact.rules.requests
        assert json.loads(asked.pod.object.json) == json.loads(asked_plainly.pod.object.json)
        if verb != "preempt":
            assert [json.loads(node.json) for node in asked.nodes.inline.nodes] == [
                json.loads(node.json) for node in asked_plainly.nodes.inline.nodes
            ]


def test_captured_requests_over_http_and_grpc() -> None:
    """One connection, as kube-scheduler keeps it."""
    with grpc_server(rules()) as address, listening(partial(GrpcClient, address)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        socket_used = None
        for file in FILES:
            connection.request(
                "POST", f"/{verb_of(file)}", file.read_bytes(), {"Content-Type": "application/json"}
            )
            socket_used = socket_used or connection.sock
            assert connection.sock is socket_used
            response = connection.getresponse()
            body = response.read()
            assert response.headers["Content-Length"] == str(len(body))
            wanted = expected(verb_of(file), json.loads(file.read_bytes()))
            assert (response.status, json.loads(body)) == (200, wanted)
        connection.close()
