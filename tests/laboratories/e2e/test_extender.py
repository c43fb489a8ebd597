"""An unmodified kube-scheduler asks mooring through the extender adapter.

kube-scheduler's own NodeAffinity and all its scores are off, so whatever follows node affinity is mooring's.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from . import configurations, objects
from .api import Manifest
from .applying import certificates
from .control_plane import ControlPlane
from .mooring_client import MooringClient
from .processes import Adapter, MooringServer, certified

pytestmark = pytest.mark.e2e

AFFINITY_REASON = "node(s) didn't match Pod's node affinity/selector"
NODES = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}


class Mooring:
    """Server and adapter in front of a control plane, with the latter's objects pushed."""

    def __init__(self, control_plane: ControlPlane, server: MooringServer, adapter: Adapter) -> None:
        self.api = control_plane.api
        self.server = server
        self.adapter = adapter

    def push(self) -> None:
        with MooringClient(self.server.address) as client:
            client.push(self.api)

    def preferred(self, pod: Manifest) -> list[str]:
        with MooringClient(self.server.address) as client:
            return client.preferred(pod)


@pytest.fixture
def mooring(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Mooring]:
    """mooring with a rule of its own, in front of four nodes in two racks; stopped processes may stay so."""
    for name, rack in NODES.items():
        control_plane.api.create(objects.node(name, {objects.RACK: rack}))
    config, kubeconfig = configurations.mooring_node_affinity(), control_plane.kubeconfig("mooring")
    with ExitStack() as stack:
        server = stack.enter_context(MooringServer(tmp_path, config, kubeconfig=kubeconfig))
        adapter = stack.enter_context(Adapter(tmp_path, server.address))
        running = Mooring(control_plane, server, adapter)
        running.push()
        yield running


def pod_in(name: str, rack: str, preferred: str | None = None) -> Manifest:
    """Return a pod that must go to a rack and would like to go to a node."""
    wish = None if preferred is None else {objects.HOSTNAME: preferred}
    return objects.pod(name, affinity=objects.node_affinity({objects.RACK: rack}, wish))


@pytest.mark.parametrize("node_cache_capable", [True, False], ids=["names", "nodes"])
def test_pods_go_where_mooring_allows_and_prefers(
    control_plane: ControlPlane, mooring: Mooring, node_cache_capable: bool
) -> None:
    pods = {node: pod_in(f"to-{node}", rack, preferred=node) for node, rack in NODES.items()}
    pods |= {f"rack-{rack}": pod_in(f"rack-{rack}", rack) for rack in ("a", "b")}
    created = [control_plane.api.create(pod) for pod in pods.values()]
    mooring.push()
    preferred = {pod["metadata"]["name"]: mooring.preferred(pod) for pod in created}
    assert preferred == {
        "to-a1": ["a1"],
        "to-a2": ["a2"],
        "to-b1": ["b1"],
        "to-b2": ["b2"],
        "rack-a": ["a1", "a2"],
        "rack-b": ["b1", "b2"],
    }
    stanza = configurations.extender(mooring.adapter.url, node_cache_capable=node_cache_capable)
    with control_plane.scheduler(configurations.kube_scheduler_without_node_affinity(stanza)):
        bound = {name: control_plane.api.wait_bound(name) for name in preferred}
    assert {name: node for name, node in bound.items() if node not in preferred[name]} == {}


@pytest.mark.parametrize("node_cache_capable", [True, False], ids=["names", "nodes"])
def test_event_of_an_unschedulable_pod_carries_the_reason(
    control_plane: ControlPlane, mooring: Mooring, node_cache_capable: bool
) -> None:
    control_plane.api.create(pod_in("nowhere", "absent"))
    stanza = configurations.extender(mooring.adapter.url, node_cache_capable=node_cache_capable)
    with control_plane.scheduler(configurations.kube_scheduler_without_node_affinity(stanza)):
        message = control_plane.api.wait_failed_scheduling("nowhere", AFFINITY_REASON)
    assert message.startswith(f"0/4 nodes are available: 4 {AFFINITY_REASON}")
    assert control_plane.api.node_of("nowhere") is None


@pytest.mark.parametrize("part", ["server", "adapter"])
def test_ignorable_extender_lets_pods_through_while_stopped(
    control_plane: ControlPlane, mooring: Mooring, part: str
) -> None:
    control_plane.api.create(pod_in("unguarded", "absent"))
    stanza = configurations.extender(mooring.adapter.url, ignorable=True)
    {"server": mooring.server, "adapter": mooring.adapter}[part].stop()
    with control_plane.scheduler(configurations.kube_scheduler_without_node_affinity(stanza)):
        assert control_plane.api.wait_bound("unguarded") in NODES


@pytest.mark.parametrize("part", ["server", "adapter"])
def test_other_extender_holds_pods_until_it_is_back(
    control_plane: ControlPlane, mooring: Mooring, part: str
) -> None:
    control_plane.api.create(pod_in("patient", "b", preferred="b2"))
    stopped = {"server": mooring.server, "adapter": mooring.adapter}[part]
    stopped.stop()
    stanza = configurations.extender(mooring.adapter.url)
    with control_plane.scheduler(configurations.kube_scheduler_without_node_affinity(stanza)):
        control_plane.api.wait_failed_scheduling("patient", "")
        assert control_plane.api.node_of("patient") is None
        stopped.start()
        mooring.push()
        assert control_plane.api.wait_bound("patient") == "b2"


@pytest.mark.parametrize("known", [True, False], ids=["kube-scheduler", "a stranger"])
def test_the_bind_verb_is_for_kube_schedulers_certificate(
    control_plane: ControlPlane, tmp_path: Path, known: bool
) -> None:
    """Over HTTPS, with an unmodified kube-scheduler; the stranger's certificate has the same authority."""
    control_plane.api.create(objects.node("a1", {objects.RACK: "a"}))
    tls = certificates(tmp_path / "tls")
    flags = (*certified(tls, "extender-"), "--insecure-binding=false")
    source = f"kubernetes:{control_plane.kubeconfig('mooring')}"
    server = MooringServer.answering_extender_calls(
        tmp_path, configurations.mooring_node_affinity(), *flags, source=source
    )
    pair = "mooring-client" if known else "tls"
    stanza = configurations.extender(server.extender_url.replace("http:", "https:"), bind=True) | {
        "enableHTTPS": True,
        "tlsConfig": {
            "caFile": f"{tls}/ca.crt",
            "certFile": f"{tls}/{pair}.crt",
            "keyFile": f"{tls}/{pair}.key",
            "serverName": "mooring-extender.mooring-system.svc",
        },
    }
    with server, control_plane.scheduler(configurations.kube_scheduler_without_node_affinity(stanza)):
        control_plane.api.create(pod_in("delegated", "a"))
        if known:
            assert control_plane.api.wait_bound("delegated") == "a1"
            assert control_plane.bindings()[-1] == ("mooring", "delegated")
        else:
            control_plane.api.wait_failed_scheduling("delegated", "code 403")
            assert control_plane.api.node_of("delegated") is None


def test_bind_verb_posts_the_binding(control_plane: ControlPlane, mooring: Mooring) -> None:
    control_plane.api.create(pod_in("delegated", "a", preferred="a2"))
    mooring.push()
    stanza = configurations.extender(mooring.adapter.url, bind=True)
    with control_plane.scheduler(configurations.kube_scheduler_without_node_affinity(stanza)):
        assert control_plane.api.wait_bound("delegated") == "a2"
    assert control_plane.bindings()[-1] == ("mooring", "delegated")
