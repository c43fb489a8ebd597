"""The metrics that Kubernetes' components have in common, on a server and on a scheduler that run."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from mooring import __version__
from mooring.cluster.api import ApiServer
from mooring.cluster.api.client import ClientOptions
from mooring.framework.errors import UnavailableError
from mooring.telemetry.metrics import Metrics
from mooring.telemetry.process_metrics import RequestMetrics, measure_leadership
from tests.cli.commands import fetch, serving
from tests.cluster.following import node
from tests.fake_api_server import FakeApiServer
from tests.process import until


def shown(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


def test_requests_are_counted_with_their_answers(tmp_path: Path) -> None:
    metrics = Metrics()
    with FakeApiServer() as fake:
        options = ClientOptions(timeout_seconds=2.0, ended=RequestMetrics(metrics).ended)
        api = ApiServer.from_kubeconfig(fake.kubeconfig(tmp_path / "kubeconfig"), options)
        host = api.address.partition("//")[2]
        api.request("GET", "/api/v1/nodes")
        api.request("GET", "/nothing")
    with pytest.raises(UnavailableError):
        api.request("POST", "/api/v1/pods", body={})
    for code, method in (("200", "GET"), ("404", "GET"), ("<error>", "POST")):
        labels = {"code": code, "method": method, "host": host}
        assert metrics.registry.get_sample_value("rest_client_requests_total", labels), code
    duration = "rest_client_request_duration_seconds_count"
    assert metrics.registry.get_sample_value(duration, {"verb": "GET", "host": host}) == 2


def test_who_leads_is_asked_at_each_scrape() -> None:
    metrics, leads = Metrics(), [False]
    measure_leadership(metrics, "mooring", lambda: leads[0])
    assert 'leader_election_master_status{name="mooring"} 0.0' in shown(metrics.registry)
    leads[0] = True
    assert 'leader_election_master_status{name="mooring"} 1.0' in shown(metrics.registry)


def test_a_server_shows_them_without_times_of_creation(tmp_path: Path) -> None:
    with FakeApiServer() as fake:
        fake.add(node("n1"))
        source = f"kubernetes:{fake.kubeconfig(tmp_path / 'kubeconfig')}"
        with serving("--source", source, "--leader-elect") as server:
            url = f"http://{server.address('metrics')}/metrics"
            until(lambda: b'leader_election_master_status{name="mooring-serve"} 1.0' in fetch(url)[1], "it")
            text = fetch(url)[1].decode()
    assert 'mooring_build_info{python_version="3.' in text
    assert f'version="{__version__}"' in text
    assert "rest_client_requests_total{" in text
    assert "_created" not in text
