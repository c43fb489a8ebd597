"""One decision: sentence, funnel, matrix, two nodes compared, weights, and what a rejected node lacks."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.live import Live

pytestmark = pytest.mark.browser


def opened(page: Page, live: Live, pod: str) -> Locator:
    """Open the first decision about a pod; its table of nodes."""
    page.goto(f"#/decisions/{live.decision(pod).seq}")
    grid = page.get_by_role("grid", name="Nodes and what each plugin says")
    expect(grid).to_have_attribute("aria-rowcount", "7")
    return grid


def test_the_sentence_and_the_funnel(page: Page, live: Live) -> None:
    decision = live.decision("web-0")
    opened(page, live, "web-0")
    sentence = page.get_by_text(re.compile("default/web-0 goes to"))
    expect(sentence).to_contain_text(f"goes to {decision.node}: {decision.total} of ")
    funnel = page.get_by_role("region", name="Which nodes are feasible")
    expect(funnel).to_contain_text("TaintToleration")
    expect(funnel).to_contain_text("✓ 4")


def test_the_page_breaks_ties_as_the_scheduler_did(page: Page, live: Live) -> None:
    for number in range(7):
        decision = live.decision(f"web-{number}")
        grid = opened(page, live, f"web-{number}")
        expect(grid.get_by_role("row").filter(has_text="✓ selected")).to_contain_text(decision.node)


def test_nodes_are_sorted_and_filtered(page: Page, live: Live) -> None:
    grid = opened(page, live, "web-0")
    grid.get_by_role("button", name="Node", exact=True).click()
    expect(grid.get_by_role("row").nth(1)).to_contain_text("worker-a1")
    expect(grid.get_by_role("columnheader", name="Node", exact=False).first).to_have_attribute(
        "aria-sort", "ascending"
    )
    page.get_by_label("Filter nodes by name, reason or labels").fill("untolerated")
    expect(grid).to_have_attribute("aria-rowcount", "2")
    expect(grid.get_by_role("row").nth(1)).to_contain_text("worker-gpu")


def test_nodes_with_labels_are_filtered(page: Page, live: Live) -> None:
    page.goto(f"#/decisions/{live.decision('web-0').seq}")
    words = page.get_by_label("Filter nodes by name, reason or labels")
    words.fill("topology.kubernetes.io/zone=b")
    grid = page.get_by_role("grid", name="Nodes and what each plugin says")
    expect(grid).to_have_attribute("aria-rowcount", "3")
    words.fill("zone=-")
    expect(page.get_by_text("'-' is not a label value")).to_be_visible()
    words.fill("")
    expect(grid).to_have_attribute("aria-rowcount", "7")


def test_a_reason_of_the_funnel_filters(page: Page, live: Live) -> None:
    grid = opened(page, live, "web-0")
    page.get_by_role("button", name="node(s) were unschedulable").click()
    expect(grid).to_have_attribute("aria-rowcount", "2")
    expect(grid.get_by_role("row").nth(1)).to_contain_text("worker-cordoned")


def test_scores_are_raw_normalized_or_weighted(page: Page, live: Live) -> None:
    grid = opened(page, live, "web-0")
    first = grid.get_by_role("row").nth(1)
    weighted = first.inner_text()
    page.get_by_role("button", name="Raw").click()
    expect(page.get_by_role("button", name="Raw")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Weighted").click()
    assert first.inner_text() == weighted


def test_two_pinned_nodes_are_compared(page: Page, live: Live) -> None:
    grid = opened(page, live, "web-0")
    grid.focus()
    for key in ("ArrowDown", "Space", "ArrowDown", "ArrowDown", "Space"):
        page.keyboard.press(key)
    compared = page.get_by_role("region", name="Two nodes compared")
    expect(compared.get_by_text(re.compile("ahead of|are tied"))).to_be_visible()
    expect(compared.get_by_role("rowheader", name="NodeResourcesFit")).to_be_visible()


def test_weights_rank_again_and_are_copied(page: Page, live: Live) -> None:
    opened(page, live, "web-0")
    weighing = page.get_by_role("region", name="What if the weights were others?")
    slider = weighing.get_by_label("NodeResourcesFit")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(weighing.get_by_text(re.compile("(still selects|would select) worker-"))).to_be_visible()
    expect(page.get_by_text(re.compile("default/web-0 would go to"))).to_be_visible()
    weighing.get_by_role("button", name="YAML").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "kind: KubeSchedulerConfiguration" in copied
    assert "- name: NodeResourcesFit\n        weight: 5" in copied
    weighing.get_by_role("button", name="Reset").click()
    expect(page.get_by_text(re.compile("default/web-0 goes to"))).to_be_visible()


def test_a_rejected_node_says_what_it_would_take(page: Page, live: Live) -> None:
    grid = opened(page, live, "big-0")
    expect(page.get_by_role("region", name=re.compile("The closest: "))).to_be_visible()
    grid.get_by_role("row").filter(has_text="worker-gpu").click()
    asked = page.get_by_role("region", name="worker-gpu")
    expect(asked).to_contain_text("Rejected: 2 things in the way")
    expect(asked).to_contain_text("taint dedicated=gpu:NoSchedule is not tolerated TaintNotTolerated")
    expect(asked).to_contain_text("→ tolerate dedicated=gpu:NoSchedule")
    page.get_by_label("Filter nodes by name, reason or labels").fill("worker-a1")
    grid.get_by_role("row").nth(1).click()
    short = page.get_by_role("region", name="worker-a1")
    expect(short).to_contain_text(re.compile(r"asks 64 · [\d.]+ of 4 taken"))
    page.goto("#/pods/default/big-0")
    grid.get_by_role("row").filter(has_text="worker-a1").click()
    short.get_by_role("link", name=re.compile("web-")).first.click()
    expect(page).to_have_url(re.compile("#/pods/default/web-"))


def test_a_reason_code_is_described(page: Page, live: Live) -> None:
    opened(page, live, "big-0")
    closest = page.get_by_role("region", name=re.compile("The closest: "))
    closest.get_by_role("link", name="NodeTooSmall").click()
    expect(page.get_by_role("heading", name="Reason code NodeTooSmall")).to_be_visible()
    expect(page.get_by_text("more of a resource than the node has when it is empty")).to_be_visible()
    page.get_by_role("link", name="InsufficientResource").click()
    expect(page.get_by_role("definition").filter(has_text="Insufficient <subject>")).to_be_visible()
    page.goto("#/codes/RackFull")
    expect(page.get_by_text("It is none of mooring's codes")).to_be_visible()


def test_one_that_is_forgotten(page: Page) -> None:
    page.goto("#/decisions/999999")
    expect(page.get_by_role("alert").filter(has_text="The journal is bounded")).to_be_visible()


def test_the_element_alone_needs_only_an_address(page: Page, live: Live) -> None:
    grid = opened(page, live, "web-0")
    address = f"api/v1/decisions/{live.decision('big-0').seq}/columns"
    page.evaluate(
        """(address) => {
          const alone = document.createElement("mooring-decision");
          alone.src = address;
          document.body.replaceChildren(alone);
        }""",
        address,
    )
    expect(page.get_by_text("default/big-0 has no node", exact=False)).to_be_visible()
    expect(grid).to_have_attribute("aria-rowcount", "7")
