import gc
import json
import logging
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.state import State
from mooring.config import load
from mooring.framework import Handle, Node, NodeView, Pod
from mooring.plugins.hello_world_plugin.args import HelloWorldPluginArgs
from mooring.plugins.hello_world_plugin.plugin import HelloWorldPlugin
from mooring.plugins.network_traffic.access import PrometheusAccess
from mooring.plugins.network_traffic.args import NetworkTrafficArgs
from mooring.plugins.network_traffic.monitor import BandwidthMonitor, RecentPods
from mooring.plugins.network_traffic.plugin import BandwidthScore, NetworkTraffic, NoMeasurementError
from mooring.plugins.network_traffic.sources import BandwidthFile, Prometheus, QueryError, host_of
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import make_node, make_pod
from tests.certificates import Authority
from tests.plugins.harness import RecordingBinder, SetClock, cluster, final_scores, make, raw_scores
from tests.plugins.stub_prometheus import StubPrometheus, stub_prometheus

LOGGER = logging.getLogger("mooring.plugins.NetworkTraffic")
NODES = [make_node("k8s-0001"), make_node("k8s-0002"), make_node("k8s-0003")]
NAMES = [node.metadata.name for node in NODES]


@pytest.fixture
def prometheus() -> Iterator[StubPrometheus]:
    with stub_prometheus(StubPrometheus()) as stub:
        yield stub


@dataclass
class Bench:
    """A plugin over a state of its own, with everything that a test looks at."""

    state: State = field(default_factory=State)
    clock: SetClock = field(default_factory=SetClock)
    events: Counter[str] = field(default_factory=Counter)

    def handle(self) -> Handle:
        return Handle(
            snapshot=lambda: self.state.snapshot,
            binder=RecordingBinder(),
            clock=self.clock,
            logger=LOGGER,
            count=lambda plugin, event: self.events.update([f"{plugin} {event}"]),
        )

    def load(self, *objects: Node | Pod) -> None:
        self.state.replace("test", objects)

    def view(self) -> NodeView:
        return NodeView(self.state.snapshot, self.state.snapshot.nodes.rows())


@pytest.mark.parametrize(
    ("content", "raw", "final"),
    [
        pytest.param(
            "k8s-0001: 500\nk8s-0002: 1000\nk8s-0003: 0\n", (500, 1000, 0), (50, 0, 100), id="quiet wins"
        ),
        pytest.param('{"k8s-0001": 1, "k8s-0002": 3, "k8s-0003": 3}', (1, 3, 3), (67, 0, 0), id="JSON"),
        pytest.param(
            "k8s-0001: 500\nk8s-0002: 1000\n", (500, 1000, 1000), (50, 0, 0), id="unknown is busiest"
        ),
        pytest.param("k8s-0001: 0\nother: 7\n", (0, 7, 7), (100, 0, 0), id="busiest of all that are known"),
        pytest.param("k8s-0001: 0\nk8s-0002: 0\nk8s-0003: 0\n", (0, 0, 0), (100, 100, 100), id="all silent"),
        pytest.param("{}", (0, 0, 0), (100, 100, 100), id="nothing known"),
        pytest.param("k8s-0001: -1\n", (0, 0, 0), (100, 100, 100), id="malformed: a negative number"),
        pytest.param("k8s-0001: 1.5\n", (0, 0, 0), (100, 100, 100), id="malformed: a fraction"),
        pytest.param("[", (0, 0, 0), (100, 100, 100), id="malformed: no YAML"),
        pytest.param(
            f"k8s-0001: {2**63 - 1}\nk8s-0002: {2**62}\nk8s-0003: 1\n",
            (2**63 - 1, 2**62, 1),
            (0, 50, 100),
            id="the largest numbers",
        ),
    ],
)
@pytest.mark.parametrize(
    ("kind", "args"),
    [
        pytest.param(NetworkTraffic, NetworkTrafficArgs, id="NetworkTraffic"),
        pytest.param(HelloWorldPlugin, HelloWorldPluginArgs, id="HelloWorldPlugin"),
    ],
)
def test_scores(
    tmp_path: Path,
    kind: type[BandwidthScore[Any]],
    args: Callable[..., NetworkTrafficArgs],
    content: str,
    raw: tuple[int, ...],
    final: tuple[int, ...],
) -> None:
    file = tmp_path / "bandwidth.yaml"
    file.write_text(content)
    plugin = make(kind, args(bandwidth_file=str(file)))
    view = cluster(*NODES)
    assert raw_scores(plugin, make_pod(), view) == dict(zip(NAMES, raw, strict=True))
    assert final_scores(plugin, make_pod(), view) == dict(zip(NAMES, final, strict=True))


