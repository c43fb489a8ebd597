"""Questions about a copy of the cluster, with nodes cordoned, removed and added."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.live import Live

pytestmark = pytest.mark.browser

NVME = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: default}
spec:
  template:
    metadata: {labels: {app: db}}
    spec:
      schedulerName: mine
      containers: [{name: db, resources: {requests: {cpu: "3"}}}]
"""


def ask(page: Page, text: str, button: str) -> None:
    page.get_by_label("Manifest of a pod or workload").fill(text)
    page.get_by_role("button", name=button).click()


def test_where_the_pods_of_a_node_would_go(page: Page, live: Live) -> None:
    node = live.decision("web-0").node
    page.goto(f"#/what-if?node={node}")
    going = page.get_by_role("region", name=f"If {node} goes")
    expect(going).to_contain_text("It can go")
    expect(going.get_by_role("listitem").filter(has_text="default/web-0")).to_contain_text("→ worker-")


def test_a_workload_on_a_changed_cluster(page: Page, live: Live) -> None:
    page.goto("#/what-if")
    ask(page, NVME, "How many would fit?")
    expect(page.get_by_role("heading", name=re.compile(r"^[1-9]\d* more pods would fit"))).to_be_visible()
    before = page.get_by_role("heading", name=re.compile("would fit")).inner_text()
    page.get_by_label("Node", exact=True).fill("worker-b2")
    page.get_by_label("How many nodes to add").fill("5")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("add 5 like worker-b2")).to_be_visible()
    ask(page, NVME, "How many would fit?")
    expect(page.get_by_role("heading", name=re.compile("would fit"))).not_to_have_text(before)
    page.get_by_role("button", name="Take the last back").click()
    expect(page.get_by_text("As it is now: nothing is changed.")).to_be_visible()
    ask(page, NVME, "How many would fit?")
    expect(page.get_by_role("heading", name=re.compile("would fit"))).to_have_text(before)
    assert "worker-b2" in {found["metadata"]["name"] for found in live.api.all("Node")}, (
        "nothing real changes"
    )


def test_a_cordoned_node_takes_nothing(page: Page) -> None:
    page.goto("#/what-if")
    for node in ("worker-a1", "worker-a2", "worker-b1", "worker-b2"):
        page.get_by_label("Node", exact=True).fill(node)
        page.get_by_role("button", name="Cordon").click()
        expect(page.get_by_text(f"cordon {node}")).to_be_visible()
    ask(page, NVME, "Where would it go?")
    expect(
        page.get_by_text(re.compile("default/db-what-if has no node: 0/6 nodes are available"))
    ).to_be_visible()


NEW_NODE = """
apiVersion: v1
kind: Node
metadata: {name: new-1, labels: {disk: nvme}}
status: {allocatable: {cpu: "512", memory: 256Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: added, namespace: default}
spec:
  schedulerName: mine
  containers: [{name: main, resources: {requests: {cpu: "100"}}}]
"""


def test_objects_are_added_and_the_pending_pods_placed(page: Page) -> None:
    page.goto("#/what-if")
    page.get_by_text("Objects to add").click()
    page.get_by_label("Manifests to add").fill(NEW_NODE)
    page.get_by_role("button", name="Add them").click()
    expect(page.get_by_text("add Node new-1, Pod added")).to_be_visible()
    page.get_by_role("button", name="Where do the pending pods go then?").click()
    placed = page.get_by_role("region", name=re.compile("pending pods get a node"))
    expect(placed.get_by_role("listitem").filter(has_text="default/picky")).to_contain_text("→ new-1")
    expect(placed.get_by_role("listitem").filter(has_text="default/added")).to_contain_text(re.compile("→|✕"))


def test_what_is_no_manifest_is_said(page: Page) -> None:
    page.goto("#/what-if")
    page.get_by_text("Objects to add").click()
    page.get_by_label("Manifests to add").fill("kind: Node")
    page.get_by_role("button", name="Add them").click()
    expect(page.get_by_role("alert")).to_contain_text("Each manifest needs a kind and metadata.name.")


LABELS_DO_NOT_COUNT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
  plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}}
"""


def test_another_configuration_decides_and_is_taken_back(page: Page) -> None:
    page.goto("#/what-if?pod=default/picky")
    expect(page.get_by_label("Manifest of a pod or workload")).to_have_value(re.compile("disk: nvme"))
    page.get_by_text("Another configuration").click()
    page.get_by_label("A KubeSchedulerConfiguration").fill(LABELS_DO_NOT_COUNT)
    page.get_by_role("button", name="Decide by it").click()
    expect(page.get_by_text("decide by another configuration")).to_be_visible()
    page.get_by_role("button", name="Where would it go?").click()
    expect(page.get_by_text(re.compile("default/picky goes to worker-"))).to_be_visible()
    page.get_by_role("button", name="Take the last back").click()
    page.get_by_role("button", name="Where would it go?").click()
    expect(page.get_by_text(re.compile("default/picky has no node"))).to_be_visible()


def test_how_many_more_nodes_would_take_the_pending_pods(page: Page) -> None:
    page.goto("#/what-if")
    page.get_by_label("Node", exact=True).fill("worker-b2")
    page.get_by_role("button", name="How many for the pending pods?").click()
    expect(page.get_by_role("region", name=re.compile("like worker-b2"))).to_contain_text("default/big-")


def test_a_pending_pod_is_taken(page: Page) -> None:
    page.goto("#/what-if?pod=default/picky")
    expect(page.get_by_label("Manifest of a pod or workload")).to_have_value(re.compile("disk: nvme"))


def test_what_would_make_a_pod_fit(page: Page) -> None:
    page.goto("#/pods/default/picky")
    page.get_by_role("button", name="Find the fewest changes").click()
    found = page.get_by_role("region", name="What would make it fit?")
    expect(found.get_by_text(re.compile("label worker-.. with disk=nvme"))).to_be_visible()


def test_what_would_make_a_pasted_pod_fit(page: Page) -> None:
    page.goto("#/what-if")
    ask(page, NVME.replace('"3"', '"7950m"'), "What would make it fit?")
    found = page.get_by_role("region", name="What would make it fit?")
    expect(found.get_by_text(re.compile(r"request \S+ cpu instead of \S+"))).to_be_visible()
    ask(page, NVME, "What would make it fit?")
    expect(found).to_contain_text("✓ It fits as it is.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "the input is empty", id="nothing"),
        pytest.param("5", "A manifest is expected", id="a number"),
        pytest.param("kind: Service", "not Service", id="another kind"),
        pytest.param("{", "flow collection", id="no YAML"),
        pytest.param("kind: Pod\nspec: {containers: 5}", "containers", id="a field is wrong"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_said(page: Page, text: str, said: str) -> None:
    page.goto("#/what-if")
    ask(page, text, "Where would it go?")
    expect(page.get_by_role("alert")).to_contain_text(said)
