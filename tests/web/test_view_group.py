"""A pod of a group: what would make the group fit as a whole, on the views that ask it of a single pod."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import serving, write_manifests
from tests.web.live import web

pytestmark = pytest.mark.browser

GATE = "GenericWorkload=true"


def manifests() -> Iterator[dict[str, Any]]:
    """Yield two nodes and a gang of three pods; two of them find a place."""
    for name in ("a", "b"):
        yield node_manifest(name, allocatable={"cpu": "4", "memory": "8Gi", "pods": 9})
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    meta = {"name": "train", "namespace": "ml", "uid": "train"}
    yield {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}
    inside = {"schedulingGroup": {"podGroupName": "train"}}
    for at in range(3):
        name = f"train-{at}"
        uid = {"uid": name}
        yield pod_manifest(name, namespace="ml", requests={"cpu": "3"}, spec=inside, metadata=uid)


@pytest.fixture(scope="module", params=[GATE, ""], ids=["groups", "no groups"])
def group_page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the page of a server that has the group, with groups switched on or off."""
    folder = tmp_path_factory.mktemp("group")
    cluster = write_manifests(folder / "cluster.yaml", *manifests())
    gates = ("--feature-gates", request.param) if request.param else ()
    with (
        serving("--source", f"files:{cluster}", *gates) as server,
        web(folder, server.address("grpc")) as url,
    ):
        yield url


def test_what_would_make_a_group_fit(page: Page, group_page: str, request: pytest.FixtureRequest) -> None:
    page.goto(f"{group_page}#/pods/ml/train-0")
    page.get_by_role("button", name="Find the fewest changes").click()
    shown(page.get_by_role("region", name="What would make its group fit?"), request)


def test_what_would_make_the_group_of_a_pasted_pod_fit(
    page: Page, group_page: str, request: pytest.FixtureRequest
) -> None:
    page.goto(f"{group_page}#/what-if?pod=ml/train-0")
    expect(page.get_by_label("Manifest of a pod or workload")).to_have_value(re.compile("podGroupName"))
    page.get_by_role("button", name="What would make it fit?").click()
    shown(page.get_by_role("region", name="What would make its group fit?"), request)


def shown(found: Locator, request: pytest.FixtureRequest) -> None:
    """Wait for the group's changes; where groups are off, for those of the pod."""
    if "no groups" in request.node.callspec.id:
        expect(found).to_contain_text("✓ It fits as it is.")
        return
    expect(found).to_contain_text("Of pod group ml/train, with all its pods as the cluster has them")
    expect(found.get_by_text("request 2 cpu instead of 3")).to_be_visible()
    expect(
        found.get_by_text(re.compile("1 change, then it has 2 pods on [ab], 1 pod on [ab]"))
    ).to_be_visible()
    expect(found.get_by_text(re.compile("add a node like [ab]"))).to_be_visible()
