"""Nodes and their room, and one node: its pods, what they request, why nothing lands there, what did."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.live import Live

pytestmark = pytest.mark.browser


def test_all_nodes_with_what_selected_them(page: Page) -> None:
    page.goto("#/nodes")
    grid = page.get_by_role("grid", name="Nodes")
    expect(grid).to_have_attribute("aria-rowcount", "7")
    grid.get_by_role("button", name="Selected").click()
    expect(grid.get_by_role("row").nth(1)).to_contain_text("default/web-")
    page.get_by_label("Filter by name, zone, taint, room or labels").fill("gpu")
    expect(grid).to_have_attribute("aria-rowcount", "2")
    expect(page).to_have_url(re.compile(r"#/nodes\?name=gpu$"))


def test_room_taints_and_cordon_are_sorted_and_filtered(page: Page) -> None:
    page.goto("#/nodes")
    grid = page.get_by_role("grid", name="Nodes")
    rows = grid.get_by_role("row")
    expect(rows.filter(has_text="worker-gpu")).to_contain_text("dedicated=gpu:NoSchedule")
    expect(rows.filter(has_text="worker-cordoned")).to_contain_text("⚠ cordoned")
    expect(rows.filter(has_text="worker-b2")).to_contain_text(re.compile(r"[\d.]+ / 8\b"))
    grid.get_by_role("button", name="CPU").click()
    expect(grid.get_by_role("columnheader", name="CPU")).to_have_attribute("aria-sort", "descending")
    expect(rows.nth(1)).to_contain_text("worker-")
    filtered = page.get_by_label("Filter by name, zone, taint, room or labels")
    filtered.fill("cpu>4")
    expect(page.get_by_text(re.compile(r"^\s*\d of 6 nodes"))).to_be_visible()
    filtered.fill("cordoned")
    expect(grid).to_have_attribute("aria-rowcount", "2")


def test_the_pods_of_a_node(page: Page, live: Live) -> None:
    node = live.decision("web-0").node
    page.goto(f"#/nodes/{node}")
    pods = page.get_by_role("grid", name="Pods on this node")
    row = pods.get_by_role("row").filter(has_text="default/web-0")
    expect(row).to_contain_text("ReplicaSet web")
    row.get_by_role("link", name="default/web-0").first.click()
    expect(page).to_have_url(re.compile("#/pods/default/web-0$"))


def test_nodes_with_labels(page: Page) -> None:
    page.goto("#/nodes")
    page.get_by_label("Filter by name, zone, taint, room or labels").fill(
        "topology.kubernetes.io/zone in (a)"
    )
    grid = page.get_by_role("grid", name="Nodes")
    expect(grid).to_have_attribute("aria-rowcount", "3")
    page.get_by_label("Filter by name, zone, taint, room or labels").fill("zone=-")
    expect(page.get_by_role("alert")).to_contain_text("'-' is not a label value")


def test_why_nothing_lands_there(page: Page) -> None:
    page.goto("#/nodes/worker-gpu")
    expect(page.get_by_text("⚠ Taint dedicated=gpu:NoSchedule")).to_be_visible()
    why = page.get_by_role("region", name="Why does nothing land here?")
    expect(why.get_by_role("listitem").filter(has_text="default/picky")).to_contain_text("TaintToleration")
    expect(why.get_by_role("listitem").filter(has_text="default/picky")).to_contain_text("NodeAffinity")
    expect(why.get_by_role("listitem").filter(has_text="default/big-").first).to_contain_text("needs 64 cpu")


def test_what_its_pods_request(page: Page) -> None:
    page.goto("#/nodes/worker-b2")
    room = page.get_by_role("region", name="What its pods request")
    expect(room).to_contain_text(re.compile(r"cpu\s*[\d.]+ of 8"))
    expect(room).to_contain_text("16Gi")


def test_a_cordoned_one_says_so(page: Page) -> None:
    page.goto("#/nodes/worker-cordoned")
    expect(page.get_by_text("Cordoned: it takes no new pods.")).to_be_visible()
    page.get_by_role("link", name="What if it goes?").click()
    expect(page.get_by_role("heading", name="If worker-cordoned goes")).to_be_visible()
