"""The published schedulers in a guarded cluster: each example applied as written, with its own rights.

A process is started with its manifest's command, arguments and ConfigMaps, and a token of its ServiceAccount.
"""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.process import Process, wait_until

from . import objects
from .api import Api, Manifest
from .applying import (
    DEPLOY,
    apply,
    built,
    identity,
    metrics_token,
    path_to,
    scheduling,
    seen_by_node_filter,
    start,
    written,
)
from .guarded import GuardedControlPlane
from .rights import FORBIDDEN, KUBE_SCHEDULERS, SCHEDULERS, client_of, rejected
from .telemetry import gauges
from .witness import Witness

pytestmark = pytest.mark.e2e

S2 = "examples/systems/s2-weights"
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


def scaled(workload: Manifest, replicas: int) -> Manifest:
    """Return the workload with another number of pods."""
    return {**workload, "spec": {**workload["spec"], "replicas": replicas}}


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
    return identity(guarded, "mooring-system", "mooring-scheduler")


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
        api.wait_pods_bound(100)
    second = start("second", built(S3), tmp_path, scheduling(another_token(guarded)))
    api.wait_pods_bound(250)
    second.kill()
    flags = scheduling(another_token(guarded))
    with start("third", built(S3), tmp_path, flags) as third:
        full = api.wait_pods_bound(NODES * IPS)
        assert Counter(full.values()) == {f"node-{number:02}": IPS for number in range(NODES)}
        (waiting,) = {pod["metadata"]["name"] for pod in api.pods()} - full.keys()
        reasons = "1 node(s) were masters, which have no underlay IPs, 50 node(s) had no free underlay IP"
        api.wait_failed_scheduling(waiting, reasons)
        gone = sorted(full)[123]
        api.call("DELETE", f"/api/v1/namespaces/default/pods/{gone}?gracePeriodSeconds=0")
        # The ReplicaSet replaces the pod that went: one of the two gets the IP.
        again = wait_until(lambda: ips_taken_again(api, full, gone), "the IP to be taken again")
        assert again == full[gone]
        metrics = f"https://127.0.0.1:{flags['--secure-port']}/metrics"
        nothing_is_left(guarded, third, partial(gauges, metrics, token=metrics_token(guarded)))
    user = "system:serviceaccount:mooring-system:mooring-scheduler"
    assert {who for who, _ in guarded.bindings()[before:]} == {user}


def nothing_is_left(
    guarded: GuardedControlPlane, scheduler: Process, shown: Callable[[str], dict[str, float]]
) -> None:
    """For a minute after the last binding no other is sent; nothing useless is kept."""
    wait_until(lambda: not any(shown("mooring_reservations").values()), "the last binding's end")
    sent, threads, files = audited(guarded, "pods"), held(scheduler, "task"), held(scheduler, "fd")
    renewed = audited(guarded, "leases")
    time.sleep(QUIET_SECONDS)
    assert audited(guarded, "pods") == sent
    assert audited(guarded, "leases") > renewed
    assert held(scheduler, "task") <= threads
    assert held(scheduler, "fd") <= files
    assert shown("mooring_reservations") == {"reserved": 0, "binding": 0, "unknown": 0}
    waiting = {queue: count for queue, count in shown("mooring_pending_pods").items() if count}
    assert waiting == {"unschedulable": 1}
    assert shown("mooring_cache_size") == {
        "nodes": NODES + 1,
        "pods": len(guarded.api.items("/api/v1/pods")),
        "assumed_pods": 0,
    }


def audited(guarded: GuardedControlPlane, resource: str) -> int:
    """Return how many audited requests were about it: bindings, of pods."""
    return sum(event["objectRef"]["resource"] == resource for event in guarded.audited())


def held(process: Process, what: str) -> int:
    """Return how many threads (`task`) or files (`fd`) the process has."""
    return len(list(Path(f"/proc/{process.pid}/{what}").iterdir()))


