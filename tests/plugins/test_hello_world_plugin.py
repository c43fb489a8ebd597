import gc
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mooring.plugins.hello_world_plugin.args import HelloWorldPluginArgs
from mooring.plugins.hello_world_plugin.bandwidth import FRESH_SECONDS, BandwidthFile, BandwidthMonitor
from mooring.plugins.hello_world_plugin.plugin import HelloWorldPlugin
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import SetClock, cluster, final_scores, make, raw_scores

LOGGER = logging.getLogger("mooring.plugins.HelloWorldPlugin")
NODES = [make_node("k8s-0001"), make_node("k8s-0002"), make_node("k8s-0003")]


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
def test_scores(tmp_path: Path, content: str, raw: tuple[int, ...], final: tuple[int, ...]) -> None:
    file = tmp_path / "bandwidth.yaml"
    file.write_text(content)
    plugin = make(HelloWorldPlugin, HelloWorldPluginArgs(bandwidth_file=str(file)))
    names = [node.metadata.name for node in NODES]
    view = cluster(*NODES)
    assert raw_scores(plugin, make_pod(), view) == dict(zip(names, raw, strict=True))
    assert final_scores(plugin, make_pod(), view) == dict(zip(names, final, strict=True))


def test_without_a_file_all_score_alike_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    plugin = make(HelloWorldPlugin, HelloWorldPluginArgs(xxx="xxx", yyy="123", zzz=3))
    assert set(final_scores(plugin, make_pod(), cluster(*NODES)).values()) == {100}
    assert "no bandwidthFile" in caplog.text


def test_log_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    file = tmp_path / "bandwidth.yaml"
    file.write_text("k8s-0001: 1200\nk8s-0002: 2400\n")
    plugin = make(HelloWorldPlugin, HelloWorldPluginArgs(bandwidth_file=str(file)))
    final_scores(plugin, make_pod(), cluster(*NODES))
    assert caplog.messages == [
        "[NetworkTraffic] node 'k8s-0003' has no bandwidth measure: 2400",
        "[NetworkTraffic] node 'k8s-0002' bandwidth: 2400",
        "[NetworkTraffic] node 'k8s-0001' bandwidth: 1200",
        "[NetworkTraffic] Nodes final score: [{k8s-0003 0} {k8s-0002 0} {k8s-0001 50}]",
    ]


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        pytest.param(HelloWorldPluginArgs(), [], id="the defaults"),
        pytest.param(HelloWorldPluginArgs(time_range_in_minutes=0), ["timeRangeInMinutes"], id="no time"),
    ],
)
def test_args(args: HelloWorldPluginArgs, paths: list[str]) -> None:
    assert [error.path for error in args.validate()] == paths


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


def test_a_source_that_fails_leaves_the_last_values_until_they_are_stale(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, source = SetClock(), Scripted({"a": 1})
    monitor = BandwidthMonitor(source, clock, LOGGER, refresh_seconds=3600)
    assert monitor.latest() == {"a": 1}
    source.answer = ConnectionError("refused")
    monitor.refresh()
    assert monitor.latest() == {"a": 1}
    assert "error getting node bandwidth measure: refused" in caplog.messages
    clock.seconds += FRESH_SECONDS + 1
    assert monitor.latest() == {}
    source.answer = {"a": 2}
    monitor.refresh()
    assert monitor.latest() == {"a": 2}


def test_values_are_refreshed_in_the_background_as_long_as_somebody_reads() -> None:
    source = Scripted({"a": 1})
    monitor = BandwidthMonitor(source, SetClock(), LOGGER, refresh_seconds=0.001)
    before = set(threading.enumerate())
    assert monitor.latest() == {"a": 1}
    (thread,) = set(threading.enumerate()) - before
    source.asked.clear()
    assert source.asked.wait(timeout=30)
    del monitor
    gc.collect()
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_a_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "bandwidth.yaml"
    source = BandwidthFile(file)
    with pytest.raises(FileNotFoundError):
        source.measure()
    file.write_text("a: 1\n")
    assert source.measure() == {"a": 1}
    file.write_text("a: 2\n")
    assert source.measure() == {"a": 2}
