"""Routes, profiles, deadlines, the table of failures, health and metrics."""

from typing import Any

import grpc
import pytest

from mooring.serving.http.hosts import Hosts
from mooring_extender.failures import VERBS, CallError
from tests.extender.fakes import BIND, BODIES, FakeClient, Rules, ask, ask_often, question


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("prefix", "path", "profile"),
    [
        pytest.param("", "/{}", "first", id="plain"),
        pytest.param("", "/profiles/gpu/{}", "gpu", id="profile"),
        pytest.param("/api/scheduler", "/{}", "first", id="prefix-not-used"),
        pytest.param("/api/scheduler", "/api/scheduler/{}", "first", id="prefix"),
        pytest.param("api/scheduler/", "/api/scheduler/profiles/gpu/{}", "gpu", id="prefix-and-profile"),
        pytest.param("api/scheduler", "/api/scheduler/profiles/gpu/{}/", "gpu", id="slash-at-the-end"),
    ],
)
def test_route(verb: str, prefix: str, path: str, profile: str) -> None:
    client = FakeClient()
    assert ask(client, path.format(verb), BODIES[verb], path_prefix=prefix).status == 200
    assert [request.profile for request in client.rules.requests] == [profile]


@pytest.mark.parametrize("prefix", ["", "/api/scheduler"])
@pytest.mark.parametrize(
    "path",
    [
        *(
            "/",
            "",
            "/Filter",
            "//filter",
            "/filter//",
            "/xfilter",
            "/filter/x",
            "/profiles//filter",
            "/profiles/a",
        ),
        *("/other/filter", "/profiles/a/b/filter", "/profiles/a/nothing", "/api/scheduler", "/healthz/x"),
        *("/api/schedulerfilter", "/api/scheduler/api/scheduler/filter"),
    ],
)
def test_no_such_path(path: str, prefix: str) -> None:
    client = FakeClient()
    reply = ask(client, path, question(), path_prefix=prefix)
    assert (reply.status, list(reply.json)) == (404, ["error"])
    assert client.rules.requests == []


def test_profile_comes_from_the_path_then_the_option_then_the_first_one() -> None:
    client = FakeClient()
    requests = [("/filter", question()), ("/profiles/path/filter", question())]
    ask_often(client, requests, profile="option")
    ask_often(client, [*requests, ("/filter", question())])
    asked = [request.profile for request in client.rules.requests]
    assert asked == ["option", "path", "first", "path", "first"]


def test_first_profile_is_asked_for_once_and_again_after_a_failure() -> None:
    client = FakeClient()
    ask_often(client, [("/bind", BIND)] * 3)
    assert len(client.seconds) == 4
    client.seconds.clear()
    ask_often(client, [("/bind", BIND), ("/bind", b"{}"), ("/bind", BIND)])
    assert len(client.seconds) == 4


def test_pod_scheduler_name_is_ignored() -> None:
    client = FakeClient()
    ask(client, "/filter", question(Pod={"spec": {"schedulerName": "second"}}))
    assert client.rules.requests[0].profile == "first"


@pytest.mark.parametrize("verb", VERBS)
def test_calls_end_before_the_http_timeout(verb: str) -> None:
    client = FakeClient()
    ask(client, f"/{verb}", BODIES[verb], http_timeout=8.0)
    assert len(client.seconds) == 2
    assert all(0 < seconds <= 6.0 for seconds in client.seconds)


def test_a_body_that_took_all_the_time_is_not_asked_about() -> None:
    client = FakeClient()
    reply = ask(client, "/filter", question(), http_timeout=1e-9)
    assert "the body took all the time" in reply.json["Error"]
    assert client.rules.requests == []


STATUS_OF_CODE = dict.fromkeys(grpc.StatusCode, 500) | {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.UNIMPLEMENTED: 501,
}
CODES = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_failures_of_mooring(verb: str, code: grpc.StatusCode) -> None:
    text = 'profile "x" is unknown: there are a, b'
    reply = ask(FakeClient(failure=CallError(code, text)), f"/{verb}", BODIES[verb])
    if verb in {"filter", "bind"}:
        assert (reply.status, reply.json["Error"]) == (200, f"mooring: {text}")
    else:
        assert (reply.status, reply.json) == (STATUS_OF_CODE[code], {"error": f"mooring: {text}"})
    lost = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    assert reply.headers.get("connection") == ("close" if lost else None), "another replica may answer"


