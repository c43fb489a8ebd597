"""The published schedulers in a guarded cluster: each example applied as written, with its own rights.

A process is started with its manifest's command, arguments and ConfigMaps, and a token of its ServiceAccount.
"""

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from . import objects
from .api import Api, ApiError, Manifest
from .applying import DEPLOY, apply, built, identity, scheduling, start, written
from .guarded import GuardedControlPlane
from .process import Process, free_port, wait_until
from .telemetry import gauges
from .witness import Witness

pytestmark = pytest.mark.e2e

S3 = "examples/systems/s3-underlay-ip"
S5 = "examples/systems/s5-framework"
NODES, IPS = 50, 10
SCHEDULER = "blueking-ip-scheduler"
LEASE_SECONDS = 3.0
QUIET_SECONDS = 60.0
PACE = {
    "--leader-elect-lease-duration": f"{LEASE_SECONDS:g}s",
    "--leader-elect-renew-deadline": "2s",
    "--leader-elect-retry-period": "200ms",
}


@pytest.fixture(scope="module")
def shared_guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedControlPlane]:
    with GuardedControlPlane(tmp_path_factory.mktemp("guarded")) as running:
        yield running


@pytest.fixture
def guarded(shared_guarded: GuardedControlPlane) -> GuardedControlPlane:
    """Without any node, pod or event."""
    shared_guarded.clear()
    return shared_guarded


def scaled(workload: Manifest, replicas: int) -> Manifest:
    """The workload with another number of pods."""
    return {**workload, "spec": {**workload["spec"], "replicas": replicas}}


def bound(api: Api, app: str = "") -> dict[str, str]:
    """The node of each pod that has one; of those with the label app, if given."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in api.pods()
        if pod["spec"].get("nodeName") and (not app or pod["metadata"]["labels"].get("app") == app)
    }


def wait_bound(api: Api, count: int, app: str = "") -> dict[str, str]:
    """Waits until so many pods are bound; returns the node of each."""

    def probe() -> dict[str, str] | None:
        found = bound(api, app)
        return found if len(found) >= count else None

    return wait_until(probe, f"{count} pods to be bound", seconds=300)


def wait_said(process: Process, text: str) -> None:
    wait_until(lambda: text in process.output(), f"{process.name} to say {text!r}")


@pytest.fixture
def underlay(guarded: GuardedControlPlane) -> Path:
    """S3 applied, over fifty nodes; the kubeconfig of its ServiceAccount."""
    apply(guarded.api, built(S3))
    for number in range(NODES):
        guarded.api.create(objects.node(f"node-{number:02}"))
    master = objects.node("master", {"node-role.kubernetes.io/master": ""})
    guarded.api.create(master)
    return identity(guarded, "mooring-system", "mooring")


def test_underlay_ips_are_given_once_and_given_back(
    guarded: GuardedControlPlane, underlay: Path, tmp_path: Path
) -> None:
    """S3: 501 pods on 500 IPs, with a restart and a kill meanwhile; the last waits until another goes."""
    with Witness(guarded) as witness:
        give_all_ips_with_a_restart_and_a_kill(guarded, underlay, tmp_path)
    assert set(witness.accepted().values()) == {1}
    assert witness.accepted().total() == NODES * IPS + 1
    assert set(witness.most_at_once(SCHEDULER).values()) == {IPS}
    assert witness.overfull() == set()
    assert witness.sent_without_lease(15.0) == witness.unexplained() == []
    print("409s, each for a pod that was bound:", witness.conflicts())


def give_all_ips_with_a_restart_and_a_kill(
    guarded: GuardedControlPlane, underlay: Path, tmp_path: Path
) -> None:
    api, before = guarded.api, len(guarded.bindings())
    (workload,) = written(f"{S3}/today.yaml")
    apply(api, [scaled(workload, NODES * IPS + 1)])
    with start("first", built(S3), tmp_path, scheduling(underlay)):
        wait_bound(api, 100)
    second = start("second", built(S3), tmp_path, scheduling(another_token(guarded)))
    wait_bound(api, 250)
    second.kill()
    flags = scheduling(another_token(guarded))
    with start("third", built(S3), tmp_path, flags) as third:
        full = wait_bound(api, NODES * IPS)
        assert Counter(full.values()) == {f"node-{number:02}": IPS for number in range(NODES)}
        (waiting,) = {pod["metadata"]["name"] for pod in api.pods()} - full.keys()
        reasons = "1 node(s) were masters, which have no underlay IPs, 50 node(s) had no free underlay IP"
        api.wait_failed_scheduling(waiting, reasons)
        gone = sorted(full)[123]
        api.call("DELETE", f"/api/v1/namespaces/default/pods/{gone}?gracePeriodSeconds=0")
        # The ReplicaSet makes a pod in place of the one that went: one of the two gets the IP.
        again = wait_until(lambda: ips_taken_again(api, full, gone), "the IP to be taken again")
        assert again == full[gone]
        nothing_is_left(guarded, third, f"https://127.0.0.1:{flags['--secure-port']}/metrics")
    user = "system:serviceaccount:mooring-system:mooring"
    assert {who for who, _ in guarded.bindings()[before:]} == {user}


def nothing_is_left(guarded: GuardedControlPlane, scheduler: Process, metrics: str) -> None:
    """After the last binding a minute passes in which no other is sent; nothing is kept that nobody needs."""
    wait_until(lambda: not any(gauges(metrics, "mooring_reservations").values()), "the last binding's end")
    sent, threads, files = audited(guarded, "pods"), held(scheduler, "task"), held(scheduler, "fd")
    renewed = audited(guarded, "leases")
    time.sleep(QUIET_SECONDS)
    assert audited(guarded, "pods") == sent
    assert audited(guarded, "leases") > renewed
    assert held(scheduler, "task") <= threads
    assert held(scheduler, "fd") <= files
    assert gauges(metrics, "mooring_reservations") == {"reserved": 0, "binding": 0, "unknown": 0}
    assert gauges(metrics, "mooring_pending_pods") == {
        "active": 0,
        "backoff": 0,
        "unschedulable": 1,
        "gated": 0,
    }
    assert gauges(metrics, "mooring_cache_size") == {
        "nodes": NODES + 1,
        "pods": len(guarded.api.items("/api/v1/pods")),
        "assumed_pods": 0,
    }


def audited(guarded: GuardedControlPlane, resource: str) -> int:
    """How many audited requests were about it: bindings, of pods."""
    return sum(event["objectRef"]["resource"] == resource for event in guarded.audited())


def held(process: Process, what: str) -> int:
    """How many threads (`task`) or files (`fd`) the process has."""
    return len(list(Path(f"/proc/{process.pid}/{what}").iterdir()))


def another_token(guarded: GuardedControlPlane) -> Path:
    """The ServiceAccount's kubeconfig with a new token: by that the audit log tells instances apart."""
    return identity(guarded, "mooring-system", "mooring")


