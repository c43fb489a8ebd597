"""Pods, and one pod: where it waits, its decisions, where it would go now."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_pending_ones_are_first_and_can_be_shown_alone(page: Page) -> None:
    page.goto("#/pods")
    rows = page.get_by_role("grid", name="Pods").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("pending")
    expect(rows.filter(has_text="default/web-0")).to_contain_text("✓ placed")
    page.get_by_role("button", name="Pending").click()
    expect(rows.filter(has_text="default/web-0")).to_have_count(0)
    page.get_by_label("Filter by namespace or name").fill("picky")
    expect(rows).to_have_count(2)
    rows.nth(1).get_by_role("link").click()
    expect(page).to_have_url(re.compile("#/pods/default/picky$"))


def test_why_a_pod_is_where_it_is(page: Page) -> None:
    page.goto("#/pods/default/web-3")
    expect(page.get_by_role("grid", name="Decisions about this pod")).to_contain_text("✓ worker-")
    expect(page.get_by_text(re.compile(r"default/web-3.*goes to worker-"))).to_be_visible()


def test_what_a_waiting_pod_waits_for(page: Page) -> None:
    page.goto("#/pods/default/picky")
    expect(page.get_by_text(re.compile("NodeAffinity on .*Node/"))).to_be_visible()
    expect(page.get_by_text(re.compile("default/picky has no node"))).to_be_visible()


def test_its_manifest(page: Page) -> None:
    page.goto("#/pods/default/picky")
    page.get_by_text("Manifest, as far as scheduling reads it").click()
    expect(page.get_by_label("Manifest")).to_contain_text("disk: nvme")


def test_one_that_is_gone(page: Page) -> None:
    page.goto("#/pods/default/nobody")
    expect(page.get_by_role("alert").filter(has_text="pod default/nobody is not known")).to_be_visible()
