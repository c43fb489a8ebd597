"""The JSON gateway: what may be called, what comes back, and what is rejected, with which status."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest

from mooring.service.wire.explanation import from_response
from mooring.web.gateway import METHODS
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.errors_pb2 import CallError
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.web.serving import POD, Page, Reply, page, path_of


@pytest.fixture(scope="module")
def served() -> Iterator[Page]:
    with page() as running:
        yield running


def columns_of(reply: Reply) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header, and the arrays by name."""
    (length,) = struct.unpack_from("<I", reply.body)
    header = json.loads(reply.body[4 : 4 + length])
    start = -(-(4 + length) // 8) * 8
    arrays = {
        each["name"]: np.frombuffer(
            reply.body, np.dtype(each["dtype"]), each["shape"][0], start + each["offset"]
        )
        for each in header["arrays"]
    }
    return header, arrays


def test_the_processes_and_which_of_them_answer(served: Page) -> None:
    found = served.ask("GET", "/api/v1/processes").document["processes"]
    assert [(each["name"], each["state"]) for each in found] == [("sample", "ok"), ("gone", "unreachable")]
    assert found[1]["message"]


def test_a_call_is_the_contracts_in_json(served: Page) -> None:
    answer = served.call("SchedulingService/Explain", POD).document
    assert answer["pod"]["name"] == "web-3"
    assert "worker-a1" in answer["nodes"]["names"]["names"]


WRITTEN = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "web"}]}}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(WRITTEN, id="written out"),
        pytest.param(base64.b64encode(json.dumps(WRITTEN).encode()).decode(), id="in base64"),
    ],
)
def test_a_pod_is_plain_json_or_base64(pod: Any, served: Page) -> None:
    answer = served.call("SchedulingService/Filter", {"pod": {"object": {"json": pod}}}).document
    assert answer["feasibleCount"] > 0


@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param({"pod": {"object": {"json": ["web"]}}}, "pod.object.json", id="a list as a pod"),
        pytest.param({"pod": {"object": {"json": {"kind": "Node"}}}}, "pod.object.json.kind", id="a node"),
        pytest.param({"pod": {"object": {"protobuf": {}}}}, "pod.protobuf", id="an object as bytes"),
        pytest.param({"profile": {}}, "profile", id="an object as text"),
    ],
)
def test_a_value_of_another_type_is_told_by_its_field(body: Any, path: str, served: Page) -> None:
    reply = served.call("SchedulingService/Filter", body)
    assert reply.status == 400
    assert path in reply.body.decode()
    assert not any(word in reply.body.decode() for word in ("operand", "bytes-like", "iterable", "len()"))


def test_columns_are_the_explanation(served: Page) -> None:
    with grpc.insecure_channel(served.server) as channel:
        request = pb.ExplainRequest(all_rejections=True)
        request.pod.reference.namespace, request.pod.reference.name = "default", "web-3"
        said = from_response(SchedulingServiceStub(channel).Explain(request))
    header, arrays = columns_of(served.call("explain/columns", {**POD, "allRejections": True}))
    assert header["made"] == "now"
    assert header["nodes"] == list(said.nodes)
    assert header["selected"] == said.selected
    assert said.scores is not None
    np.testing.assert_array_equal(arrays["verdicts"], said.codes)
    np.testing.assert_array_equal(arrays["scored"], said.scored)
    np.testing.assert_array_equal(arrays["totals"], said.scores.totals)
    for number, column in enumerate(said.scores.plugins):
        assert header["plugins"][number] == {"name": column.plugin, "weight": column.weight}
        np.testing.assert_array_equal(arrays[f"raw.{number}"], column.raw)
        np.testing.assert_array_equal(arrays[f"normalized.{number}"], column.normalized)
    for number, resource in enumerate(said.resources):
        np.testing.assert_array_equal(arrays[f"free.{number}"], resource.free)
    assert len(arrays["rejections.nodes"]) == sum(map(len, said.rejections or ()))


