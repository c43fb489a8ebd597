"""The queue: who waits where, and what would wake each."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_places_and_what_would_wake(page: Page) -> None:
    page.goto("#/queue")
    rows = page.get_by_role("grid", name="Pods in the queue").get_by_role("row")
    picky = rows.filter(has_text="default/picky")
    expect(picky).to_contain_text("a node is added, gets other labels or gets other taints")
    expect(picky.locator("[title^='NodeAffinity on Node/Add']")).to_be_visible()
    gated = page.get_by_role("button", name=re.compile("^gated"))
    expect(gated).to_contain_text("1")
    gated.click()
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("default/gated")
    expect(page).to_have_url(re.compile(r"#/queue\?place=gated$"))
    rows.nth(1).get_by_role("link").click()
    expect(page).to_have_url(re.compile("#/pods/default/gated$"))
