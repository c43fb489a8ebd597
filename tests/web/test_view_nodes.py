"""Nodes, and one node: what its pods request, why nothing lands there, what did."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_all_nodes_with_what_selected_them(page: Page) -> None:
    page.goto("#/nodes")
    grid = page.get_by_role("grid", name="Nodes")
    expect(grid).to_have_attribute("aria-rowcount", "7")
    grid.get_by_role("button", name="Selected").click()
    expect(grid.get_by_role("row").nth(1)).to_contain_text("default/web-")
    page.get_by_label("Filter by name or labels").fill("gpu")
    expect(grid).to_have_attribute("aria-rowcount", "2")
    expect(page).to_have_url(re.compile(r"#/nodes\?name=gpu$"))


def test_nodes_with_labels(page: Page) -> None:
    page.goto("#/nodes")
    page.get_by_label("Filter by name or labels").fill("topology.kubernetes.io/zone in (a)")
    grid = page.get_by_role("grid", name="Nodes")
    expect(grid).to_have_attribute("aria-rowcount", "3")
    page.get_by_label("Filter by name or labels").fill("zone=-")
    expect(page.get_by_role("alert")).to_contain_text("'-' is not a label value")


def test_why_nothing_lands_there(page: Page) -> None:
    page.goto("#/nodes/worker-gpu")
    expect(page.get_by_text("Taint dedicated=gpu:NoSchedule")).to_be_visible()
    why = page.get_by_role("region", name="Why does nothing land here?")
    expect(why.get_by_role("listitem").filter(has_text="default/picky")).to_contain_text("TaintToleration")
    expect(why.get_by_role("listitem").filter(has_text="default/picky")).to_contain_text("NodeAffinity")
    expect(why.get_by_role("listitem").filter(has_text="default/big-")).to_contain_text("Insufficient cpu")


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