def test_long_answers_come_compressed_to_who_takes_that(served: Page) -> None:
    plain = served.call("PluginService/ListProfiles", {})
    taken = {"Accept-Encoding": "gzip"}
    small = served.ask("POST", "/api/v1/mooring.v1.PluginService/ListProfiles", {}, taken)
    assert (plain.headers["content-encoding"], small.headers["content-encoding"]) == (None, "gzip")
    assert gzip.decompress(small.body) == plain.body
    assert served.ask("GET", "/api/v1/processes", headers=taken).headers["content-encoding"] is None


def test_columns_say_where_a_running_pod_is(served: Page) -> None:
    for name, node in (("web-1", "worker-a1"), ("web-3", "")):
        reference = {"namespace": "default", "name": name}
        header, _ = columns_of(served.call("explain/columns", {"pod": {"reference": reference}}))
        assert header["assigned"] == node


def test_a_decision_is_shown_as_it_was_kept_or_made_again(served: Page) -> None:
    served.call("SchedulingService/Schedule", {"templates": [POD]})
    (decision,) = served.call("DecisionService/ListDecisions", {"limit": 1}).document["decisions"]
    path = f"/api/v1/decisions/{decision['seq']}/columns"
    kept, _ = columns_of(served.ask("GET", path))
    again, _ = columns_of(served.ask("GET", f"{path}?again=1"))
    assert (kept["decision"]["seq"], again["decision"]["seq"]) == (decision["seq"], decision["seq"])
    assert (again["made"], again["agrees"]) == ("again", True)
    assert again["nodes"][again["selected"]] == decision["node"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "said"),
    [
        pytest.param("POST", "SchedulingService/Bind", {}, {}, 403, "is not offered here", id="bind"),
        pytest.param("POST", "ClusterService/PushObjects", {}, {}, 403, "is not offered", id="push"),
        pytest.param("POST", "No/Such", {}, {}, 403, "is not offered", id="no such method"),
        pytest.param(
            "POST",
            "SchedulingService/Schedule",
            {"templates": [POD], "commitMode": "COMMIT_MODE_BIND"},
            {},
            403,
            "COMMIT_MODE_BIND is not offered here",
            id="commit",
        ),
        pytest.param(
            "POST",
            "SchedulingService/Schedule",
            {"templates": [POD], "commitMode": "COMMIT_MODE_RESERVE"},
            {},
            403,
            "COMMIT_MODE_RESERVE is not offered here",
            id="reserve",
        ),
        pytest.param("POST", "SchedulingService/Explain", b"{", {}, 400, "", id="no JSON"),
        pytest.param("POST", "SchedulingService/Explain", b"\xff", {}, 400, "", id="no UTF-8"),
        pytest.param("POST", "SchedulingService/Explain", b"[" * 5000, {}, 400, "", id="nested"),
        pytest.param(
            "POST",
            "SchedulingService/Schedule",
            {"commitMode": 77},
            {},
            400,
            "commitMode: 77 is not a CommitMode",
            id="unknown number",
        ),
        pytest.param(
            "POST",
            "DecisionService/ListDecisions",
            {"filter": {"kinds": [1, 77]}},
            {},
            400,
            "filter.kinds: 77 is not a DecisionKind",
            id="unknown number in a list",
        ),
        pytest.param(
            "POST",
            "SchedulingService/Schedule",
            b'{"templates":[' + b"[]," * 100_000 + b"[]]}",
            {},
            400,
            "more than 131072",
            id="many values",
        ),
        pytest.param("POST", "SchedulingService/Explain", {"pot": 1}, {}, 400, "pot", id="unknown field"),
        pytest.param("POST", "SchedulingService/Explain", {}, {}, 400, "pod: is missing", id="no pod"),
        pytest.param(
            "POST",
            "SchedulingService/Explain",
            {"pod": {"reference": {"namespace": "default", "name": "nobody"}}},
            {},
            404,
            "pod default/nobody is not known",
            id="unknown pod",
        ),
        pytest.param(
            "POST", "DecisionService/ListQueue", {}, {}, 501, "", id="what the process does not have"
        ),
        pytest.param(
            "POST",
            "ClusterService/GetClusterInfo",
            {},
            {"Content-Type": "text/plain"},
            415,
            "application/json",
            id="a form of another site",
        ),
        pytest.param(
            "POST", "ClusterService/GetClusterInfo?process=x", {}, {}, 404, "no process", id="process"
        ),
        pytest.param("POST", "ClusterService/GetClusterInfo?process=gone", {}, {}, 503, "", id="gone"),
        pytest.param("GET", "SchedulingService/Explain", None, {}, 405, "use POST", id="GET of a call"),
        pytest.param("POST", "processes", {}, {}, 405, "use GET", id="POST of processes"),
        pytest.param("GET", "decisions/0/columns", None, {}, 400, "not a decision's number", id="seq 0"),
        pytest.param("GET", "decisions/x/columns", None, {}, 400, "not a decision's number", id="seq x"),
        pytest.param("GET", "decisions/99999999/columns", None, {}, 404, "", id="unknown decision"),
        pytest.param("GET", "decisions/1/columns?again=2", None, {}, 400, "neither 0 nor 1", id="again"),
        pytest.param(
            "POST",
            "ClusterService/GetClusterInfo",
            {},
            {"Host": "evil.example"},
            421,
            "--allow-host",
            id="another site's name",
        ),
    ],
)
def test_what_is_rejected(
    method: str, path: str, body: object, headers: dict[str, str], status: int, said: str, served: Page
) -> None:
    reply = served.ask(method, f"/api/v1/{path_of(path)}", body, headers)
    assert reply.status == status, reply.body
    assert said in reply.document["message"]
    assert reply.document["code"]
    assert served.call("ClusterService/GetClusterInfo", {}).status == 200


