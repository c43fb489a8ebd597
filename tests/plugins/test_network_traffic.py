import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.state import State
from mooring.config import load
from mooring.framework import Handle, MeasurementSource, Node, NodeView, Pod
from mooring.measurements import MeasurementFunction
from mooring.plugins.hello_world_plugin.args import HelloWorldPluginArgs
from mooring.plugins.hello_world_plugin.plugin import HelloWorldPlugin
from mooring.plugins.network_traffic.args import NetworkTrafficArgs
from mooring.plugins.network_traffic.plugin import BandwidthScore, NetworkTraffic, NoMeasurementError
from mooring.runtime.measuring import Filler
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import make_node, make_pod
from tests.measurements.stub_prometheus import StubPrometheus, stub_prometheus
from tests.plugins.harness import RecordingBinder, SetClock, final_scores, make, raw_scores

LOGGER = logging.getLogger("mooring.plugins.NetworkTraffic")
NODES = [make_node("k8s-0001"), make_node("k8s-0002"), make_node("k8s-0003")]
NAMES = [node.metadata.name for node in NODES]


@pytest.fixture
def prometheus() -> Iterator[StubPrometheus]:
    with stub_prometheus(StubPrometheus()) as stub:
        yield stub


@dataclass
class Bench:
    """A plugin over a state of its own, with all objects that a test reads."""

    state: State = field(default_factory=State)
    clock: SetClock = field(default_factory=SetClock)
    events: Counter[str] = field(default_factory=Counter)

    def handle(self) -> Handle:
        return Handle(
            snapshot=lambda: self.state.snapshot,
            binder=RecordingBinder(),
            clock=self.clock,
            logger=LOGGER,
            assumptions=self.state,
            count=lambda plugin, event: self.events.update([f"{plugin} {event}"]),
        )

    def load(self, *objects: Node | Pod) -> None:
        self.state.replace("test", objects)

    def view(self) -> NodeView:
        return NodeView(self.state.snapshot, self.state.snapshot.nodes.rows())

    def measuring(self, plugin: BandwidthScore[Any]) -> Filler:
        """Return the thread that calls the plugin's source; it has called it once."""
        (source,) = plugin.measures()
        filler = Filler(source, plugin.name, self.handle())
        filler.refresh()
        return filler


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
    plugin, bench = make(kind, args(bandwidth_file=str(file))), Bench()
    bench.load(*NODES)
    bench.measuring(plugin)
    assert raw_scores(plugin, make_pod(), bench.view()) == dict(zip(NAMES, raw, strict=True))
    assert final_scores(plugin, make_pod(), bench.view()) == dict(zip(NAMES, final, strict=True))


MOST = 2**63 - 1


