"""The calls of an extender over HTTP: what is sent, and what comes of the answers."""

from __future__ import annotations

import base64
import gzip
import json
import ssl
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mooring.config.types import ExtenderStanza, ExtenderTLS
from mooring.framework import Pod
from mooring.framework.certificates import verify_as_go
from mooring.framework.errors import InvalidArgumentError, PluginFailureError, PluginUnavailableError
from mooring.framework.preemption import Candidate
from mooring.runtime.profiles.extender import FilterAnswer, MetaVictims
from mooring.scheduler.extender import HttpExtender, build_transport
from mooring.testing.builders import make_node, make_pod
from tests.certificates import Authority, Pair

from .extenders import http_extender, stanza
from .world import World

POD = make_pod()


class Documents:
    """Implements ``StoredManifests``."""

    def pod(self, pod: Pod) -> bytes:
        return json.dumps({"metadata": {"uid": pod.metadata.uid}}).encode()

    def node(self, name: str) -> bytes:
        return json.dumps({"metadata": {"name": name}}).encode()


def client(given: ExtenderStanza) -> HttpExtender:
    return HttpExtender(given, build_transport(given, "extenders[0]"), Documents())


SENT_POD = {"metadata": {"uid": POD.metadata.uid}}
SENT_NODES = {"metadata": {}, "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}
VICTIMS = [Candidate("a", (make_pod("v", node="a"),), 1)]
META_VICTIMS = {"a": {"Pods": [{"UID": VICTIMS[0].victims[0].metadata.uid}], "NumPDBViolations": 1}}
WHOLE_VICTIMS = {
    "a": {"Pods": [{"metadata": {"uid": VICTIMS[0].victims[0].metadata.uid}}], "NumPDBViolations": 1}
}


@pytest.mark.parametrize(
    ("capable", "verb", "ask", "answer", "sent"),
    [
        pytest.param(
            True,
            "filter",
            lambda one: one.filter(POD, ["a", "b"]),
            {},
            {"Pod": SENT_POD, "Nodes": None, "NodeNames": ["a", "b"]},
            id="filter by name",
        ),
        pytest.param(
            False,
            "filter",
            lambda one: one.filter(POD, ["a", "b"]),
            {},
            {"Pod": SENT_POD, "Nodes": SENT_NODES, "NodeNames": None},
            id="filter by node",
        ),
        pytest.param(
            True,
            "prioritize",
            lambda one: one.prioritize(POD, ["a", "b"]),
            [],
            {"Pod": SENT_POD, "Nodes": None, "NodeNames": ["a", "b"]},
            id="prioritize",
        ),
        pytest.param(
            True,
            "bind",
            lambda one: one.bind(POD, "a"),
            {},
            {"PodName": "pod", "PodNamespace": "default", "PodUID": POD.metadata.uid, "Node": "a"},
            id="bind",
        ),
        pytest.param(
            True,
            "preempt",
            lambda one: one.process_preemption(POD, VICTIMS),
            {},
            {"Pod": SENT_POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": META_VICTIMS},
            id="preempt by UID",
        ),
        pytest.param(
            False,
            "preempt",
            lambda one: one.process_preemption(POD, VICTIMS),
            {},
            {"Pod": SENT_POD, "NodeNameToVictims": WHOLE_VICTIMS, "NodeNameToMetaVictims": None},
            id="preempt by pod",
        ),
    ],
)
def test_requests(
    capable: bool, verb: str, ask: Callable[[HttpExtender], object], answer: Any, sent: dict[str, Any]
) -> None:
    with http_extender({verb: answer}) as running:
        ask(client(stanza(f"{running.url}/", verb, node_cache_capable=capable)))
    assert running.requests == [(verb, sent)]
    assert list(running.requests[0][1]) == list(sent), "in Go's order"


NODES = {"Items": [{"Metadata": {"NAME": "a"}}]}


@pytest.mark.parametrize(
    ("capable", "answer", "wanted"),
    [
        pytest.param(True, {"NodeNames": ["b"]}, FilterAnswer(["b"]), id="names"),
        pytest.param(True, {"nodenames": ["b"], "nodes": NODES}, FilterAnswer(["b"]), id="names win"),
        pytest.param(True, {"NodeNames": [], "Nodes": NODES}, FilterAnswer([]), id="no names are names"),
        pytest.param(True, {"NodeNames": None, "NODES": NODES}, FilterAnswer(["a"]), id="nodes instead"),
        pytest.param(False, {"NodeNames": ["b"], "nodes": NODES}, FilterAnswer(["a"]), id="nodes alone"),
        pytest.param(True, {"Nodes": None, "Error": None}, FilterAnswer([]), id="nothing"),
        pytest.param(True, None, FilterAnswer([]), id="null"),
        pytest.param(
            True,
            {"failedNODES": {"B": "no"}, "failedAndUnresolvableNodes": {"a": "never"}, "more": 1},
            FilterAnswer([], {"B": "no"}, {"a": "never"}),
            id="any casing but that of nodes",
        ),
        pytest.param(
            True, b'{"NodeNames":["a"],"nodeNames":["b"]}', FilterAnswer(["b"]), id="the last counts"
        ),
    ],
)
def test_answers_to_filter(capable: bool, answer: Any, wanted: FilterAnswer) -> None:
    with http_extender({"filter": answer}) as running:
        extender = client(stanza(running.url, "filter", node_cache_capable=capable))
        assert extender.filter(POD, ["a", "b"]) == wanted


def test_extender_scores() -> None:
    """The case of that name: nodes of an answer are scored with the pods that they have."""
    busy = make_node("busy", allocatable={"cpu": "8", "memory": "16Gi", "pods": "110"})
    idle = make_node("idle", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})
    with http_extender({"filter": lambda body: {"Nodes": body["Nodes"]}}) as running:
        passing = client(stanza(running.url, "filter", node_cache_capable=False))
        world = World(nodes=[busy, idle], extenders=[passing])
        world.add(make_pod("filler", node="busy", requests={"cpu": "6", "memory": "12Gi"}))
        world.add(make_pod("web", requests={"cpu": "1", "memory": "2Gi"}))
        assert world.cluster.node_of("web") == "idle"


@pytest.mark.parametrize(
    ("verb", "answer", "said"),
    [
        pytest.param("filter", {"Error": "no such thing"}, "no such thing", id="an error"),
        pytest.param(
            "filter",
            {"NodeNames": ["a", "z"]},
            'extender "{url}" claims a filtered node "z" which is not found in the input node list',
            id="a node that was not asked about",
        ),
        pytest.param("filter", 201, "failed filter with extender at URL {url}/filter, code 201", id="201"),
        pytest.param("filter", 500, "failed filter with extender at URL {url}/filter, code 500", id="500"),
        pytest.param("filter", 308, "failed filter with extender at URL {url}/filter, code 308", id="308"),
        pytest.param("filter", b"", "the answer is empty", id="an empty answer"),
        pytest.param("filter", b"<html>", "the answer is not JSON", id="no JSON"),
        pytest.param("filter", b'{"Error":"\xff"}', "the answer is not JSON", id="no UTF-8"),
        pytest.param("filter", b"[" * 100_000, "the answer is not JSON", id="too deep"),
        pytest.param("filter", {"NodeNames": "a"}, "NodeNames must be a list", id="a name for a list"),
        pytest.param("filter", {"Nodes": []}, "Nodes must be an object", id="a list for an object"),
        pytest.param("filter", {"FailedNodes": {"a": 1}}, "FailedNodes must be a string", id="a reason"),
        pytest.param("prioritize", {}, "the answer must be a list", id="no list"),
        pytest.param("prioritize", [{"Host": "a", "Score": 5.0}], "Score must be a whole", id="a float"),
        pytest.param("prioritize", [{"Host": "a", "Score": "5"}], "Score must be a whole", id="a string"),
        pytest.param("prioritize", [{"Host": "a", "Score": True}], "Score must be a whole", id="a bool"),
        pytest.param("prioritize", [{"Host": "a", "Score": 2**63}], "Score must be a whole", id="too high"),
        pytest.param("bind", 404, "failed bind with extender at URL {url}/bind, code 404", id="bind"),
        pytest.param("preempt", {"NodeNameToMetaVictims": []}, "must be an object", id="preempt"),
    ],
)
def test_failures(verb: str, answer: Any, said: str) -> None:
    calls: dict[str, Callable[[HttpExtender], object]] = {
        "filter": lambda one: one.filter(POD, ["a", "b"]),
        "prioritize": lambda one: one.prioritize(POD, ["a"]),
        "bind": lambda one: one.bind(POD, "a"),
        "preempt": lambda one: one.process_preemption(POD, VICTIMS),
    }
    with http_extender({verb: answer}) as running, pytest.raises(PluginFailureError) as raised:
        calls[verb](client(stanza(running.url, verb)))
    assert said.format(url=running.url) in raised.value.message
    assert raised.value.metadata["plugin"] == running.url


def test_other_answers() -> None:
    scores = [{"host": "a", "score": 7}, {"HOST": "a", "Score": -1}, {"Host": None, "Score": None}]
    victims = {"nodeNameToMetaVictims": {"A": {"pods": [{"uid": "u"}], "numpdbviolations": 2}, "b": None}}
    answers = {"prioritize": scores, "preempt": victims, "bind": {"error": "taken"}}
    with http_extender(answers) as running:
        extender = client(stanza(running.url, *answers))
        assert extender.prioritize(POD, ["a"]) == [("a", 7), ("a", -1), ("", 0)]
        found = {"A": MetaVictims(["u"], 2), "b": MetaVictims([], 0)}
        assert extender.process_preemption(POD, VICTIMS) == found
        assert extender.bind(POD, "a").reasons == ("taken",)


def container(**resources: dict[str, str]) -> dict[str, Any]:
    return {"name": "c", "resources": resources}


@pytest.mark.parametrize(
    ("manages", "spec", "interested"),
    [
        pytest.param([], {}, True, id="all resources"),
        pytest.param(["example.com/a"], {"containers": [container()]}, False, id="none asked for"),
        pytest.param(
            ["example.com/a"],
            {"containers": [container(requests={"example.com/a": "0"})]},
            True,
            id="a request of none",
        ),
        pytest.param(
            ["example.com/a", "example.com/b"],
            {"containers": [container(), container(limits={"example.com/b": "0"})]},
            True,
            id="a limit",
        ),
        pytest.param(
            ["example.com/a"],
            {"containers": [container()], "initContainers": [container(requests={"example.com/a": "1"})]},
            True,
            id="an init container",
        ),
        pytest.param(
            ["example.com/a"], {"containers": [], "overhead": {"example.com/a": "1"}}, False, id="overhead"
        ),
    ],
)
def test_interest(manages: list[str], spec: dict[str, Any], interested: bool) -> None:
    assert client(stanza("http://x", manages=manages)).is_interested(make_pod(spec=spec)) is interested


def test_connections_are_used_again() -> None:
    with http_extender({"filter": {}, "bind": 500}) as running:
        extender = client(stanza(running.url, "filter", "bind"))
        for _ in range(3):
            extender.filter(POD, ["a"])
            with pytest.raises(PluginFailureError):
                extender.bind(POD, "a")
    assert running.connections == 1


def test_nobody_listens() -> None:
    with http_extender({}) as running:
        pass
    extender = client(stanza(running.url, "filter"))
    with pytest.raises(PluginUnavailableError, match=f'^Post "{running.url}/filter": .*refused'):
        extender.filter(POD, ["a"])


def test_a_slow_extender_costs_its_timeout() -> None:
    answered = threading.Event()

    def wait(_: object) -> dict[str, Any]:
        answered.wait(30)
        return {}

    with http_extender({"filter": wait}) as running:
        extender = client(stanza(running.url, "filter", http_timeout=timedelta(seconds=0.1)))
        try:
            with pytest.raises(PluginUnavailableError, match=f'^Post "{running.url}/filter": .*timed out'):
                extender.filter(POD, ["a"])
            assert not answered.is_set()
        finally:
            answered.set()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """No root: as for Go, it is enough that it is given."""
    root = Authority(tmp_path_factory.mktemp("root"))
    return root.intermediate(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def server_pair(authority: Authority) -> Pair:
    return authority.issue("server", "DNS:extender.example")


@pytest.fixture(scope="module")
def client_pair(authority: Authority) -> Pair:
    return authority.issue("client")


def listening(pair: Pair, clients: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if clients:
        verify_as_go(context).load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def inline(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


@pytest.mark.parametrize(
    ("fields", "verified"),
    [
        pytest.param({}, False, id="system roots"),
        pytest.param({"enable_https": True}, True, id="enableHTTPS without a CA verifies nothing"),
        pytest.param({"enable_https": True, "tls": {"ca_file": "CA"}}, True, id="a CA"),
        pytest.param({"tls": {"ca_data": "CA"}}, True, id="a CA inline, without enableHTTPS"),
        pytest.param({"tls": {"ca_data": "CA", "ca_file": "/none"}}, True, id="inline wins"),
        pytest.param({"enable_https": True, "tls": {"ca_file": "OTHER"}}, False, id="another CA"),
        pytest.param({"tls": {"insecure": True}}, True, id="insecure"),
        pytest.param(
            {"tls": {"ca_file": "CA", "server_name": "extender.example"}},
            True,
            id="a name of the certificate",
        ),
        pytest.param({"tls": {"ca_file": "CA", "server_name": "other"}}, False, id="another name"),
    ],
)
def test_what_is_verified(
    fields: dict[str, Any], verified: bool, authority: Authority, server_pair: Pair, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "other").certificate
    known = {"CA": authority.certificate, "OTHER": other}
    tls: dict[str, Any] = {
        name: (inline(known[value]) if name.endswith("data") else str(known[value]))
        if value in known
        else value
        for name, value in fields.get("tls", {}).items()
    }
    with http_extender({"filter": {}}, listening(server_pair)) as running:
        given = stanza(
            running.url,
            "filter",
            enable_https=fields.get("enable_https", False),
            tls_config=ExtenderTLS(**tls) if tls else None,
        )
        if verified:
            client(given).filter(POD, ["a"])
        else:
            with pytest.raises(PluginFailureError, match=r"(?i)certificate"):
                client(given).filter(POD, ["a"])


@pytest.mark.parametrize("whole", [pytest.param(True, id="files"), pytest.param(False, id="inline")])
def test_a_client_certificate(
    whole: bool, authority: Authority, server_pair: Pair, client_pair: Pair
) -> None:
    certificate, key = client_pair.certificate, client_pair.key
    own: dict[str, Any] = (
        {"cert_file": str(certificate), "key_file": str(key)}
        if whole
        else {"cert_data": inline(certificate), "key_data": inline(key)}
    )
    with http_extender({"filter": {}}, listening(server_pair, authority.certificate)) as running:
        authorities: dict[str, Any] = {"ca_file": str(authority.certificate)}
        client(stanza(running.url, "filter", tls_config=ExtenderTLS(**authorities, **own))).filter(POD, ["a"])
        with pytest.raises(PluginFailureError):
            client(stanza(running.url, "filter", tls_config=ExtenderTLS(**authorities))).filter(POD, ["a"])


@pytest.mark.parametrize(
    ("tls", "said"),
    [
        pytest.param({"ca_file": "/none"}, "extenders[0].tlsConfig: can't be used: ", id="no file"),
        pytest.param({"ca_data": "?"}, "extenders[0].tlsConfig: can't be used: inline data", id="no base64"),
        pytest.param({"ca_data": "AAAA"}, "extenders[0].tlsConfig: can't be used: ", id="no certificate"),
        pytest.param(
            {"ca_data": "AAAA", "insecure": True}, "extenders[0].tlsConfig.insecure: is true", id="both"
        ),
    ],
)
def test_faults_of_tls(tls: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        client(stanza("https://x", tls_config=ExtenderTLS(**tls)))
    assert str(raised.value).startswith(said)


def test_the_password_in_an_address_is_in_no_error() -> None:
    one = client(stanza("http://user:HUSH@127.0.0.1:1/x", "filter"))
    with pytest.raises(PluginFailureError) as raised:
        one.filter(POD, ["a"])
    assert "HUSH" not in f"{one.name} {raised.value} {raised.value.metadata}"
    assert "http://REDACTED@127.0.0.1:1/x/filter" in str(raised.value)


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        pytest.param("", None, id="nobody"),
        pytest.param("me:secret@", "me:secret", id="both"),
        pytest.param("me@", "me:", id="without a password"),
        pytest.param("m%40e:s%3Ac%2Fr%C3%A9t@", "m@e:s:c/rét", id="escaped"),
    ],
)
def test_a_user_in_the_address_is_sent_as_go_sends_it(user: str, sent: str | None) -> None:
    with http_extender({"filter": {}}) as running:
        client(stanza(running.url.replace("://", f"://{user}"), "filter")).filter(POD, ["a"])
    assert running.authorizations == [sent and f"Basic {base64.b64encode(sent.encode()).decode()}"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(gzip.compress(b'{"NodeNames":["a"]}'), ["a"], id="compressed"),
        pytest.param(gzip.compress(b'{"NodeNames":') + gzip.compress(b'["a"]}'), ["a"], id="in two members"),
        pytest.param(gzip.compress(b'{"NodeNames":["a"]}')[:-9], "is cut off", id="cut off"),
        pytest.param(b'{"NodeNames":["a"]}', "can't be decompressed", id="not compressed"),
    ],
)
def test_compressed_answers(body: bytes, found: list[str] | str) -> None:
    with http_extender({"filter": body}) as running:
        running.encoding = "gzip"
        extender = client(stanza(running.url, "filter"))
        if isinstance(found, list):
            assert extender.filter(POD, ["a"]).node_names == found
        else:
            with pytest.raises(PluginFailureError, match=found):
                extender.filter(POD, ["a"])


def test_what_a_small_answer_is_decompressed_to_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.scheduler.extender.transport.ANSWER_BYTES", 100_000)
    bomb = gzip.compress(b" " * 10_000_000)
    with http_extender({"filter": bomb}) as running:
        running.encoding = "gzip"
        with pytest.raises(PluginFailureError, match="the answer has more than 100000 bytes"):
            client(stanza(running.url, "filter")).filter(POD, ["a"])


def test_an_answer_has_so_many_values_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.scheduler.extender.wire.MOST_VALUES", 1_000)
    with (
        http_extender({"filter": {"x": [[]] * 1_000}}) as running,
        pytest.raises(PluginFailureError, match="the answer has more than 1000 values"),
    ):
        client(stanza(running.url, "filter")).filter(POD, ["a"])


def test_a_long_reason_is_cut() -> None:
    answer = {"NodeNames": [], "FailedNodes": {"a": "x" * 5_000}}
    with http_extender({"filter": answer}) as running:
        found = client(stanza(running.url, "filter")).filter(POD, ["a"])
    assert found.failed == {"a": "x" * 1_020 + " ..."}
