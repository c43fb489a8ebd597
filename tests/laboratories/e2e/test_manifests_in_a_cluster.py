"""Manifests give the same objects and decisions offline, by `--source files`, and in a cluster."""

import json
import os
import re
from pathlib import Path
from random import Random

import pytest
import yaml

from mooring.cluster.manifests import Manifests, objects_from
from mooring_client.v1 import nodes_pb2 as nodes
from mooring_client.v1 import objects_pb2 as objects
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from tests.process import wait_until

from . import workloads
from .api import Api, Manifest
from .applying import DEPLOY, apply, path_to, written
from .build import ROOT
from .comparing import attempts, differences, disagreements, engine_over, items
from .guarded import GuardedControlPlane
from .mooring_client import MooringClient
from .processes import MooringScheduler, MooringServer, mooring

pytestmark = pytest.mark.e2e

SEED = int(os.environ.get("MOORING_E2E_SEED", "1"))
WORKLOADS = int(os.environ.get("MOORING_E2E_WORKLOADS", "500"))
"""How many are generated."""

SYSTEMS = "examples/systems"
S2 = f"{SYSTEMS}/s2-weights"
CALL_SECONDS = 120.0


def settled(api: Api, loaded: Manifests, made: int) -> list[Manifest] | None:
    """Return the pods, once there are ``made`` and each has a node or a rejection; None before."""
    pods = items(api, "Pod", {pod.metadata.namespace for pod in loaded.pods})
    judged = [pod for pod in pods if pod["spec"].get("nodeName") or pod.get("status", {}).get("conditions")]
    return pods if len(judged) == made else None


def decided_by_kube_scheduler(
    plane: GuardedControlPlane, loaded: Manifests, config: Manifest
) -> tuple[list[Manifest], list[str], str]:
    """Start kube-scheduler on the objects; return the pods after each had its verdict, the attempts, the
    log.
    """
    with plane.scheduler(config, verbosity=10 if len(loaded.pods) < 10 else 3) as scheduler:
        wait_until(
            lambda: settled(plane.api, loaded, len(loaded.pods)), "a verdict on every pod", seconds=300
        )
    log = scheduler.output()
    scheduler.log.unlink()
    pods = settled(plane.api, loaded, len(loaded.pods))
    assert pods is not None
    return pods, attempts(log), log


def wait_made(api: Api, loaded: Manifests) -> None:
    """Wait until the controllers have made as many pods as there are offline."""
    namespaces = {pod.metadata.namespace for pod in loaded.pods}
    try:
        wait_until(lambda: len(items(api, "Pod", namespaces)) >= len(loaded.pods), "the pods", 300)
    except TimeoutError:
        assert differences(loaded, api) == []


def placed_by_command(file: Path, *flags: str) -> list[tuple[str, str]]:
    """Return the decisions of `mooring schedule`, as in a dry run: pod and node, or "" without one."""
    argv = ("schedule", "--no-preemption", "--manifests", str(file), "-o", "json", *flags)
    rows = json.loads(mooring(*argv, codes=(0, 3, 4)))
    return [(row["pod"], row["node"] or "") for row in rows]


def placed_by_rpc(
    directory: Path, file: Path, pods: list[str], config: Manifest | None = None
) -> list[tuple[str, str]]:
    """Return Schedule's answers about the pods in this order, by a server that has the manifests from a
    file.
    """
    references = [
        objects.PodReference(namespace=ns, name=name) for ns, name in (key.split("/") for key in pods)
    ]
    request = scheduling.ScheduleRequest(
        templates=[
            scheduling.PodTemplate(pod=objects.PodSource(reference=reference)) for reference in references
        ],
        nodes=nodes.NodeSelection(all=nodes.AllNodes()),
    )
    with (
        MooringServer(directory, config, source=f"files:{file}") as server,
        MooringClient(server.address) as client,
    ):
        answer = client.scheduling.Schedule(request, timeout=CALL_SECONDS)
    return list(zip(pods, answer.nodes.names.names, strict=True))


def written_to(file: Path, manifests: list[Manifest]) -> Path:
    file.write_text(yaml.safe_dump_all(manifests))
    return file


def test_generated_workloads(tmp_path: Path) -> None:
    """Workloads of every kind, in a cluster of their own whose pods are there before the first decision."""
    random = Random(SEED)
    cluster, generated = workloads.cluster(random), workloads.workloads(random, WORKLOADS)
    loaded = objects_from([*cluster, *generated])
    with GuardedControlPlane(tmp_path) as plane:
        apply(plane.api, cluster)
        wait_until(lambda: has_accounts(plane.api), "the namespaces' service accounts")
        apply(plane.api, generated)
        wait_made(plane.api, loaded)
        assert differences(loaded, plane.api) == []
        pods, tried, _ = decided_by_kube_scheduler(plane, loaded, {})
    assert disagreements(engine_over(loaded, {}), loaded, pods, tried) == []
    bound = sum("nodeName" in pod["spec"] for pod in pods)
    print(f"{WORKLOADS} workloads, {len(pods)} pods, {bound} bound, {len(tried)} attempts")
    file = written_to(tmp_path / "all.yaml", [*cluster, *generated])
    offline = placed_by_command(file)
    assert placed_by_rpc(tmp_path, file, [pod for pod, _ in offline]) == offline