@given(
    st.dictionaries(st.sampled_from([*NAMES, "10.0.0.3", "elsewhere"]), st.integers(0, MOST)),
    st.lists(st.sampled_from(NAMES), max_size=5),
    st.lists(st.sampled_from(NAMES), max_size=5),
)
def test_scores_are_the_published_formula(
    values: dict[str, int], measured: list[str], new: list[str]
) -> None:
    """Bytes per second, those of the busiest if none are known, and the mean of a pod for each new one."""
    addresses = [{"type": "InternalIP", "address": "10.0.0.3"}]
    args = NetworkTrafficArgs(bandwidth_file="unread")
    plugin, bench, source = make(NetworkTraffic, args), Bench(), args.source()
    assert source is not None
    pods = [make_pod(f"old-{at}", node=name) for at, name in enumerate(measured)]
    bench.load(*NODES[:2], make_node(NAMES[2], status={"addresses": addresses}), *pods)
    filler = Filler(MeasurementFunction(**common(source), function=lambda: values), "test", bench.handle())
    filler.refresh()
    for at, name in enumerate(new):
        bench.state.assume(make_pod(f"new-{at}"), name)
    busiest, mean = max(values.values(), default=0), sum(values.values()) / max(1, len(measured))
    known = {**values, NAMES[2]: values.get(NAMES[2], values.get("10.0.0.3", busiest))}
    raw = [min(known.get(name, busiest) + int(min(new.count(name) * mean, 2.0**62)), MOST) for name in NAMES]
    final = [100 - 100 * each // max(raw) if max(raw) else 100 for each in raw]
    assert list(raw_scores(plugin, make_pod(), bench.view()).values()) == raw
    assert list(final_scores(plugin, make_pod(), bench.view()).values()) == final


def common(source: MeasurementSource) -> dict[str, Any]:
    """Return the arguments that all kinds of sources have."""
    return {each.name: getattr(source, each.name) for each in fields(MeasurementSource)}


def test_without_a_source_all_score_alike_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    plugin, bench = make(HelloWorldPlugin, HelloWorldPluginArgs(xxx="xxx", yyy="123", zzz=3)), Bench()
    bench.load(*NODES)
    assert plugin.measures() == ()
    assert set(final_scores(plugin, make_pod(), bench.view()).values()) == {100}
    assert "neither prometheusAddress nor bandwidthFile is given" in caplog.text


@pytest.mark.parametrize("level", [3, 4])
def test_log_lines_of_nodes_come_at_level_4(
    level: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO - level, LOGGER.name)
    file = tmp_path / "bandwidth.yaml"
    file.write_text("k8s-0001: 1200\nk8s-0002: 2400\n")
    plugin, bench = make(NetworkTraffic, NetworkTrafficArgs(bandwidth_file=str(file))), Bench()
    bench.load(*NODES)
    bench.measuring(plugin)
    final_scores(plugin, make_pod(), bench.view())
    lines = [
        "[NetworkTraffic] node 'k8s-0001' bandwidth: 1200",
        "[NetworkTraffic] node 'k8s-0002' bandwidth: 2400",
        "[NetworkTraffic] node 'k8s-0003' has no bandwidth measure, taken as the busiest: 2400",
        "[NetworkTraffic] Nodes final score: [50, 0, 0]",
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
        pytest.param({"node_label": "node"}, f"sum by (node) ({RECEIVED})", id="another label"),
        pytest.param(
            {"network_interface": "", "time_range_in_minutes": 1},
            'sum by (instance) (rate(node_network_receive_bytes_total{device!="lo"}[1m]))',
            id="every interface",
        ),
        pytest.param(
            {"network_interface": 'a"b\\c'},
            'sum by (instance) (rate(node_network_receive_bytes_total{device="a\\"b\\\\c"}[5m]))',
            id="quotes",
        ),
        pytest.param({"network_interface": "", "query": "my_rate"}, "my_rate", id="a query of one's own"),
    ],
)
def test_one_query_for_all_nodes(prometheus: StubPrometheus, changes: Mapping[str, Any], query: str) -> None:
    args = NetworkTrafficArgs(
        prometheus_address=prometheus.address, **{"network_interface": "eth0", **changes}
    )
    source = args.source()
    assert source is not None
    source.measure()
    assert prometheus.queries == [query]
    assert source.name == f"node bandwidth: {query}"


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


def test_nodes_are_found_by_name_or_address(prometheus: StubPrometheus) -> None:
    prometheus.values = {"10.0.0.1:9100": 10, "k8s-0002": 20, "10.0.0.2:9100": 99, "fd00::3": 30}
    addresses = [("10.0.0.1",), ("10.0.0.2",), ("10.0.0.9", "fd00::3")]
    nodes = [
        make_node(name, status={"addresses": [{"type": "InternalIP", "address": ip} for ip in ips]})
        for name, ips in zip(NAMES, addresses, strict=True)
    ]
    plugin, bench = make(NetworkTraffic, NetworkTrafficArgs(prometheus_address=prometheus.address)), Bench()
    bench.load(*nodes)
    bench.measuring(plugin)
    assert raw_scores(plugin, make_pod(), bench.view()) == dict(zip(NAMES, (10, 20, 30), strict=True))