def another_token(guarded: GuardedControlPlane) -> Path:
    """Return the ServiceAccount's kubeconfig with a new token: by that the audit log tells
    instances apart.
    """
    return identity(guarded, "mooring-system", "mooring-scheduler")


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
            api.wait_pods_bound(100)
            leader.signal(signal.SIGSTOP)
            api.wait_pods_bound(300)
            leader.signal(signal.SIGCONT)
            assert leader.wait_end() == 1, "it is started again by whoever watches over it"
            full = api.wait_pods_bound(NODES * IPS)
            assert Counter(full.values()) == {f"node-{number:02}": IPS for number in range(NODES)}
            # None of the IPs was lost on the way: all pods go, and as many come again.
            api.call("DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
            wait_until(lambda: not api.bound().keys() & full.keys(), "all pods to be gone")
            again = api.wait_pods_bound(NODES * IPS)
            assert Counter(again.values()) == Counter(full.values())
    assert set(witness.accepted().values()) == {1}
    assert witness.accepted().total() == 2 * NODES * IPS
    assert set(witness.most_at_once(SCHEDULER).values()) == {IPS}
    assert witness.overfull() == set()
    assert witness.sent_without_lease(LEASE_SECONDS) == witness.unexplained() == []
    print("409s, each for a pod that was bound:", witness.conflicts())


def ips_taken_again(api: Api, full: dict[str, str], gone: str) -> str | None:
    """Return the node of the pod that was bound after `gone` went; None while there is none."""
    new = [node for name, node in api.bound().items() if name not in full]
    assert gone not in api.bound()
    return new[0] if new else None


def test_the_serviceaccounts_may_do_what_their_roles_say_and_nothing_else(
    guarded: GuardedControlPlane, underlay: Path
) -> None:
    apply(guarded.api, built(S5))
    as_kube_scheduler = identity(guarded, "kube-system", "tanjunchen-scheduler")
    for account, kept_from in (
        (underlay, [one for one in FORBIDDEN if one not in SCHEDULERS]),
        (as_kube_scheduler, [one for one in FORBIDDEN if one not in KUBE_SCHEDULERS]),
    ):
        ours = client_of(guarded, account)
        assert len(ours.nodes()) == NODES + 1
        assert rejected(ours, kept_from) == kept_from
        assert len(kept_from) >= 40


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the package of plugins as the image has it: installed where Python looks for packages."""
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
        ((mine, node),) = api.wait_pods_bound(1, "nginx-tanjunchen").items()
        ((other, _),) = api.wait_pods_bound(1, "nginx-default").items()
        wait_said(ours, bound_line(mine, node))
        log = ours.output()
    who = {pod: user for user, pod in guarded.bindings()[before:]}
    assert who[mine] == "system:serviceaccount:kube-system:tanjunchen-scheduler"
    assert who[other] == "kube-scheduler"
    assert seen_by_node_filter(log, mine) == {"k8s-node-1", "k8s-node-2", "k8s-node-3"}
    assert f"tanjunchen-scheduler example preFilter pod=default/{mine}" in log
    assert f"tanjunchen-scheduler example preBind pod=default/{mine} node={node}" in log
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
        ((name, node),) = api.wait_pods_bound(1, "nginx").items()
        wait_said(ours, bound_line(name, node))
        assert seen_by_node_filter(ours.output(), name) == {"k8s-node-1", "k8s-node-2", "k8s-node-3"}
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/my-scheduler"
        assert api.call("GET", path)["spec"]["holderIdentity"]


def bound_line(name: str, node: str) -> str:
    said = f'"Successfully bound pod to node" pod="default/{name}" node="{node}"'
    return f"{said} evaluatedNodes=4 feasibleNodes=3"


@pytest.mark.parametrize(
    ("config", "node", "score"),
    [
        pytest.param(
            "pod-affinity-first.yaml",
            "k8s-0002",
            'plugin="InterPodAffinity" node="k8s-0002" raw=1 score=100 weight=100 weighted=10000',
            id="pod affinity first",
        ),
        pytest.param(
            "node-affinity-first.yaml",
            "k8s-0001",
            'plugin="NodeAffinity" node="k8s-0001" raw=1 score=100 weight=100 weighted=10000',
            id="node affinity first",
        ),
    ],
)
def test_weights_decide_between_two_preferences(
    guarded: GuardedControlPlane, tmp_path: Path, config: str, node: str, score: str
) -> None:
    """S2: the ConfigMap's file, in kube-scheduler's place, for the Deployment's pod."""
    api = guarded.api
    apply(api, [*built(S2), *written(f"{S2}/cluster.yaml")])
    file = tmp_path / config
    (stored,) = [item for item in built(S2) if item["kind"] == "ConfigMap"]
    file.write_text(api.call("GET", path_to(api, stored))["data"][config])
    kubeconfig = guarded.write_kubeconfig("static-pod", guarded.static_pods_token)
    flags = {**scheduling(kubeconfig), "--config": str(file), "--leader-elect": "false", "--v": "10"}
    with start("weights", built("overlays/replace-default"), tmp_path, flags) as scheduler:
        apply(api, written(f"{S2}/test.yaml"))
        ((name, chosen),) = api.wait_pods_bound(1, "test").items()
        assert chosen == node
        wait_said(scheduler, score)
        wait_said(scheduler, f'final score for pod pod="default/{name}" node="{node}"')