def test_without_a_source_all_score_alike_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    plugin = make(HelloWorldPlugin, HelloWorldPluginArgs(xxx="xxx", yyy="123", zzz=3))
    assert set(final_scores(plugin, make_pod(), cluster(*NODES)).values()) == {100}
    assert "neither prometheusAddress nor bandwidthFile is given" in caplog.text


@pytest.mark.parametrize("level", [3, 4])
def test_log_lines_of_nodes_come_at_level_4(
    level: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO - level, LOGGER.name)
    file = tmp_path / "bandwidth.yaml"
    file.write_text("k8s-0001: 1200\nk8s-0002: 2400\n")
    plugin = make(NetworkTraffic, NetworkTrafficArgs(bandwidth_file=str(file)))
    final_scores(plugin, make_pod(), cluster(*NODES))
    lines = [
        "[NetworkTraffic] node 'k8s-0003' has no bandwidth measure, taken as the busiest: 2400",
        "[NetworkTraffic] node 'k8s-0002' bandwidth: 2400",
        "[NetworkTraffic] node 'k8s-0001' bandwidth: 1200",
        "[NetworkTraffic] Nodes final score: [{k8s-0003 0} {k8s-0002 0} {k8s-0001 50}]",
    ]
    assert caplog.messages == (lines if level == 4 else [])


SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        pytest.param({}, [], id="the defaults"),
        pytest.param({"time_range_in_minutes": 0}, ["timeRangeInMinutes"], id="no time"),
        pytest.param({"prometheus_address": "https://[::1]:9090/prom"}, [], id="an address with a path"),
        pytest.param({"prometheus_address": "prometheus:9090"}, ["prometheusAddress"], id="no scheme"),
        pytest.param({"prometheus_address": "file:///etc/passwd"}, ["prometheusAddress"], id="no web scheme"),
        pytest.param({"prometheus_address": "http://"}, ["prometheusAddress"], id="no host"),
        pytest.param({"prometheus_address": "http://a:b"}, ["prometheusAddress"], id="no port"),
        pytest.param(
            {"prometheus_address": "http://p", "bandwidth_file": "f"}, ["bandwidthFile"], id="two sources"
        ),
        pytest.param({"node_label": "a) or (b"}, ["nodeLabel"], id="no label"),
        pytest.param({"refresh_period": 0 * SECOND}, ["refreshPeriod"], id="no period"),
        pytest.param({"max_age": SECOND}, ["maxAge"], id="too old before the next refresh"),
        pytest.param({"prometheus_address": "http://p", "query": "up"}, [], id="a query of one's own"),
        pytest.param({"query": "up"}, ["query"], id="nobody to ask"),
        pytest.param(
            {"prometheus_address": "http://p", "query": "up", "network_interface": "e", "transmit": True},
            ["networkInterface", "transmit"],
            id="a query and what it says",
        ),
        pytest.param({"username": "u", "password_file": "p"}, [], id="basic authentication"),
        pytest.param({"username": "u"}, ["passwordFile"], id="no password"),
        pytest.param({"password_file": "p"}, ["username"], id="no name"),
        pytest.param({"username": "u:v", "password_file": "p"}, ["username"], id="a colon"),
        pytest.param(
            {"username": "u", "password_file": "p", "bearer_token_file": "t"}, ["username"], id="two ways"
        ),
        pytest.param({"headers": {"X-Scope-OrgID": "team a"}}, [], id="a header"),
        pytest.param({"headers": {"X Y": "z", "A": "b\nc"}}, ["headers", "headers"], id="no headers"),
        pytest.param({"headers": {"authorization": "Bearer x"}}, ["headers"], id="a credential in the file"),
    ],
)
def test_args(args: Mapping[str, Any], paths: list[str]) -> None:
    assert [error.path for error in NetworkTrafficArgs(**args).validate()] == paths
    assert [error.path for error in HelloWorldPluginArgs(**args).validate()] == paths


