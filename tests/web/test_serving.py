"""How the page is served: files, headers, names, prefixes."""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from mooring.serving.http.hosts import Hosts
from mooring.web.app import STALLED_SECONDS, WebApp
from tests.process import Process, free_port
from tests.web.serving import Page, page


@pytest.fixture(scope="module")
def served() -> Iterator[Page]:
    with page(prefix="/mooring/") as running:
        yield running


def test_nothing_from_elsewhere_runs_in_the_page(served: Page) -> None:
    for path in ("/", "/api/v1/processes", "/nope"):
        headers = served.ask("GET", path).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_the_reason_codes_are_those_of_the_document(served: Page) -> None:
    document = (Path(__file__).parents[2] / "docs/reason-codes.md").read_text()
    shown = served.ask("GET", "/reason-codes.js").body.decode()
    assert json.dumps(document, ensure_ascii=False) in shown, "run `make web` and commit the result"


def test_files_come_small_and_once(served: Page) -> None:
    plain = served.ask("GET", "/page.js")
    small = served.ask("GET", "/page.js", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(small.body) == plain.body
    again = served.ask("GET", "/page.js", headers={"If-None-Match": str(plain.headers["etag"])})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["/", "/mooring/", "/mooring/page.js", "/mooring/api/v1/processes"])
def test_all_is_there_under_the_prefix_too(path: str, served: Page) -> None:
    assert served.ask("GET", path).status == 200


def test_a_prefix_without_its_slash_leads_to_the_page(served: Page) -> None:
    reply = served.ask("GET", "/mooring")
    assert (reply.status, reply.headers["location"]) == (308, "/mooring/")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/../../etc/passwd", 404, id="outside"),
        pytest.param("GET", "/static/page.js", 404, id="no such file"),
        pytest.param("POST", "/", 405, id="POST"),
        pytest.param("HEAD", "/", 200, id="HEAD"),
        pytest.param("GET", "/healthz", 200, id="probe"),
    ],
)
def test_paths(method: str, path: str, status: int, served: Page) -> None:
    assert served.ask(method, path).status == status


@pytest.mark.parametrize(
    ("host", "taken"),
    [
        pytest.param("localhost:50054", True, id="localhost"),
        pytest.param("127.0.0.1", True, id="address"),
        pytest.param("[::1]:80", True, id="IPv6"),
        pytest.param("Mooring.example:443", True, id="allowed"),
        pytest.param("evil.example", False, id="another"),
        pytest.param("localhost.evil.example", False, id="looks like one"),
        pytest.param("", False, id="none"),
    ],
)
def test_names_by_which_a_browser_may_ask(host: str, taken: bool) -> None:
    assert (Hosts({"mooring.example"}).rejection(host.encode()) == "") == taken


def test_every_name_is_taken_where_an_ingress_asks() -> None:
    assert Hosts(None).rejection(b"anything") == ""


def test_its_health_says_whether_the_page_answers(tmp_path: Path) -> None:
    """Over gRPC, as a kubelet asks; a page whose event loop stands still fails."""
    address = f"127.0.0.1:{free_port()}"
    flags = ["--server=127.0.0.1:1", "--listen=127.0.0.1:0", f"--health-listen={address}"]
    command = [sys.executable, "-m", "mooring", "web", *flags]
    with Process("web", command, tmp_path / "log") as running, grpc.insecure_channel(address) as channel:
        running.wait_line("mooring-web ready")
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "liveness"):
            asked = health_pb2.HealthCheckRequest(service=service)
            assert health.Check(asked).status == health_pb2.HealthCheckResponse.SERVING
    app = WebApp([], None, Hosts(()), "")
    assert app.stalled() == ""
    app._last_beat = time.monotonic() - STALLED_SECONDS - 1
    assert "not answered for 31 s" in app.stalled()
