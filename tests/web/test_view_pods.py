"""Pods, and one pod: where it waits, its decisions, where it would go now."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_pending_ones_are_first_and_can_be_shown_alone(page: Page) -> None:
    page.goto("#/pods")
    rows = page.get_by_role("grid", name="Pods").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("pending")
    expect(rows.filter(has_text="default/web-0")).to_contain_text(re.compile("worker-.*✓ worker-", re.DOTALL))
    page.get_by_role("button", name="Pending").click()
    expect(rows.filter(has_text="default/web-0")).to_have_count(0)
    page.get_by_label("Filter by namespace, name or labels").fill("picky")
    expect(rows).to_have_count(2)
    rows.nth(1).get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("#/pods/default/picky$"))


def test_why_a_pod_is_where_it_is(page: Page) -> None:
    page.goto("#/pods/default/web-3")
    expect(page.get_by_role("grid", name="Decisions about this pod")).to_contain_text("✓ worker-")
    expect(page.get_by_text(re.compile(r"default/web-3.*goes to worker-"))).to_be_visible()


def test_what_a_waiting_pod_waits_for(page: Page) -> None:
    page.goto("#/pods/default/picky")
    wakes = page.get_by_role("definition").filter(has_text=re.compile("a node is added, gets other labels"))
    expect(wakes).to_have_attribute("title", re.compile("NodeAffinity on .*Node/"))
    expect(page.get_by_text(re.compile("default/picky has no node"))).to_be_visible()


def test_its_advice_is_the_first_line_and_its_life_is_a_line(page: Page) -> None:
    page.goto("#/pods/default/picky")
    expect(page.get_by_text(re.compile(r"^→ label worker-\w\w with disk=nvme"))).to_be_visible()
    moments = page.get_by_role("region", name="Its life").get_by_role("listitem")
    expect(moments.filter(has_text="rejected")).to_contain_text("0/6 nodes are available")
    expect(moments.last).to_contain_text(re.compile("until a node is added, .*, or the sweep at"))
    moments.filter(has_text="rejected").get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"#/decisions/\d+$"))


def test_what_is_to_blame(page: Page) -> None:
    page.goto("#/pods/default/picky")
    blame = page.get_by_role("region", name="What is to blame?")
    expect(blame.get_by_role("listitem")).to_have_count(0)
    blame.get_by_role("button").click()
    expect(blame.get_by_role("listitem").first).to_contain_text(
        "Without the rule NodeAffinity it fits on worker-"
    )


def test_all_of_them_are_listed_and_filtered_by_the_server(page: Page) -> None:
    page.goto("#/pods")
    rows = page.get_by_role("grid", name="Pods").get_by_role("row")
    expect(rows.filter(has_text="default/web-6")).to_have_count(1)
    expect(page.get_by_text(re.compile(r"^\d+ pods, \d+ without a node$"))).to_be_visible()
    page.get_by_label("Filter by namespace, name or labels").fill("app in (web)")
    expect(rows).to_have_count(8)
    page.get_by_role("button", name="Placed").click()
    expect(rows.nth(1)).to_contain_text("default/web-0")


def test_an_owner_with_its_pods_and_why_they_wait(page: Page) -> None:
    page.goto("#/pods/default/big-0")
    page.get_by_role("link", name="ReplicaSet big").click()
    expect(page).to_have_url(re.compile("#/owners/default/ReplicaSet/big$"))
    expect(page.get_by_role("region", name="Why some of its pods wait")).to_contain_text("Insufficient cpu")
    expect(page.get_by_role("grid", name="Pods of ReplicaSet big").get_by_role("row")).to_have_count(4)
    page.goto("#/owners/default/ReplicaSet/web")
    expect(page.get_by_text("✓ None of its pods waits for a node.")).to_be_visible()


def test_its_manifest(page: Page) -> None:
    page.goto("#/pods/default/picky")
    page.get_by_text("Manifest, as far as scheduling reads it").click()
    expect(page.get_by_label("Manifest")).to_contain_text("disk: nvme")


def test_one_that_is_gone(page: Page) -> None:
    page.goto("#/pods/default/nobody")
    expect(page.get_by_role("alert").filter(has_text="pod default/nobody is not known")).to_be_visible()
