"""The overlays, applied, and their processes started as their manifests say; S5's cluster is theirs, too."""

import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import pytest
import yaml
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from tests.process import free_port

from . import objects
from .api import Api
from .applying import (
    DEPLOY,
    apply,
    built,
    certificates,
    identity,
    metrics_token,
    scheduling,
    start,
    with_certificates,
    written,
)
from .guarded import GuardedControlPlane
from .rights import FORBIDDEN, client_of, rejected
from .telemetry import fetch

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("four_nodes")]

NGINX = "examples/systems/s5-framework/nginx-multiple.yaml"
SERVER = "^mooring ready"
ADAPTER = "^mooring-extender ready"
IP = "example.com/underlay-ip"


def stanza(overlay: str) -> dict[str, Any]:
    """Return the extender of the overlay's file for kube-scheduler."""
    document = yaml.safe_load((DEPLOY / overlay / "kube-scheduler.yaml").read_text())
    found: dict[str, Any] = document["extenders"][0]
    return found


def maintain(api: Api, *names: str) -> None:
    """Give nodes the label that the overlay's configuration keeps pods off."""
    for name in names:
        node = api.call("GET", f"/api/v1/nodes/{name}")
        node["metadata"].setdefault("labels", {})["example.com/maintenance"] = ""
        api.call("PUT", f"/api/v1/nodes/{name}", node)


def test_the_extender_reads_and_cannot_bind(guarded: GuardedControlPlane, tmp_path: Path) -> None:
    """The overlay extender: kube-scheduler asks over TLS, a server that may read and nothing else answers."""
    api, extender = guarded.api, built("overlays/extender")
    apply(api, extender)
    account, tls, run = (
        identity(guarded, "mooring-system", "mooring-extender"),
        certificates(tmp_path / "tls"),
        tmp_path / "r",
    )
    run.mkdir()
    maintain(api, "k8s-node-1", "k8s-node-2")
    address = f"127.0.0.1:{free_port()}"
    places = {"/run/mooring": run, "/etc/mooring/tls": tls}
    reading = {"--source": f"kubernetes:{account}"}
    reading |= {f"--{name}": f"127.0.0.1:{free_port()}" for name in ("health-listen", "metrics-listen")}
    asking = {**stanza("overlays/extender"), "urlPrefix": f"https://{address}", "ignorable": False}
    asking = with_certificates(asking, tls)
    with (
        start("mooring", extender, tmp_path, reading, files=places, ready=SERVER),
        start(
            "adapter",
            extender,
            tmp_path,
            {"--listen": address, "--drain-delay": "0"},
            container=1,
            files=places,
            ready=ADAPTER,
        ),
        guarded.scheduler({"extenders": [asking]}),
    ):
        apply(api, written(NGINX)[1:])
        ((name, node),) = api.wait_pods_bound(1, "nginx-default").items()
        assert node == "k8s-node-3"
    assert guarded.bindings()[-1] == ("kube-scheduler", name)
    kept_from = [*FORBIDDEN, ("POST", "/api/v1/namespaces/default/pods/p/binding")]
    assert rejected(client_of(guarded, account), kept_from) == kept_from


def test_the_extender_on_loopback_binds(guarded: GuardedControlPlane, tmp_path: Path) -> None:
    """The overlay extender-loopback: pods that need an IP are bound by mooring, and wait when it is away."""
    api, overlay, before = guarded.api, "overlays/extender-loopback", len(guarded.bindings())
    apply(api, built(overlay))
    account = identity(guarded, "mooring-system", "mooring-extender-loopback")
    tls = certificates(tmp_path / "tls")
    asked = f"127.0.0.1:{free_port()}"
    flags = {"--source": f"kubernetes:{account}", "--extender-listen": asked}
    flags |= {
        f"--{name}": f"127.0.0.1:{free_port()}" for name in ("listen", "health-listen", "metrics-listen")
    }
    asking = with_certificates({**stanza(overlay), "urlPrefix": f"https://{asked}"}, tls)
    waits = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
    with guarded.scheduler({"extenders": [asking], **waits}):
        files = {"/etc/mooring-tls": tls}
        with start("mooring", built(overlay), tmp_path, flags, files=files, ready=SERVER):
            api.create_all(taker(f"taker-{number:02}") for number in range(31))
            api.wait_pods_bound(30)
            (left,) = {f"taker-{number:02}" for number in range(31)} - api.bound().keys()
            api.wait_failed_scheduling(left, "3 node(s) had no free underlay IP")
            api.create(objects.pod("plain"))
            api.wait_bound("plain")
        api.create(taker("later"))
        api.wait_failed_scheduling("later", "connection refused")
        api.create(objects.pod("another"))
        api.wait_bound("another")
    # The overlay's own pods, which its DaemonSet makes, are kube-scheduler's as well.
    bound = guarded.bindings()[before:]
    by = {pod: user for user, pod in bound if not pod.startswith("mooring-extender-")}
    assert by.pop("plain") == by.pop("another") == "kube-scheduler"
    assert set(by.values()) == {"system:serviceaccount:mooring-system:mooring-extender-loopback"}
    assert sorted(api.bound().values()).count("k8s-node-1") >= 10