def test_failed_filter_answers_no_nodes() -> None:
    reply = ask(FakeClient(failure=CallError(grpc.StatusCode.INTERNAL, "boom")), "/filter", question())
    assert reply.body.decode() == (
        '{"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,'
        '"Error":"mooring: boom"}'
    )


@pytest.mark.parametrize("verb", VERBS)
def test_a_defect_of_the_adapter_is_answered_and_the_next_call_is_served(
    verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(Rules):
        def __getattribute__(self, name: str) -> Any:
            if name in {"filter", "score", "bind", "preempt"} and not self.requests:
                self.requests.append("raised")
                raise ZeroDivisionError("secret")
            return super().__getattribute__(name)

    bad, good = ask_often(FakeClient(Faulty()), [(f"/{verb}", BODIES[verb])] * 2)
    assert bad.status == (200 if verb in {"filter", "bind"} else 500)
    assert b"internal error: ZeroDivisionError" in bad.body
    assert b"secret" not in bad.body
    assert "secret" in caplog.text
    assert good.status == 200
    assert b"internal" not in good.body


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("at", ["question", "answer"])
def test_an_error_that_quotes_megabytes_is_told_in_a_kilobyte(
    verb: str, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    failure = CallError(grpc.StatusCode.INTERNAL, "A" * 20_000) if at == "answer" else None
    wrong = {"filter": question(["\0" + "A" * 20_000]), "prioritize": question(["\0" + "A" * 20_000])}
    body = wrong.get(verb, BODIES[verb]) if at == "question" else BODIES[verb]
    reply = ask(FakeClient(failure=failure), f"/{verb}", body, profile="first")
    assert (b"AAAA" in reply.body) == (failure is not None or verb in wrong)
    assert len(reply.body) < 1100
    assert len(caplog.text) < 1100


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE", "OPTIONS"])
def test_verbs_are_posted(method: str) -> None:
    reply = ask(FakeClient(), "/filter", question(), method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/metrics"])
def test_operators_read_with_get(path: str) -> None:
    assert [ask(FakeClient(), path, method=method).status for method in ("GET", "HEAD", "POST")] == [
        200,
        200,
        405,
    ]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "GZIP", "identity, gzip", "x"])
def test_encoded_bodies_are_rejected_unread(encoding: str) -> None:
    reply = ask(FakeClient(), "/filter", b"\x1f\x8b", headers={"Content-Encoding": encoding})
    assert (reply.status, reply.headers["connection"]) == (415, "close")


@pytest.mark.parametrize("verb", BODIES)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="as kube-scheduler sends it"),
        pytest.param({"Content-Type": "APPLICATION/JSON; charset=utf-8"}, 200, id="with a parameter"),
        pytest.param({"Content-Encoding": "identity"}, 200, id="not encoded"),
        pytest.param({"Content-Type": "text/plain"}, 415, id="text"),
        pytest.param({"Content-Type": "text/plain; x=application/json"}, 415, id="text, with a parameter"),
        pytest.param({"Content-Type": "application/x-www-form-urlencoded"}, 415, id="a form"),
        pytest.param({"Content-Type": "multipart/form-data; boundary=x"}, 415, id="a form in parts"),
        pytest.param({"Content-Type": "application/jsonp"}, 415, id="a type that begins alike"),
        pytest.param({"Content-Type": ""}, 415, id="no type"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="of another site's page"),
        pytest.param({"Origin": "null"}, 403, id="of a page without a site"),
        pytest.param({"Origin": "http://localhost:8888"}, 403, id="of a page from here"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="a browser says where it comes from"),
        pytest.param({"Sec-Fetch-Site": "none"}, 403, id="a browser says that a person asks"),
        pytest.param({"Sec-Fetch-Mode": "no-cors"}, 403, id="a browser says how it asks"),
        pytest.param({"Host": "evil.example"}, 421, id="another site's name"),
        pytest.param({"Host": "localhost.evil.example:8888"}, 421, id="a name that begins alike"),
        pytest.param({"Host": "10.0.0.1:8888"}, 421, id="another address"),
        pytest.param({"Host": ""}, 400, id="no name"),
        pytest.param({"Host": "LOCALHOST"}, 200, id="its name in capitals"),
        pytest.param({"Host": "[::1]:8888"}, 200, id="loopback of IPv6"),
        pytest.param({"Host": "127.0.0.7:8888"}, 200, id="the address that it came to"),
        pytest.param({"Host": "mooring.example"}, 200, id="a name that was allowed"),
    ],
)
def test_calls_are_taken_from_programs_alone(verb: str, headers: dict[str, str], status: int) -> None:
    client = FakeClient()
    hosts = Hosts({"Mooring.example"})
    reply = ask(client, f"/{verb}", BODIES[verb], headers=headers, profile="first", hosts=hosts)
    assert (reply.status, len(client.seconds)) == (status, int(status == 200))
    assert (reply.headers.get("connection"), "error" in str(reply.json)) == (
        (None, False) if status == 200 else ("close", True)
    )


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("/livez", 200, id="a probe, which says nothing"),
        pytest.param("/readyz", 200, id="a probe that asks mooring"),
        pytest.param("/metrics", 421, id="metrics"),
    ],
)
def test_no_name_of_another_site_leads_to_the_metrics(path: str, status: int) -> None:
    assert ask(FakeClient(), path, method="GET", headers={"Host": "evil.example"}).status == status