def test_a_stalled_leader_binds_no_more(guarded: GuardedControlPlane, underlay: Path, tmp_path: Path) -> None:
    """S3 with two replicas: the leader is stopped in the middle, and wakes when the other has taken over."""
    api = guarded.api
    (workload,) = written(f"{S3}/today.yaml")
    with Witness(guarded) as witness:
        leader = start("leader", built(S3), tmp_path, {**scheduling(underlay), **PACE})
        with start("standby", built(S3), tmp_path, {**scheduling(another_token(guarded)), **PACE}):
            # Ten of them fill a node's CPU, too.
            workload["spec"]["template"]["spec"]["containers"] = [objects.container(cpu="400m")]
            apply(api, [scaled(workload, NODES * IPS)])
            wait_bound(api, 100)
            leader.signal(signal.SIGSTOP)
            wait_bound(api, 300)
            leader.signal(signal.SIGCONT)
            assert leader.wait_end() == 1, "it is started again by whoever watches over it"
            full = wait_bound(api, NODES * IPS)
            assert Counter(full.values()) == {f"node-{number:02}": IPS for number in range(NODES)}
            # None of the IPs was lost on the way: all pods go, and as many come again.
            api.call("DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
            wait_until(lambda: not bound(api).keys() & full.keys(), "all pods to be gone")
            again = wait_bound(api, NODES * IPS)
            assert Counter(again.values()) == Counter(full.values())
    assert set(witness.accepted().values()) == {1}
    assert witness.accepted().total() == 2 * NODES * IPS
    assert set(witness.most_at_once(SCHEDULER).values()) == {IPS}
    assert witness.overfull() == set()
    assert witness.sent_without_lease(LEASE_SECONDS) == witness.unexplained() == []
    print("409s, each for a pod that was bound:", witness.conflicts())


def ips_taken_again(api: Api, full: dict[str, str], gone: str) -> str | None:
    """The node of the pod that was bound after `gone` went; None while there is none."""
    new = [node for name, node in bound(api).items() if name not in full]
    assert gone not in bound(api)
    return new[0] if new else None


def test_a_serviceaccount_may_do_what_its_role_says_and_nothing_else(
    guarded: GuardedControlPlane, underlay: Path
) -> None:
    ours = client_of(guarded, underlay)
    assert len(ours.nodes()) == NODES + 1
    allowed = []
    for method, path in FORBIDDEN:
        try:
            ours.call(method, path, {} if method in ("POST", "PUT", "PATCH") else None)
        except ApiError as error:
            if error.status == 403:
                continue
        allowed.append((method, path))
    assert allowed == []
    assert len(FORBIDDEN) >= 40


def client_of(guarded: GuardedControlPlane, kubeconfig: Path) -> Api:
    """A client with the token of a kubeconfig."""
    token = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
    return Api(guarded.address, guarded.directory / "apiserver" / "apiserver.crt", token)


_CORE, _KUBE = "/api/v1", "/api/v1/namespaces/kube-system"
_POD = f"{_CORE}/namespaces/default/pods/p"
_NODE = f"{_CORE}/nodes/node-00"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces"
FORBIDDEN = [
    ("GET", f"{_CORE}/secrets"),
    ("GET", f"{_KUBE}/secrets/s"),
    ("POST", f"{_KUBE}/secrets"),
    ("GET", f"{_CORE}/configmaps"),
    ("GET", f"{_CORE}/namespaces/mooring-system/configmaps/mooring-config"),
    ("PUT", f"{_CORE}/namespaces/mooring-system/configmaps/mooring-config"),
    ("GET", f"{_CORE}/serviceaccounts"),
    ("POST", f"{_CORE}/namespaces/mooring-system/serviceaccounts/mooring/token"),
    ("POST", f"{_KUBE}/serviceaccounts"),
    ("POST", f"{_CORE}/namespaces/default/pods"),
    ("PUT", _POD),
    ("PATCH", _POD),
    ("PUT", f"{_POD}/status"),
    ("POST", f"{_POD}/eviction"),
    ("GET", f"{_POD}/log"),
    ("POST", f"{_POD}/exec"),
    ("PATCH", f"{_POD}/ephemeralcontainers"),
    ("DELETE", f"{_CORE}/namespaces/default/pods"),
    ("POST", f"{_CORE}/nodes"),
    ("PUT", _NODE),
    ("PATCH", _NODE),
    ("PATCH", f"{_NODE}/status"),
    ("DELETE", _NODE),
    ("GET", f"{_NODE}/proxy/"),
    ("POST", f"{_CORE}/namespaces"),
    ("DELETE", f"{_CORE}/namespaces/default"),
    ("POST", f"{_CORE}/namespaces/default/services"),
    ("DELETE", f"{_CORE}/persistentvolumes/v"),
    ("POST", f"{_CORE}/persistentvolumes"),
    ("DELETE", f"{_CORE}/namespaces/default/persistentvolumeclaims/c"),
    ("POST", f"{_CORE}/namespaces/default/persistentvolumeclaims"),
    ("GET", "/apis/apps/v1/deployments"),
    ("POST", "/apis/apps/v1/namespaces/default/deployments"),
    ("PATCH", "/apis/apps/v1/namespaces/default/replicasets/r"),
    ("DELETE", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b"),
    ("GET", f"{_RBAC}/clusterroles"),
    ("POST", f"{_RBAC}/clusterrolebindings"),
    ("PATCH", f"{_RBAC}/clusterroles/mooring-binder"),
    ("GET", f"{_LEASES}/kube-system/leases/kube-scheduler"),
    ("PUT", f"{_LEASES}/kube-system/leases/kube-scheduler"),
    ("DELETE", f"{_LEASES}/mooring-system/leases/mooring"),
    ("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
]
"""What nobody has any reason to let mooring do."""


@pytest.fixture
def four_nodes(guarded: GuardedControlPlane) -> None:
    for node in written(f"{S5}/cluster.yaml"):
        node["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        guarded.api.create(node)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The package of plugins as the image has it: installed where Python looks for packages."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    package = DEPLOY / "examples" / "plugins" / "example"
    subprocess.run([*pip, "--target", target, package], check=True, capture_output=True)
    return {"PYTHONPATH": str(target)}


@pytest.mark.usefixtures("four_nodes")
def test_one_of_multiple_schedulers(
    guarded: GuardedControlPlane, plugins: dict[str, str], tmp_path: Path
) -> None:
    """S5: each pod is bound by its own scheduler, and the plugins leave their lines in the log."""
    api, before = guarded.api, len(guarded.bindings())
    apply(api, built(S5))
    account = identity(guarded, "kube-system", "tanjunchen-scheduler")
    with (
        guarded.scheduler({}),
        start("multiple", built(S5), tmp_path, scheduling(account), extra_env=plugins) as ours,
    ):
        apply(api, written(f"{S5}/nginx-multiple.yaml"))
        ((mine, node),) = wait_bound(api, 1, "nginx-tanjunchen").items()
        ((other, _),) = wait_bound(api, 1, "nginx-default").items()
        wait_said(ours, bound_line(mine, node))
        log = ours.output()
    who = {pod: user for user, pod in guarded.bindings()[before:]}
    assert who[mine] == "system:serviceaccount:kube-system:tanjunchen-scheduler"
    assert who[other] == "kube-scheduler"
    assert seen_by_node_filter(log, mine) == {"k8s-node-1", "k8s-node-2", "k8s-node-3"}
    assert f"example preFilter pod=default/{mine}" in log
    assert f"example preBind pod=default/{mine} node={node}" in log
    assert other not in log


@pytest.mark.usefixtures("four_nodes")
def test_a_single_scheduler_from_its_static_pod(guarded: GuardedControlPlane, tmp_path: Path) -> None:
    """S5: the profile my-scheduler, with kube-scheduler's identity, its own lease and files of the host."""
    api = guarded.api
    apply(api, written(f"{S5}/single-lease.yaml"))
    kubeconfig = guarded.write_kubeconfig("static-pod", guarded.static_pods_token)
    files = {
        "/etc/kubernetes/my-scheduler-config.yaml": DEPLOY / S5 / "single-config.yaml",
        "/etc/kubernetes/scheduler.conf": kubeconfig,
    }
    with start("single", written(f"{S5}/single.yaml"), tmp_path, scheduling(kubeconfig), files=files) as ours:
        apply(api, written(f"{S5}/nginx-single.yaml"))
        ((name, node),) = wait_bound(api, 1, "nginx").items()
        wait_said(ours, bound_line(name, node))
        assert seen_by_node_filter(ours.output(), name) == {"k8s-node-1", "k8s-node-2", "k8s-node-3"}
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/my-scheduler"
        assert api.call("GET", path)["spec"]["holderIdentity"]


def bound_line(name: str, node: str) -> str:
    said = f'"Successfully bound pod to node" pod="default/{name}" node="{node}"'
    return f"{said} evaluatedNodes=4 feasibleNodes=3"


def seen_by_node_filter(log: str, name: str) -> set[str]:
    found = re.findall(
        rf"nodeFilter filter pod=default/{name} node=(\S+) cpu=1900 memory=8020508672$", log, re.MULTILINE
    )
    assert len(found) == len(set(found))
    return set(found)


def certificate(directory: Path) -> Path:
    """The Secret mooring-extender-tls, as the README makes it."""
    directory.mkdir()
    name = "mooring-extender.mooring-system.svc"
    subject = ["-subj", "/CN=mooring-extender", "-addext", f"subjectAltName=DNS:{name}"]
    files = ["-keyout", str(directory / "tls.key"), "-out", str(directory / "tls.crt")]
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    subprocess.run([*new, *files, *subject], check=True, capture_output=True)
    return directory


@pytest.mark.usefixtures("four_nodes")
def test_the_extender_reads_and_cannot_bind(guarded: GuardedControlPlane, tmp_path: Path) -> None:
    """The overlay extender: kube-scheduler asks over TLS, a server that may read and nothing else answers."""
    api, extender = guarded.api, built("overlays/extender")
    for role in ("mooring-binder", "mooring-scheduler"):
        with suppress(ApiError):
            api.call("DELETE", f"{_RBAC}/clusterrolebindings/{role}")
    apply(api, extender)
    account, tls, run = (
        identity(guarded, "mooring-system", "mooring"),
        certificate(tmp_path / "tls"),
        tmp_path / "r",
    )
    run.mkdir()
    address = f"127.0.0.1:{free_port()}"
    places = {"/run/mooring": run, "/etc/mooring/tls": tls}
    reading = {"--source": f"kubernetes:{account}", "--metrics-listen": f"127.0.0.1:{free_port()}"}
    stanza = yaml.safe_load((DEPLOY / "overlays" / "extender" / "kube-scheduler.yaml").read_text())[
        "extenders"
    ][0]
    stanza["tlsConfig"]["caFile"] = str(tls / "tls.crt")
    asking = {**stanza, "urlPrefix": f"https://{address}", "ignorable": False}
    with (
        start("mooring", extender, tmp_path, reading, files=places, ready="^mooring ready") as server,
        start(
            "adapter",
            extender,
            tmp_path,
            {"--listen": address, "--drain-delay": "0"},
            container=1,
            files=places,
            ready="^mooring-extender ready",
        ),
        guarded.scheduler({"extenders": [asking]}),
    ):
        apply(api, written(f"{S5}/nginx-multiple.yaml")[1:])
        ((name, _),) = wait_bound(api, 1, "nginx-default").items()
        assert seen_by_node_filter(server.output(), name) == {"k8s-node-1", "k8s-node-2", "k8s-node-3"}
    assert guarded.bindings()[-1] == ("kube-scheduler", name)
    with pytest.raises(ApiError) as refused:
        client_of(guarded, account).call("POST", f"{_POD}/binding", {})
    assert refused.value.status == 403
