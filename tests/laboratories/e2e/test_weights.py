"""Weights decide between two preferences, in kube-scheduler as in mooring (the example s2-weights)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mooring.testing import explain

from . import processes
from .api import Manifest
from .build import ROOT
from .control_plane import ControlPlane

pytestmark = pytest.mark.e2e

EXAMPLE = ROOT / "deploy" / "examples" / "systems" / "s2-weights"
WINNERS = {"pod-affinity-first.yaml": "k8s-0002", "node-affinity-first.yaml": "k8s-0001"}


def manifests(file: str) -> list[Manifest]:
    return list(yaml.safe_load_all((EXAMPLE / file).read_text()))


def pod_of(deployment: Manifest) -> Manifest:
    """Return the pod that a controller would make for the Deployment; there is none here."""
    metadata = {**deployment["spec"]["template"]["metadata"], "name": "test", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": deployment["spec"]["template"]["spec"],
    }


@pytest.fixture(params=WINNERS)
def config(request: pytest.FixtureRequest) -> Path:
    return EXAMPLE / str(request.param)


@pytest.fixture
def converted(config: Path) -> Manifest:
    """Return the published v1beta3 file as a current kube-scheduler takes it."""
    document: Manifest = yaml.safe_load(processes.mooring("config", "convert", config))
    return document


@pytest.fixture
def kube_scheduler(control_plane: ControlPlane, converted: Manifest) -> Iterator[None]:
    for manifest in manifests("cluster.yaml"):
        control_plane.api.create(manifest)
    process = control_plane.scheduler(converted)
    yield
    process.stop()


@pytest.mark.usefixtures("kube_scheduler")
def test_both_choose_the_node_of_the_heavier_plugin(
    control_plane: ControlPlane, config: Path, converted: Manifest
) -> None:
    [deployment] = manifests("test.yaml")
    api = control_plane.api
    pod = api.create(pod_of(deployment))
    chosen = api.wait_bound("test")
    objects = [*api.nodes(), *(other for other in api.pods() if other["metadata"]["name"] != "test")]
    pod = {"apiVersion": "v1", "kind": "Pod", **pod}
    for ours in (yaml.safe_load(config.read_text()), converted):
        explained = explain(objects, pod, ours)
        scores = explained["nodes"][chosen]["scores"].values()
        assert (explained["selected"], explained["ties"]) == (chosen, [chosen])
        assert max(score["weighted"] for score in scores) == 10_000
    assert chosen == WINNERS[config.name], json.dumps(explained)
