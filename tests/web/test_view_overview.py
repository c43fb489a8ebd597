"""The overview: is it well, and what needs attention."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_what_waits_is_grouped_with_its_next_step(page: Page) -> None:
    page.goto("#/")
    big = page.get_by_role("listitem").filter(has_text="ReplicaSet default/big")
    expect(big).to_contain_text("3")
    expect(big).to_contain_text("NodeResourcesFit: Insufficient cpu")
    expect(big).to_contain_text(re.compile("→ (request|add) ", re.IGNORECASE))
    picky = page.get_by_role("listitem").filter(has_text="ReplicaSet default/picky")
    expect(picky).to_contain_text("→ label worker-")


def test_a_group_leads_to_its_newest_decision(page: Page) -> None:
    page.goto("#/")
    big = page.get_by_role("listitem").filter(has_text="ReplicaSet default/big")
    big.get_by_role("link", name="Newest decision").first.click()
    expect(page.get_by_role("heading", name="Decision", exact=False).first).to_be_visible()
    expect(page.get_by_text("has no node: 0/6 nodes are available", exact=False)).to_be_visible()


def test_owners_with_one_cause_are_one_entry_and_ten_causes_are_shown(page: Page) -> None:
    def group(owner: int, cause: int) -> dict[str, object]:
        return {
            "namespace": "default",
            "controllerKind": "ReplicaSet",
            "controllerName": f"owner-{owner}",
            "reason": {"plugin": "NodeResourcesFit", "reason": f"Insufficient r{cause}", "nodeCount": 3},
            "podCount": 20 - cause,
        }

    groups = [group(cause, cause) for cause in range(12)] + [group(20 + at, 0) for at in range(4)]
    page.route(
        "**/mooring.v1.DecisionService/SummarizeReasons*",
        lambda route: route.fulfill(json={"groups": groups, "groupCount": len(groups)}),
    )
    page.goto("#/")
    causes = page.get_by_role("region", name="Needs attention").get_by_role("listitem")
    expect(causes).to_have_count(10)
    expect(causes.first).to_contain_text("100")
    expect(causes.first).to_contain_text("2 more owners")
    page.get_by_role("button", name="Show 2 more causes").click()
    expect(causes).to_have_count(12)
    causes.last.get_by_role("link", name="ReplicaSet default/owner-11").click()
    expect(page).to_have_url(re.compile("#/owners/default/ReplicaSet/owner-11$"))


def test_the_last_hours_are_drawn_and_said(page: Page) -> None:
    page.goto("#/")
    hours = page.get_by_role("region", name="The last hours")
    expect(hours.get_by_role("button", name="10 min")).to_have_attribute("aria-pressed", "true")
    hours.get_by_role("button", name="24 h").click()
    pending = hours.get_by_role("figure").filter(has_text="Pending pods, by cause")
    expect(pending).to_contain_text(re.compile(r"NodeResourcesFit: Insufficient cpu\s*\d+ now"))
    expect(pending.locator("polygon")).not_to_have_count(0)
    made = hours.get_by_role("figure").filter(has_text="Decisions in 24 min")
    expect(made).to_contain_text(re.compile(r"that placed a pod\s*[1-9]\d* now"))
    expect(hours.get_by_role("figure").filter(has_text="How long a decision took")).to_contain_text("ms")


def test_whether_it_is_well(page: Page) -> None:
    page.goto("#/")
    expect(page.get_by_text("✓ synced")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="Kubernetes 1.")).to_be_visible()
    expect(page.get_by_text("Pending pods", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="in force for")).to_be_visible()


def test_a_replica_that_does_not_lead_says_who_does(page: Page) -> None:
    page.route(
        "**/mooring.v1.ClusterService/GetClusterInfo*",
        lambda route: route.fulfill(json={"synced": True, "leader": "other-pod", "kubeVersion": "1.37"}),
    )
    page.goto("#/")
    expect(page.get_by_text("⚠ waits: other-pod leads")).to_be_visible()
