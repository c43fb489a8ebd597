"""Decisions as they are made: live, filtered by the URL, paused, moved through by keys."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.live import Live, sized

pytestmark = pytest.mark.browser

GRID = "Decisions, the newest first"


def test_new_ones_come_by_themselves(page: Page, live: Live) -> None:
    page.goto("#/decisions")
    grid = page.get_by_role("grid", name=GRID)
    expect(grid.get_by_role("row").filter(has_text="default/web-0")).not_to_have_count(0)
    live.decide(sized("comes-later", "64", "later"))
    expect(grid.get_by_role("row").nth(1)).to_contain_text("default/comes-later")


def test_paused_they_wait(page: Page, live: Live) -> None:
    page.goto("#/decisions")
    rows = page.get_by_role("grid", name=GRID).get_by_role("row")
    expect(rows.filter(has_text="default/web-0")).not_to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    live.decide(sized("while-paused", "64", "paused"))
    button = page.get_by_role("button", name=re.compile(r"Show \d+ new"))
    expect(button).to_be_visible()
    expect(rows.filter(has_text="while-paused")).to_have_count(0)
    button.click()
    expect(rows.filter(has_text="while-paused")).not_to_have_count(0)


def test_the_facets_are_in_the_url(page: Page) -> None:
    page.goto("#/decisions")
    page.get_by_label("Pod", exact=True).fill("picky")
    page.get_by_label("Pod", exact=True).press("Enter")
    expect(page).to_have_url(re.compile(r"#/decisions\?pod=picky$"))
    rows = page.get_by_role("grid", name=GRID).get_by_role("row")
    expect(rows.nth(1)).to_contain_text("NodeAffinity")
    expect(rows.filter(has_text="default/web-0")).to_have_count(0)
    page.get_by_label("Result").select_option("scheduled")
    expect(page.get_by_text("No decision yet, or none that matches.")).to_be_visible()


def test_the_first_click_after_typing_opens_a_decision(page: Page) -> None:
    page.goto("#/decisions")
    page.get_by_label("Pod", exact=True).press_sequentially("picky")
    rows = page.get_by_role("grid", name=GRID).get_by_role("row")
    expect(rows.nth(1)).to_contain_text("default/picky")
    rows.nth(1).get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(r"#/decisions/\d+$"))


def test_a_link_has_its_filter(page: Page) -> None:
    page.goto("#/decisions?plugin=NodeAffinity")
    expect(page.get_by_label("Rejected by")).to_have_value("NodeAffinity")
    rows = page.get_by_role("grid", name=GRID).get_by_role("row")
    expect(rows.nth(1)).to_contain_text("default/picky")


def test_close_decisions(page: Page) -> None:
    page.goto("#/decisions?margin=0")
    rows = page.get_by_role("grid", name=GRID).get_by_role("row")
    expect(rows.nth(1)).to_contain_text("tied")
    expect(rows.filter(has_text="default/big-")).to_have_count(0)


def test_keys_move_and_open(page: Page) -> None:
    page.goto("#/decisions?pod=web-0")
    grid = page.get_by_role("grid", name=GRID)
    expect(grid.get_by_role("row").nth(1)).to_contain_text("default/web-0")
    grid.focus()
    page.keyboard.press("ArrowDown")
    expect(grid).to_have_attribute("aria-activedescendant", "row-0")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/decisions/\d+$"))


def test_it_goes_on_after_a_failure(page: Page, live: Live) -> None:
    page.goto("#/decisions")
    rows = page.get_by_role("grid", name=GRID).get_by_role("row")
    expect(rows.filter(has_text="default/web-0")).not_to_have_count(0)
    page.route("**/ListDecisions*", lambda route: route.abort())
    live.decide(sized("before-the-failure", "64", "failure"))
    expect(page.get_by_role("alert")).to_contain_text("mooring web does not answer", timeout=30_000)
    expect(rows.filter(has_text="default/web-0")).not_to_have_count(0)
    page.unroute("**/ListDecisions*")
    live.decide(sized("after-the-failure", "64", "failure"))
    expect(rows.filter(has_text="after-the-failure")).not_to_have_count(0, timeout=30_000)
    expect(page.get_by_role("alert")).to_have_count(0)