def refreshing(bench: Bench, prometheus: StubPrometheus, **args: Any) -> tuple[NetworkTraffic, Filler]:
    """Return a plugin whose source was called once; the next refresh is the test's."""
    given = {"refresh_period": timedelta(hours=1), "max_age": timedelta(hours=1), **args}
    plugin = NetworkTraffic(
        NetworkTrafficArgs(prometheus_address=prometheus.address, **given), bench.handle()
    )
    return plugin, bench.measuring(plugin)


def test_prometheus_down_then_the_last_values_then_all_equal(
    prometheus: StubPrometheus, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    bench.load(*NODES)
    prometheus.values = dict(zip(NAMES, (1, 2, 3), strict=True))
    plugin, filler = refreshing(bench, prometheus)
    prometheus.status = 503
    filler.refresh()
    assert list(raw_scores(plugin, make_pod(), bench.view()).values()) == [1, 2, 3]
    assert f"error getting measurement {filler.source.name!r}: {prometheus.address}" in caplog.text
    bench.clock.seconds += 3601
    filler.expire()
    assert set(final_scores(plugin, make_pod(), bench.view()).values()) == {100}
    prometheus.status, prometheus.values = 200, dict(zip(NAMES, (3, 2, 1), strict=True))
    filler.refresh()
    assert list(raw_scores(plugin, make_pod(), bench.view()).values()) == [3, 2, 1]
    assert bench.events == {
        "NetworkTraffic refreshed": 2,
        "NetworkTraffic refresh_failed": 1,
        "NetworkTraffic expired": 1,
    }
    assert len(prometheus.queries) == 3


def test_a_decision_fails_without_measurements_where_the_args_ask_for_it(prometheus: StubPrometheus) -> None:
    bench = Bench()
    bench.load(*NODES)
    plugin, filler = refreshing(bench, prometheus, fail_without_metrics=True)
    prometheus.status = 500
    filler.refresh()
    raw_scores(plugin, make_pod(), bench.view())
    bench.clock.seconds += 3601
    filler.expire()
    with pytest.raises(NoMeasurementError, match="error getting node bandwidth measure"):
        raw_scores(plugin, make_pod(), bench.view())


def test_pods_that_came_since_are_not_forgotten(prometheus: StubPrometheus) -> None:
    bench = Bench()
    old = [make_pod(f"old-{name}", node=name) for name in NAMES]
    bench.load(*NODES, *old)
    prometheus.values = dict(zip(NAMES, (100, 200, 300), strict=True))
    plugin, filler = refreshing(bench, prometheus, time_range_in_minutes=1)

    def raw() -> list[int]:
        return list(raw_scores(plugin, make_pod(), bench.view()).values())

    assert raw() == [100, 200, 300]
    for at in range(2):
        bench.state.assume(make_pod(f"new-{at}"), "k8s-0001")
    assert raw() == [100 + 2 * 200, 200, 300]  # the mean of three pods is 200
    bench.clock.seconds += 15
    filler.refresh()
    assert raw() == [100 + 2 * 120, 200, 300]  # just noted: all of the mean of five pods, 120
    bench.clock.seconds += 30
    filler.refresh()
    assert raw() == [100 + 120, 200, 300]  # half of the minute has passed
    bench.clock.seconds += 30
    filler.refresh()
    assert raw() == [100, 200, 300]
    bench.load(*NODES, *old[1:])
    assert raw() == [100, 200, 300]


def test_a_burst_does_not_run_to_one_node(prometheus: StubPrometheus) -> None:
    bench = Bench()
    bench.load(*NODES, *(make_pod(f"old-{at}", node=NAMES[at % 3]) for at in range(6)))
    prometheus.values = dict(zip(NAMES, (90, 100, 110), strict=True))
    plugin, _ = refreshing(bench, prometheus)
    placed: Counter[str] = Counter()
    for at in range(9):
        scores = raw_scores(plugin, make_pod(), bench.view())
        quietest = min(scores, key=lambda name: scores[name])
        bench.state.assume(make_pod(f"burst-{at}"), quietest)
        placed[quietest] += 1
    assert placed == dict.fromkeys(NAMES, 3)
