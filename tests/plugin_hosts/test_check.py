"""``mooring plugins check`` judges plugins of hosts as it judges classes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.app.options import EngineOptions
from mooring.config.types import PluginHostStanza
from mooring.plugin_check import following
from mooring.plugin_check.playing import played
from mooring.plugin_check.subject import Subject
from mooring.plugin_hosts.hosts import close_connections
from mooring_client.plugin_host.hosting import HostedPlugin, Values
from tests.cli.commands import call
from tests.plugin_hosts.hosts import PATIENT, SpoiledHost, serving
from tests.plugin_hosts.rules import CountPerRackHosted, RackHosted, TrafficHosted

_calls = itertools.count()


class Counter(HostedPlugin):
    """Answers otherwise each time."""

    node_columns = ("metadata.labels[rack]",)

    def score(self, pod: Values, node: Values) -> int:
        return next(_calls) % 101


class Positions(HostedPlugin):
    """Depends on earlier questions about the same pod."""

    node_columns = ("metadata.name",)
    last = threading.local()

    def filter(self, pod: Values, node: Values) -> str | None:
        before = getattr(self.last, "name", "")
        self.last.name = str(node["metadata.name"])
        return "comes after a smaller one" if before < self.last.name else None


class TooHigh(HostedPlugin):
    """Gives scores that are out of range for some values."""

    node_columns = ("metadata.labels[rack]",)

    def score(self, pod: Values, node: Values) -> int:
        return 200 if node["metadata.labels[rack]"] else 0


class Fragile(HostedPlugin):
    """Fails for values that it does not expect."""

    node_columns = ("metadata.labels[size]",)

    def score(self, pod: Values, node: Values) -> int:
        return min(int(node["metadata.labels[size]"] or 0), 100)


RIGHT = (RackHosted, CountPerRackHosted, TrafficHosted)
WRONG: dict[type[HostedPlugin], str] = {
    Counter: "answers otherwise when it is called again",
    Positions: "answers otherwise",
    TooHigh: "gave score 200, which is not from 0 to 100",
    Fragile: "answered UNKNOWN",
}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Yield a host with all of them."""
    where = f"unix:{tmp_path}/host.sock"
    with serving(where, SpoiledHost([*RIGHT, *WRONG])):
        yield where
        close_connections()


def subject(name: str, address: str) -> Subject:
    host = PluginHostStanza(address, evaluate_timeout=PATIENT)
    return Subject.named(name, {}, EngineOptions(plugin_hosts=(host,)))


@pytest.mark.parametrize("plugin", RIGHT)
def test_a_right_plugin_has_no_fault(plugin: type[HostedPlugin], address: str) -> None:
    assert played(subject(plugin.described().name, address)) == []


@pytest.mark.parametrize(("plugin", "said"), WRONG.items())
def test_a_wrong_plugin_is_found_out(plugin: type[HostedPlugin], said: str, address: str) -> None:
    first, *_ = played(subject(plugin.described().name, address))
    assert said in first.fault
    assert first.place == f"{address} {plugin.__name__}"


def test_its_reads_and_its_calls_are_told(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "NODES", 300)
    found = following.following(subject("Rack", address))
    assert found.reads == (
        "node.metadata.labels[gpu]",
        "node.metadata.labels[topology.kubernetes.io/zone]",
        "pod.metadata.labels[app]",
    )
    first, later = found.calls["evaluate"]
    assert 1 <= first <= 2
    assert later < 1


def test_the_command_names_the_host(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed = call(capsys, "plugins", "check", "TooHigh", "--plugin-host", address)
    assert failed.code != 0
    assert failed.out.startswith(f"{address} TooHigh: ")


def test_a_name_that_no_host_has_is_told(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed = call(capsys, "plugins", "check", "Nothing", "--plugin-host", address)
    assert failed.code != 0
    assert "Nothing" in failed.err
