"""Profiles and plugins: what is in force, where, in which order and with which weight."""

import json

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.live import Live

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


def test_two_configurations_are_compared(page: Page) -> None:
    """The scheduler has one configuration; the test plays the process's answer with the differences from an
    earlier one.
    """

    def fulfill(route: Route) -> None:
        asked = route.request.post_data_json or {}
        weight = 1 if asked.get("configurationHash") == "before" else 5
        document = json.dumps({"plugins": {"score": {"enabled": [{"name": "Fit", "weight": weight}]}}})
        periods = [{"hash": "before", "beginTime": "2026-11-25T10:00:00Z"}, {"hash": "after"}]
        profiles = [{"name": "mine", "configurationJson": document}]
        route.fulfill(json={"profiles": profiles, "configurationHash": "after", "configurations": periods})

    page.route("**/mooring.v1.PluginService/ListProfiles*", fulfill)
    page.goto("#/profiles")
    page.get_by_role("link", name="what it changed").click()
    row = page.get_by_role("row").filter(has_text="mine.plugins.score.enabled[Fit].weight")
    expect(row.get_by_role("cell").first).to_have_text("1")
    expect(row.get_by_role("cell").last).to_have_text("5")


def test_a_decisions_configuration_is_compared_with_that_of_now(page: Page, live: Live) -> None:
    page.goto(f"#/decisions/{live.decision('web-0').seq}")
    page.get_by_title("What differs today").click()
    expect(page.get_by_text("✓ Nothing differs.")).to_be_visible()


def test_a_configuration_that_is_forgotten(page: Page) -> None:
    page.goto("#/profiles?from=abc")
    expect(page.get_by_role("alert")).to_contain_text("no configuration 'abc' has been in force")