def test_a_body_that_is_too_large(served: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.web.app.MAX_BODY_BYTES", 1000)
    assert served.call("SchedulingService/Explain", {"pod": "x" * 2000}).status == 413


def test_nothing_that_is_offered_changes_the_live_state() -> None:
    """The contract names the methods that commit."""
    names = {name.partition("/")[2] for name in METHODS}
    assert not names & {"Bind", "Reserve", "Unreserve", "Forget", "ScheduleGroups"}
    assert not names & {"PushObjects", "RemoveSource"}


def test_a_session_of_the_page_can_reserve_in_itself(served: Page) -> None:
    session = served.call("SimulationService/OpenSession", {}).document["session"]["id"]
    request = {"templates": [POD], "commitMode": "COMMIT_MODE_RESERVE", "session": session}
    assert served.call("SchedulingService/Schedule", request).status == 200
    assert served.call("SimulationService/CloseSession", {"session": session}).status == 200


def test_an_error_has_the_details_that_grpc_has(served: Page) -> None:
    reply = served.call("DecisionService/GetDecision", {"seq": "77"})
    assert (reply.status, reply.document["code"]) == (404, "not_found")
    details = {detail["type"]: detail for detail in reply.document["details"]}
    assert details["google.rpc.ErrorInfo"]["debug"]["reason"] == "DECISION_NOT_FOUND"
    typed = details["mooring.v1.CallError"]
    assert typed["debug"]["reason"] == "ERROR_REASON_DECISION_NOT_FOUND"
    assert CallError.FromString(base64.b64decode(typed["value"] + "==")).reason == 37


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        pytest.param({"Connect-Timeout-Ms": "0"}, 400, "invalid_argument", id="no time"),
        pytest.param({"Connect-Timeout-Ms": "soon"}, 400, "invalid_argument", id="no number"),
        pytest.param({"Connect-Timeout-Ms": "12345678901"}, 400, "invalid_argument", id="too many digits"),
        pytest.param({"Connect-Timeout-Ms": "9999999999"}, 200, None, id="a long time"),
        pytest.param({"Connect-Protocol-Version": "1"}, 200, None, id="version 1"),
        pytest.param({"Connect-Protocol-Version": "2"}, 400, "invalid_argument", id="another version"),
    ],
)
def test_headers_of_connect(headers: dict[str, str], status: int, code: str | None, served: Page) -> None:
    path = f"/api/v1/{path_of('ClusterService/GetClusterInfo')}"
    reply = served.ask("POST", path, {}, headers)
    assert (reply.status, reply.document.get("code")) == (status, code)