RECEIVED = 'rate(node_network_receive_bytes_total{device="eth0"}[5m])'
SENT = 'rate(node_network_transmit_bytes_total{device="eth0"}[5m])'


@pytest.mark.parametrize(
    ("changes", "query"),
    [
        pytest.param({}, f"sum by (instance) ({RECEIVED})", id="received"),
        pytest.param(
            {"transmit": True}, f"sum by (instance) ({RECEIVED}) + sum by (instance) ({SENT})", id="both ways"
        ),
        pytest.param({"label": "node"}, f"sum by (node) ({RECEIVED})", id="another label"),
        pytest.param(
            {"interface": "", "minutes": 1},
            'sum by (instance) (rate(node_network_receive_bytes_total{device!="lo"}[1m]))',
            id="every interface",
        ),
        pytest.param(
            {"interface": 'a"b\\c'},
            'sum by (instance) (rate(node_network_receive_bytes_total{device="a\\"b\\\\c"}[5m]))',
            id="quotes",
        ),
    ],
)
def test_one_query_for_all_nodes(prometheus: StubPrometheus, changes: Mapping[str, Any], query: str) -> None:
    source = Prometheus(prometheus.address, "eth0", 5, transmit=False, label="instance", seconds=30)
    replace(source, **changes).measure()
    assert prometheus.queries == [query]


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
    assert (
        Prometheus(prometheus.address, "", 5, transmit=False, label="instance", seconds=30).measure() == found
    )


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
    source = Prometheus(prometheus.address, "", 5, transmit=False, label="instance", seconds=30)
    with pytest.raises(QueryError, match=message):
        source.measure()


def asking(address: str, **access: Any) -> Prometheus:
    return Prometheus(
        address, "", 5, transmit=False, label="instance", seconds=30, access=PrometheusAccess(**access)
    )


def test_a_query_of_ones_own_takes_the_place_of_ours(prometheus: StubPrometheus) -> None:
    prometheus.values, prometheus.label = {"k8s-0001": 7}, "node"
    args = NetworkTrafficArgs(prometheus_address=prometheus.address, query="my_rate", node_label="node")
    bench = Bench()
    bench.load(*NODES)
    plugin = NetworkTraffic(args, bench.handle())
    assert plugin.monitor.source.measure() == {"k8s-0001": 7}
    assert set(prometheus.queries) == {"my_rate"}


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
    monkeypatch.setattr("mooring.plugins.network_traffic.sources.ANSWER_BYTES", 1_000)
    prometheus.body = b" " * 1_001
    with pytest.raises(QueryError, match="the answer has more than 1000 bytes"):
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
    with pytest.raises(QueryError, match="more than 10 redirects"):
        asking(prometheus.address).measure()


def test_a_file_that_is_not_there_is_named(prometheus: StubPrometheus) -> None:
    with pytest.raises(QueryError, match="No such file or directory: 'absent'"):
        asking(prometheus.address, bearer_token_file="absent").measure()
    assert prometheus.queries == []