def has_accounts(api: Api) -> bool:
    accounts = api.items("/api/v1/serviceaccounts")
    return {*workloads.NAMESPACES} <= {account["metadata"]["namespace"] for account in accounts}


EXAMPLES = [
    pytest.param("s1-network-traffic", ["nginx.yaml"], id="S1"),
    pytest.param("s2-weights", ["test.yaml"], id="S2"),
    pytest.param("s3-underlay-ip", ["today.yaml"], id="S3"),
    pytest.param("s4-extender", ["pods.yaml"], id="S4"),
    pytest.param("s5-framework", ["nginx-single.yaml", "nginx-multiple.yaml"], id="S5"),
]
DECISIONS = sorted((ROOT / "tests" / "decisions").glob("*.yaml"))
"""A cluster with a pod each; the folder also explains their decisions."""


@pytest.mark.parametrize(("folder", "files"), EXAMPLES)
def test_examples(guarded: GuardedControlPlane, tmp_path: Path, folder: str, files: list[str]) -> None:
    """The examples' manifests under the names of their schedulers, with the plugins that both sides have."""
    cluster = written(f"{SYSTEMS}/{folder}/cluster.yaml")
    manifests = [item for file in files for item in written(f"{SYSTEMS}/{folder}/{file}")]
    decided_alike(guarded, tmp_path, cluster, manifests)


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_decisions(guarded: GuardedControlPlane, tmp_path: Path, file: Path) -> None:
    manifests = list(yaml.safe_load_all(file.read_text()))
    asked = [item for item in manifests if item["metadata"]["name"] == "asked"]
    decided_alike(guarded, tmp_path, [item for item in manifests if item not in asked], asked)


def decided_alike(
    guarded: GuardedControlPlane, tmp_path: Path, cluster: list[Manifest], manifests: list[Manifest]
) -> None:
    """By kube-scheduler, by `mooring schedule` and by a server, with a profile for each scheduler's name."""
    loaded = objects_from([*cluster, *manifests])
    applied_with_status(guarded.api, cluster)
    apply(guarded.api, manifests)
    wait_made(guarded.api, loaded)
    assert differences(loaded, guarded.api) == []
    names = {pod.spec.scheduler_name for pod in loaded.pods} | {"default-scheduler"}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name} for name in sorted(names)],
    }
    pods, tried, _ = decided_by_kube_scheduler(guarded, loaded, config)
    assert disagreements(engine_over(loaded, config), loaded, pods, tried) == []
    file = written_to(tmp_path / "all.yaml", [*cluster, *manifests])
    settings = written_to(tmp_path / "config.yaml", [config])
    offline = placed_by_command(file, "--config", str(settings))
    assert placed_by_rpc(tmp_path, file, [pod for pod, _ in offline], config) == offline


def applied_with_status(api: Api, manifests: list[Manifest]) -> None:
    """Apply manifests; the status of a pod takes a call of its own."""
    apply(api, manifests)
    for item in manifests:
        if item["kind"] == "Pod" and "status" in item:
            stored = api.call("GET", path_to(api, item))
            api.call("PUT", f"{path_to(api, item)}/status", {**stored, "status": item["status"]})


_TOTAL = re.compile(r'final score for pod"? pod="default/test-\S+" node="(\S+)" score=(\d+)')


@pytest.mark.parametrize("config", ["pod-affinity-first.yaml", "node-affinity-first.yaml"])
def test_totals_of_the_weights(guarded: GuardedControlPlane, tmp_path: Path, config: str) -> None:
    """S2: kube-scheduler, `mooring scheduler` and `mooring explain` come to the same totals."""
    api, file, folder = guarded.api, DEPLOY / S2 / config, DEPLOY / S2
    profiles = {"profiles": yaml.safe_load(mooring("config", "convert", file))["profiles"]}
    manifests = [*written(f"{S2}/cluster.yaml"), *written(f"{S2}/test.yaml")]
    loaded = objects_from(manifests)
    apply(api, manifests)
    wait_made(api, loaded)
    _, _, log = decided_by_kube_scheduler(guarded, loaded, profiles)
    its = dict(_TOTAL.findall(log))
    # Its pod goes, and the ReplicaSet makes another, which is the other scheduler's: not before the first is
    # gone, since a pod that is going still counts.
    (placed,) = api.bound().keys() - {"nginx"}
    api.call("DELETE", f"/api/v1/namespaces/default/pods/{placed}?gracePeriodSeconds=0")
    wait_until(lambda: placed not in api.bound(), "the pod to be gone")
    kubeconfig = guarded.kubeconfig("mooring")
    flags = "--leader-elect=false", "--v=10"
    with MooringScheduler(tmp_path, kubeconfig, profiles, *flags) as scheduler:
        wait_until(lambda: len(_TOTAL.findall(scheduler.output())) >= 2, "the totals of the other pod")
        live = dict(_TOTAL.findall(scheduler.output()))
    (name,) = [pod.metadata.name for pod in loaded.pods if not pod.spec.node_name]
    paths = folder / "cluster.yaml", folder / "test.yaml"
    answer = mooring("explain", name, "--manifests", *paths, "--config", file, "-o", "json")
    offline = {node: str(found["total"]) for node, found in json.loads(answer)["nodes"].items()}
    print(f"{config}: {its}")
    assert its == live == offline
    assert len(its) == 2