def taker(name: str) -> dict[str, Any]:
    """Return a pod that needs an IP."""
    container = objects.container(cpu="10m", **{IP: "1"})
    container["resources"]["limits"] = {IP: "1"}
    return objects.pod(name, containers=[container])


def test_mooring_in_kube_schedulers_place(guarded: GuardedControlPlane, tmp_path: Path) -> None:
    """The overlay replace-default: kube-scheduler's identity and lease, and the pods without a scheduler
    name.
    """
    api, overlay = guarded.api, "overlays/replace-default"
    kubeconfig = guarded.write_kubeconfig("static-pod", guarded.static_pods_token)
    files = {"/etc/kubernetes/mooring": DEPLOY / overlay, "/etc/kubernetes/scheduler.conf": kubeconfig}
    before = len(guarded.bindings())
    with start("scheduler", built(overlay), tmp_path, scheduling(kubeconfig), files=files):
        apply(api, written(NGINX)[1:])
        ((name, _),) = api.wait_pods_bound(1, "nginx-default").items()
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
        assert api.call("GET", path)["spec"]["holderIdentity"]
    assert guarded.bindings()[before:] == [("system:kube-scheduler", name)]
    assert not api.call("GET", path)["spec"]["holderIdentity"], "the lease is let go"


def test_metrics_are_for_those_whom_the_api_server_lets_read_them(
    guarded: GuardedControlPlane, tmp_path: Path
) -> None:
    """The overlay second-scheduler: probes are open, metrics ask TokenReview and SubjectAccessReview."""
    overlay = built("overlays/second-scheduler")
    apply(guarded.api, overlay)
    account = identity(guarded, "mooring-system", "mooring-scheduler")
    stranger = json.loads(account.read_text())["users"][0]["user"]["token"]
    flags = scheduling(account)
    endpoint = f"https://127.0.0.1:{flags['--secure-port']}"
    with start("scheduler", overlay, tmp_path, flags) as ours:
        assert fetch(f"{endpoint}/livez") == "ok\n"
        for token, status in (("", 403), ("not-a-token", 401), (stranger, 403)):
            with pytest.raises(HTTPError) as rejection:
                fetch(f"{endpoint}/metrics", token)
            with rejection.value:
                assert rejection.value.code == status
        assert "mooring_pending_pods" in fetch(f"{endpoint}/metrics", metrics_token(guarded))
        assert "can't be found out" not in ours.output()


def test_the_page_shows_what_the_scheduler_beside_it_decides(
    guarded: GuardedControlPlane, tmp_path: Path
) -> None:
    """The overlay second-scheduler-web: the page has no identity, and asks the other container."""
    overlay, api = built("overlays/second-scheduler-web"), guarded.api
    apply(api, overlay)
    flags = scheduling(identity(guarded, "mooring-system", "mooring-scheduler"))
    page, health = (f"127.0.0.1:{free_port()}" for _ in range(2))
    asked = {
        "--server": f"scheduler={flags['--grpc-listen']}",
        "--listen": page,
        "--health-listen": health,
    }
    ready = "^mooring-web ready"
    with (
        start("scheduler", overlay, tmp_path, flags),
        start("page", overlay, tmp_path, asked, container=1, ready=ready),
    ):
        api.create(objects.pod("seen", schedulerName="mooring"))
        node = api.wait_bound("seen")
        request = Request(
            f"http://{page}/api/v1/mooring.v1.DecisionService/ListDecisions",
            json.dumps({"filter": {"pod": "seen"}}).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=30) as answer:
            (decision,) = json.load(answer)["decisions"]
        assert (decision["pod"]["name"], decision["node"]) == ("seen", node)
        with grpc.insecure_channel(health) as channel:
            said = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=""))
        assert said.status == health_pb2.HealthCheckResponse.SERVING
