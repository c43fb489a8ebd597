from typing import Any

import pytest

from mooring.framework import Code
from mooring.plugins.node_ports.plugin import NodePorts
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import cluster, make, pre_filter, verdicts


def port(number: int, ip: str = "", protocol: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {"containerPort": 80, "hostPort": number}
    return fields | ({"hostIP": ip} if ip else {}) | ({"protocol": protocol} if protocol else {})


def using(*ports: dict[str, Any], init: dict[str, Any] | None = None) -> dict[str, Any]:
    containers = [{"name": "main", "image": "x", "ports": list(ports)}]
    return {"containers": containers, "initContainers": [init] if init else []}


SIDECAR = {"name": "side", "image": "x", "restartPolicy": "Always", "ports": [port(80)]}
PLAIN_INIT = {"name": "init", "image": "x", "ports": [port(80)]}


@pytest.mark.parametrize(
    ("taken", "wanted", "passes"),
    [
        pytest.param(using(port(81)), using(port(80)), True, id="another port"),
        pytest.param(using(port(80)), using(port(80)), False, id="the same port"),
        pytest.param(using(port(80, protocol="UDP")), using(port(80)), True, id="another protocol"),
        pytest.param(using(port(80, protocol="TCP")), using(port(80)), False, id="no protocol means TCP"),
        pytest.param(using(port(80, "10.0.0.1")), using(port(80, "10.0.0.2")), True, id="other addresses"),
        pytest.param(using(port(80, "10.0.0.1")), using(port(80, "10.0.0.1")), False, id="one address"),
        pytest.param(using(port(80)), using(port(80, "10.0.0.1")), False, id="every address taken"),
        pytest.param(using(port(80, "10.0.0.1")), using(port(80)), False, id="every address wanted"),
        pytest.param(using(port(80, "0.0.0.0")), using(port(80, "10.0.0.1")), False, id="0.0.0.0 is all"),
        pytest.param(using(port(80)), using(port(81), port(80)), False, id="the second of two"),
        pytest.param(using(init=SIDECAR), using(port(80)), False, id="a sidecar's port counts"),
        pytest.param(using(init=PLAIN_INIT), using(port(80)), True, id="an init container's doesn't"),
    ],
)
def test_filter(taken: dict[str, Any], wanted: dict[str, Any], passes: bool) -> None:
    nodes = cluster(make_node("n"), make_node("free"), make_pod("there", node="n", spec=taken))
    said = verdicts(make(NodePorts), make_pod(spec=wanted), nodes)
    assert said["free"].ok
    assert said["n"].ok is passes
    if not passes:
        assert said["n"].code is Code.UNSCHEDULABLE
        assert said["n"].reasons == ("node(s) didn't have free ports for the requested pod ports",)


def test_a_pod_without_host_ports_skips() -> None:
    early = pre_filter(make(NodePorts), make_pod(spec=using(port(0))), cluster(make_node("n")))
    assert getattr(early, "code", None) is Code.SKIP