def test_body_may_come_in_pieces() -> None:
    pieces = [question()[i : i + 1] for i in range(len(question()))]
    assert ask(FakeClient(), "/filter", *pieces).json["NodeNames"] == ["a", "b", "c"]


def test_largest_body_and_one_byte_more() -> None:
    body = question()
    sizes = {"as announced": {"Content-Length": str(len(body))}, "in pieces": {}}
    for headers in sizes.values():
        fits = ask(FakeClient(), "/filter", body, headers=headers, max_body_bytes=len(body))
        too_large = ask(
            FakeClient(), "/filter", body[:9], body[9:], headers=headers, max_body_bytes=len(body) - 1
        )
        assert (fits.status, too_large.status, too_large.headers["connection"]) == (200, 413, "close")


def test_live_whatever_mooring_does_ready_only_with_it() -> None:
    down = FakeClient(failure=CallError(grpc.StatusCode.UNAVAILABLE, "unavailable: refused"))
    loading = FakeClient()
    loading.synced = False
    for client, status in ((FakeClient(), 200), (down, 503), (loading, 503)):
        assert ask(client, "/livez", method="GET").status == 200
        assert ask(client, "/healthz", method="GET").status == 200
        assert ask(client, "/readyz", method="GET").status == status
    assert ask(down, "/readyz", method="GET").body == b"mooring: unavailable: refused"


def test_however_often_readiness_is_asked_for_mooring_is_asked_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient()
    requests = [("/readyz",)] * 20
    monkeypatch.setattr("mooring_extender.app.READINESS_SECONDS", 60.0)
    answers = ask_often(client, requests, methods=["GET"] * 20)
    assert ([answer.status for answer in answers], len(client.seconds)) == ([200] * 20, 1)
    monkeypatch.setattr("mooring_extender.app.READINESS_SECONDS", 0.0)
    ask_often(client, requests, methods=["GET"] * 20)
    assert len(client.seconds) == 21


def test_metrics_count_calls_failures_and_rejected_nodes() -> None:
    client = FakeClient(Rules(verdict="abc".index))
    calls = [("/filter", question()), ("/filter", b"{}"), ("/prioritize", b"["), ("/metrics",)]
    methods = ["POST", "POST", "POST", "GET"]
    text = ask_often(client, calls, methods=methods)[-1].body.decode()
    assert 'mooring_extender_request_duration_seconds_count{verb="filter"} 2.0' in text
    assert 'mooring_extender_failures_total{reason="BAD_ARGUMENTS",verb="filter"} 1.0' in text
    assert 'mooring_extender_failures_total{reason="MALFORMED",verb="prioritize"} 1.0' in text
    assert 'mooring_extender_rejected_nodes_total{resolvable="true"} 1.0' in text
    assert 'mooring_extender_rejected_nodes_total{resolvable="false"} 1.0' in text
