"""Metrics and traces by host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.recording import header_of
from mooring.config.types import PluginHostStanza
from mooring.framework.errors import PluginUnavailableError
from mooring.plugin_hosts import hosts
from mooring.plugin_hosts.hosts import close_connections, connection_to
from mooring.plugin_hosts.metrics import host_metrics
from mooring.plugin_hosts.rules import rule_class
from mooring.tracing.spans import Attributes
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.recording.v1 import recording_pb2 as pb_recording
from tests.plugin_hosts.hosts import PATIENT, SpoiledHost, serving
from tests.plugin_hosts.rules import RackHosted
from tests.process import until
from tests.runtime.pure.engines import Rules


def sampled() -> dict[tuple[str, ...], float]:
    """All samples by name and labels, without the address and the times."""
    return {
        (sample.name.removeprefix("mooring_plugin_host_"), *list(sample.labels.values())[1:]): sample.value
        for family in host_metrics()
        for sample in family.samples
        if not sample.name.endswith("_sum")
    }


class Span:
    """Notes what is recorded."""

    def __init__(self) -> None:
        self.recorded: list[tuple[str, Attributes]] = []

    def record(self, name: str, seconds: float, attributes: Mapping[str, str]) -> None:
        assert seconds > 0
        self.recorded.append((name, attributes))


def test_calls_are_counted_and_traced_by_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, host = f"unix:{tmp_path}/host.sock", SpoiledHost([RackHosted], "7")
    span = Span()
    monkeypatch.setattr("mooring.plugin_hosts.connection.current_span", lambda: span)
    try:
        with serving(address, host):
            connection = connection_to(PluginHostStanza(address, evaluate_timeout=PATIENT))
            rules = Rules(rule_class(connection, connection.described.plugins[0]))
            rules.decide()
            assert sampled() == {("up", "7"): 1, ("call_duration_seconds_count", "Evaluate", "answered"): 1}
            host.spoil = lambda answer: pb.EvaluateResponse(host_id=answer.host_id, question=answer.question)
            with pytest.raises(PluginUnavailableError):
                rules.decide(rules.pod(labels={"app": "other"}))
            assert sampled()["call_duration_seconds_count", "Evaluate", "failed"] == 1
            host.spoil = None
            until(lambda: not connection.down)
        until(lambda: sampled()["up", "7"] == 0)
    finally:
        close_connections()
    assert hosts.connections() == ()
    whose = {"host": address, "host_version": "7", "plugin": "Rack", "call": "Evaluate"}
    assert [name for name, _ in span.recorded] == ["plugin host", "plugin host"]
    answered, failed = (attributes for _, attributes in span.recorded)
    assert answered == {**whose, "status": "answered"}
    assert str(failed["status"]).startswith("failed: gave 0 scores")


def test_a_recording_says_which_hosts_were_asked(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/host.sock"
    options = EngineOptions()
    try:
        with serving(address, SpoiledHost([RackHosted], "7")):
            connection_to(PluginHostStanza(address))
            registry = registry_of(options)
            core = build_core(options, registry, configuration_of(options, registry))
            header = header_of(core, options, pb_recording.RECORDED_SCHEDULER_MOORING)
    finally:
        close_connections()
    assert [(each.address, each.host_version) for each in header.plugin_hosts] == [(address, "7")]
