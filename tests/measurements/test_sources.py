"""The sources of measured values, against a server of the test's own, and files."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import MeasurementSource
from mooring.measurements import (
    HttpAccess,
    HttpJson,
    MeasurementError,
    MeasurementFile,
    MeasurementFunction,
    PrometheusQuery,
)
from mooring.measurements.sources import host_of
from tests.certificates import Authority
from tests.measurements.stub_prometheus import StubPrometheus, stub_prometheus


@pytest.fixture
def prometheus() -> Iterator[StubPrometheus]:
    with stub_prometheus(StubPrometheus()) as stub:
        yield stub


def asking(address: str, **access: Any) -> PrometheusQuery:
    return PrometheusQuery(name="load", url=address, query="up", access=HttpAccess(**access))


@pytest.mark.parametrize(
    ("values", "found"),
    [
        pytest.param({"10.0.0.1:9100": "1234.9"}, {"10.0.0.1": 1234}, id="a port, a fraction"),
        pytest.param({"k8s-0001": "0"}, {"k8s-0001": 0}, id="a name"),
        pytest.param({"[fd00::1]:9100": "1"}, {"fd00::1": 1}, id="IPv6"),
        pytest.param({"a:1": "3", "a:2": "5", "a": "4"}, {"a": 5}, id="the larger of one host"),
        pytest.param({"a": "NaN", "b": "-1"}, {}, id="no numbers"),
        pytest.param({"a": "+Inf", "b": "1e300"}, {"a": 2**63 - 1, "b": 2**63 - 1}, id="too large"),
        pytest.param({"": "1"}, {}, id="no label"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_what_prometheus_measures(
    prometheus: StubPrometheus, values: Mapping[str, str], found: Mapping[str, int]
) -> None:
    prometheus.values = values
    assert asking(prometheus.address).measure() == found
    assert prometheus.queries == ["up"]


def test_values_are_scaled_and_the_label_is_chosen(prometheus: StubPrometheus) -> None:
    prometheus.values, prometheus.label = {"k8s-0001": "0.2519"}, "node"
    source = PrometheusQuery(url=prometheus.address, query="up", node_label="node", scale=1000)
    assert source.measure() == {"k8s-0001": 251}


@given(st.text())
def test_any_label_value_names_a_host(text: str) -> None:
    assert isinstance(host_of(text), str)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"status": 400, "body": b'{"status":"error","error":"parse error"}'},
            "HTTP 400: parse error",
            id="rejected",
        ),
        pytest.param({"status": 502, "body": b"<html>"}, "HTTP 502: no reason given", id="a proxy's page"),
        pytest.param({"body": b"<html>"}, "no answer to a query", id="another server"),
        pytest.param({"body": b'{"data": {"resultType": "scalar"}}'}, "no answer to a query", id="no vector"),
    ],
)
def test_answers_that_cannot_be_used(
    prometheus: StubPrometheus, changes: Mapping[str, Any], message: str
) -> None:
    for name, value in changes.items():
        setattr(prometheus, name, value)
    with pytest.raises(MeasurementError, match=message):
        asking(prometheus.address).measure()


def test_a_token_is_read_again_at_each_query(prometheus: StubPrometheus, tmp_path: Path) -> None:
    token = tmp_path / "token"
    source = asking(prometheus.address, bearer_token_file=str(token), headers={"X-Scope-OrgID": "team"})
    for text in ("first\n", "second"):
        token.write_text(text)
        source.measure()
    assert [one["authorization"] for one in prometheus.headers] == ["Bearer first", "Bearer second"]
    assert {one["x-scope-orgid"] for one in prometheus.headers} == {"team"}


def test_basic_authentication(prometheus: StubPrometheus, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("open sesame\n")
    asking(prometheus.address, username="ali", password_file=str(tmp_path / "password")).measure()
    assert prometheus.headers[0]["authorization"] == f"Basic {b64encode(b'ali:open sesame').decode()}"


def test_an_answer_has_so_many_bytes_at_most(
    prometheus: StubPrometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.measurements.http.ANSWER_BYTES", 1_000)
    prometheus.body = b" " * 1_001
    with pytest.raises(MeasurementError, match="the answer has more than 1000 bytes"):
        asking(prometheus.address).measure()


def test_credentials_are_not_sent_on(prometheus: StubPrometheus, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    with stub_prometheus(StubPrometheus()) as elsewhere:
        prometheus.redirect = elsewhere.address
        asking(
            prometheus.address, bearer_token_file=str(tmp_path / "token"), headers={"X-Key": "k"}
        ).measure()
        assert prometheus.headers[0]["authorization"] == "Bearer secret"
        assert not {"authorization", "x-key"} & set(elsewhere.headers[0])


def test_redirects_without_end(prometheus: StubPrometheus) -> None:
    prometheus.redirect = prometheus.address
    with pytest.raises(MeasurementError, match="more than 10 redirects"):
        asking(prometheus.address).measure()


def test_a_file_that_is_not_there_is_named(prometheus: StubPrometheus) -> None:
    with pytest.raises(MeasurementError, match="No such file or directory: 'absent'"):
        asking(prometheus.address, bearer_token_file="absent").measure()
    assert prometheus.queries == []


def test_a_token_of_two_lines_is_not_told(prometheus: StubPrometheus, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sec\nret")
    with pytest.raises(MeasurementError, match="isn't one line of plain text") as rejected:
        asking(prometheus.address, bearer_token_file=str(tmp_path / "token")).measure()
    assert "sec" not in str(rejected.value)


def test_only_a_certificate_of_the_named_authority_will_do(tmp_path: Path) -> None:
    """A trusted certificate need not be a root, as in Go."""
    other = Authority(tmp_path / "other")
    ours = other.intermediate(tmp_path / "ours")
    with stub_prometheus(StubPrometheus(values={"a": 1}), ours.issue("prometheus")) as stub:
        assert asking(stub.address, ca_file=str(ours.certificate)).measure() == {"a": 1}
        for files in ({"ca_file": str(other.certificate)}, {}):
            # The server shows no certificate of its authority.
            with pytest.raises(MeasurementError, match="CERTIFICATE_VERIFY_FAILED"):
                asking(stub.address, **files).measure()


def test_nobody_listens() -> None:
    with stub_prometheus(StubPrometheus()) as gone:
        pass
    with pytest.raises(MeasurementError, match="refused"):
        asking(gone.address).measure()


@pytest.mark.parametrize(
    ("document", "under", "found"),
    [
        pytest.param({"a": 1, "b": 2.9}, "", {"a": 10, "b": 29}, id="the document"),
        pytest.param({"data": {"nodes": {"a": 1}}}, "data.nodes", {"a": 10}, id="an object in it"),
        pytest.param({"a": "1", "b": None, "c": True, "d": -1, "e": [1]}, "", {}, id="no numbers"),
        pytest.param({"a": 1e300}, "", {"a": 2**63 - 1}, id="too large"),
    ],
)
def test_json_over_http(
    prometheus: StubPrometheus, document: Any, under: str, found: Mapping[str, int]
) -> None:
    prometheus.body = json.dumps(document).encode()
    url = f"{prometheus.address}/api/v1/query?query=x"
    assert HttpJson(url=url, under=under, scale=10).measure() == found


@pytest.mark.parametrize(
    ("body", "under", "message"),
    [
        pytest.param(b"[1]", "", "no answer to a query", id="a list"),
        pytest.param(b'{"a": {"b": 1}}', "a.c", "no object under 'a.c'", id="nothing there"),
        pytest.param(b'{"a": 1}', "a.b", "no object under 'a.b'", id="a number on the way"),
    ],
)
def test_json_that_cannot_be_used(prometheus: StubPrometheus, body: bytes, under: str, message: str) -> None:
    prometheus.body = body
    with pytest.raises(MeasurementError, match=message):
        HttpJson(url=f"{prometheus.address}/api/v1/query?query=x", under=under).measure()


def test_a_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "load.yaml"
    source = MeasurementFile(path=str(file))
    with pytest.raises(FileNotFoundError):
        source.measure()
    for text, found in (("a: 1\n", {"a": 1}), ('{"a": 2}', {"a": 2})):
        file.write_text(text)
        assert source.measure() == found


@pytest.mark.parametrize("text", ["a: -1\n", "a: 1.5\n", "a: true\n", f"a: {2**63}\n", "- a\n"])
def test_a_file_of_something_else(text: str, tmp_path: Path) -> None:
    file = tmp_path / "load.yaml"
    file.write_text(text)
    with pytest.raises(msgspec.ValidationError):
        MeasurementFile(path=str(file)).measure()


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        pytest.param(asking("http://p"), [], id="Prometheus"),
        pytest.param(PrometheusQuery(), ["name", "url", "query"], id="nothing given"),
        pytest.param(HttpJson(name="load", url="file:///etc/passwd"), ["url"], id="no web scheme"),
        pytest.param(
            HttpJson(name="load", url="http://p", access=HttpAccess(username="u")),
            ["access.passwordFile"],
            id="no password",
        ),
        pytest.param(MeasurementFunction(name="load", interval=timedelta(0)), ["interval"], id="no interval"),
        pytest.param(MeasurementFunction(name="load", timeout=timedelta(0)), ["timeout"], id="no time"),
        pytest.param(
            MeasurementFunction(name="load", max_age=timedelta(1 / 86400)), ["maxAge"], id="too old at once"
        ),
        pytest.param(
            MeasurementFunction(name="load", window=timedelta(-1)), ["window"], id="a window before zero"
        ),
    ],
)
def test_faults(source: MeasurementSource, paths: list[str]) -> None:
    assert [fault.path for fault in source.faults()] == paths