def test_a_token_of_two_lines_is_not_told(prometheus: StubPrometheus, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sec\nret")
    with pytest.raises(QueryError, match="isn't one line of plain text") as rejected:
        asking(prometheus.address, bearer_token_file=str(tmp_path / "token")).measure()
    assert "sec" not in str(rejected.value)


def test_the_file_says_who_asks() -> None:
    given = {
        "prometheusAddress": "https://p",
        "caFile": "ca",
        "headers": {"X-Scope-OrgID": "t"},
        "query": "up",
    }
    profile = {
        "plugins": {"score": {"enabled": [{"name": "NetworkTraffic"}]}},
        "pluginConfig": [{"name": "NetworkTraffic", "args": given}],
    }
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    loaded = load(json.dumps({**head, "profiles": [profile]}), new_in_tree_registry().catalog())
    (args,) = [one.args for one in loaded.document.profiles[0].plugin_config if one.name == "NetworkTraffic"]
    assert args == NetworkTrafficArgs(
        prometheus_address="https://p", ca_file="ca", headers={"X-Scope-OrgID": "t"}, query="up"
    )


def test_only_a_certificate_of_the_named_authority_will_do(tmp_path: Path) -> None:
    """Also of one that is no root, as for Go."""
    other = Authority(tmp_path / "other")
    ours = other.intermediate(tmp_path / "ours")
    with stub_prometheus(StubPrometheus(values={"a": 1}), ours.issue("prometheus")) as stub:
        assert asking(stub.address, ca_file=str(ours.certificate)).measure() == {"a": 1}
        for files in ({"ca_file": str(other.certificate)}, {}):
            # The server doesn't show by whom its authority is vouched for.
            with pytest.raises(QueryError, match="CERTIFICATE_VERIFY_FAILED"):
                asking(stub.address, **files).measure()


def test_nobody_listens() -> None:
    with stub_prometheus(StubPrometheus()) as gone:
        pass
    source = Prometheus(gone.address, "", 5, transmit=False, label="instance", seconds=30)
    with pytest.raises(QueryError, match="refused"):
        source.measure()


def test_nodes_are_found_by_name_or_address(prometheus: StubPrometheus) -> None:
    prometheus.values = {"10.0.0.1:9100": 10, "k8s-0002": 20, "10.0.0.2:9100": 99, "fd00::3": 30}
    addresses = [("10.0.0.1",), ("10.0.0.2",), ("10.0.0.9", "fd00::3")]
    nodes = [
        make_node(name, status={"addresses": [{"type": "InternalIP", "address": ip} for ip in ips]})
        for name, ips in zip(NAMES, addresses, strict=True)
    ]
    plugin = make(NetworkTraffic, NetworkTrafficArgs(prometheus_address=prometheus.address))
    assert raw_scores(plugin, make_pod(), cluster(*nodes)) == dict(zip(NAMES, (10, 20, 30), strict=True))


def refreshing(bench: Bench, prometheus: StubPrometheus, **args: Any) -> NetworkTraffic:
    """A plugin that has asked once; the next refresh is the test's."""
    given = {"refresh_period": timedelta(hours=1), "max_age": timedelta(hours=1), **args}
    plugin = NetworkTraffic(
        NetworkTrafficArgs(prometheus_address=prometheus.address, **given), bench.handle()
    )
    raw_scores(plugin, make_pod(), bench.view())
    return plugin


def test_prometheus_down_then_the_last_values_then_all_equal(
    prometheus: StubPrometheus, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    bench.load(*NODES)
    prometheus.values = dict(zip(NAMES, (1, 2, 3), strict=True))
    plugin = refreshing(bench, prometheus)
    prometheus.status = 503
    plugin.monitor.refresh()
    assert list(raw_scores(plugin, make_pod(), bench.view()).values()) == [1, 2, 3]
    assert f"error getting node bandwidth measure: {prometheus.address}: HTTP 503" in caplog.text
    bench.clock.seconds += 3601
    assert set(final_scores(plugin, make_pod(), bench.view()).values()) == {100}
    prometheus.status, prometheus.values = 200, dict(zip(NAMES, (3, 2, 1), strict=True))
    plugin.monitor.refresh()
    assert list(raw_scores(plugin, make_pod(), bench.view()).values()) == [3, 2, 1]
    assert bench.events == {
        "NetworkTraffic refreshed": 2,
        "NetworkTraffic refresh_failed": 1,
        "NetworkTraffic scored_without_measurement": 1,
    }
    assert len(prometheus.queries) == 3


def test_a_decision_fails_without_measurements_where_the_args_ask_for_it(prometheus: StubPrometheus) -> None:
    bench = Bench()
    bench.load(*NODES)
    plugin = refreshing(bench, prometheus, fail_without_metrics=True)
    prometheus.status = 500
    plugin.monitor.refresh()
    raw_scores(plugin, make_pod(), bench.view())
    bench.clock.seconds += 3601
    with pytest.raises(NoMeasurementError, match=r"error getting node bandwidth measure: .* HTTP 500"):
        raw_scores(plugin, make_pod(), bench.view())


def test_pods_that_came_since_are_not_forgotten(prometheus: StubPrometheus) -> None:
    bench = Bench()
    old = [make_pod(f"old-{name}", node=name) for name in NAMES]
    bench.load(*NODES, *old)
    prometheus.values = dict(zip(NAMES, (100, 200, 300), strict=True))
    plugin = refreshing(bench, prometheus, time_range_in_minutes=1)

    def raw() -> list[int]:
        return list(raw_scores(plugin, make_pod(), bench.view()).values())

    assert raw() == [100, 200, 300]
    for at in range(2):
        bench.state.assume(make_pod(f"new-{at}"), "k8s-0001")
    assert raw() == [100 + 2 * 200, 200, 300]  # the mean of three pods is 200
    bench.clock.seconds += 15
    plugin.monitor.refresh()
    assert raw() == [100 + 2 * 120, 200, 300]  # just noted: all of the mean of five pods, 120
    bench.clock.seconds += 30
    plugin.monitor.refresh()
    assert raw() == [100 + 120, 200, 300]  # half of the minute has passed
    bench.clock.seconds += 30
    plugin.monitor.refresh()
    assert raw() == [100, 200, 300]
    bench.load(*NODES, *old[1:])
    assert raw() == [100, 200, 300]


def test_a_burst_does_not_run_to_one_node(prometheus: StubPrometheus) -> None:
    bench = Bench()
    bench.load(*NODES, *(make_pod(f"old-{at}", node=NAMES[at % 3]) for at in range(6)))
    prometheus.values = dict(zip(NAMES, (90, 100, 110), strict=True))
    plugin = refreshing(bench, prometheus)
    placed: Counter[str] = Counter()
    for at in range(9):
        scores = raw_scores(plugin, make_pod(), bench.view())
        quietest = min(scores, key=lambda name: scores[name])
        bench.state.assume(make_pod(f"burst-{at}"), quietest)
        placed[quietest] += 1
    assert placed == dict.fromkeys(NAMES, 3)


@given(
    st.lists(st.tuples(st.integers(0, 100), st.lists(st.integers(0, 9), max_size=4)), min_size=1, max_size=6)
)
def test_no_pod_counts_more_than_once_nor_longer_than_the_window(
    refreshes: list[tuple[int, list[int]]],
) -> None:
    recent, now, width = RecentPods(60), 0.0, 0
    arrivals: Counter[int] = Counter()
    before: list[int] | None = None
    for pause, counts in refreshes:
        now += pause
        width = max(width, len(counts))
        grown = counts + [0] * (width - len(counts))
        if before is not None:
            old = before + [0] * (width - len(before))
            arrivals.update({row: max(0, grown[row] - old[row]) for row in range(width)})
        before = grown
        missing = recent.missing(now, np.array(grown, np.int64))
        assert all(0 <= missing[row] <= arrivals[row] for row in range(width))
    assert not recent.missing(now + 61, np.array(before, np.int64)).any()


@dataclass
class Scripted:
    """A source whose next answer a test sets."""

    answer: Mapping[str, int] | Exception = field(default_factory=dict)
    asked: threading.Event = field(default_factory=threading.Event)

    def measure(self) -> Mapping[str, int]:
        self.asked.set()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_values_are_refreshed_in_the_background_as_long_as_somebody_reads() -> None:
    source, bench = Scripted({"a": 1}), Bench()
    monitor = BandwidthMonitor(source, bench.handle(), "NetworkTraffic", 60, refresh_period=0.001, max_age=60)
    before = set(threading.enumerate())
    found = monitor.latest()
    assert found is not None
    assert found.bandwidth == {"a": 1}
    (thread,) = set(threading.enumerate()) - before
    source.asked.clear()
    assert source.asked.wait(timeout=30)
    del monitor
    gc.collect()
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_nobody_waits_for_a_source_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.plugins.network_traffic.monitor.FIRST_SECONDS", 0.01)
    release = threading.Event()

    class Hanging:
        def measure(self) -> Mapping[str, int]:
            release.wait(timeout=30)
            return {}

    monitor = BandwidthMonitor(
        Hanging(), Bench().handle(), "NetworkTraffic", 60, refresh_period=60, max_age=60
    )
    assert monitor.latest() is None
    release.set()


def test_a_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "bandwidth.yaml"
    source = BandwidthFile(file)
    with pytest.raises(FileNotFoundError):
        source.measure()
    file.write_text("a: 1\n")
    assert source.measure() == {"a": 1}
    file.write_text("a: 2\n")
    assert source.measure() == {"a": 2}
