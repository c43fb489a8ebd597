"""Profiles and plugins: what is in force, where, in which order and with which weight."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_profile_is_a_table_of_plugins_and_points(page: Page) -> None:
    page.goto("#/profiles")
    table = page.get_by_role("region", name="Profile mine").get_by_role("table")
    expect(table.get_by_role("columnheader", name="PreFilter")).to_be_visible()
    expect(table.get_by_role("row", name="TaintToleration")).to_contain_text("× 3")
    everything = page.get_by_role("region", name="All plugins that the process knows")
    expect(everything.get_by_role("row", name="NodeAffinity")).to_contain_text("✓ available")


def test_a_plugin_has_its_arguments_and_rejections(page: Page) -> None:
    page.goto("#/profiles")
    page.get_by_role("link", name="NodeResourcesFit").first.click()
    expect(page.get_by_label("Arguments")).to_contain_text("scoringStrategy")
    rejections = page.get_by_role("grid", name="Decisions in which the plugin rejected something")
    expect(rejections.get_by_role("row").filter(has_text="default/big-0")).not_to_have_count(0)


def test_one_that_nobody_knows(page: Page) -> None:
    page.goto("#/plugins/Nothing")
    expect(page.get_by_text("The process knows no such plugin.")).to_be_visible()
