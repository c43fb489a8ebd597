"""Measured values reach the decisions of a server, follow its configuration and end with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mooring.cli import remote
from mooring_client.v1 import objects_pb2 as objects
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from tests.cli.commands import fetch, serving
from tests.measurements.stub_prometheus import StubPrometheus, stub_prometheus
from tests.process import until

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "asked", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "c"}]},
}


def node(name: str) -> dict[str, Any]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": allocatable},
    }


def configuration(**args: Any) -> str:
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NetworkTraffic"}]}},
        "pluginConfig": [{"name": "NetworkTraffic", "args": {"refreshPeriod": "50ms", **args}}],
    }
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return json.dumps({**head, "profiles": [profile]})


def test_a_server_reads_what_its_configuration_names(tmp_path: Path) -> None:
    nodes, config, file = (tmp_path / name for name in ("nodes.json", "config.json", "bandwidth.yaml"))
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1"), node("n2")]}))
    file.write_text("n1: 1\nn2: 2\n")
    prometheus = StubPrometheus(values={"n1": 100, "n2": 900})
    inline = objects.KubernetesObject(json=json.dumps(POD).encode())
    asked = scheduling.ExplainRequest(pod=objects.PodSource(object=inline))
    with stub_prometheus(prometheus):
        config.write_text(configuration(prometheusAddress=prometheus.address))
        with serving("--source", f"files:{nodes}", "--config", config) as server:

            def raw() -> list[int]:
                found = remote.explain_plainly(server.address("grpc"), asked).document()["nodes"]
                return [found[name]["scores"]["NetworkTraffic"]["raw"] for name in ("n1", "n2")]

            def metrics() -> str:
                return fetch(f"http://{server.address('metrics')}/metrics")[1].decode()

            until(lambda: raw() == [100, 900])
            assert 'mooring_measurement_age_seconds{measurement="node bandwidth: sum by' in metrics()
            assert 'mooring_plugin_events_total{event="refreshed",plugin="NetworkTraffic"}' in metrics()
            prometheus.values = {"n1": 900, "n2": 100}
            until(lambda: raw() == [900, 100])
            config.write_text(configuration(bandwidthFile=str(file)))
            until(lambda: raw() == [1, 2])
            until(lambda: "bandwidth: sum by" not in metrics())
