"""No view violates a rule of axe, in either scheme; keys reach all of it, and it fits a narrow window."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # ships no types
from playwright.sync_api import Browser, expect

from tests.web.live import Live

pytestmark = pytest.mark.browser

VIEWS = {
    "overview": "",
    "decisions": "decisions",
    "placed": "decisions/{web}",
    "rejected": "decisions/{big}",
    "pods": "pods",
    "pod": "pods/default/picky",
    "owner": "owners/default/ReplicaSet/big",
    "nodes": "nodes",
    "node": "nodes/worker-gpu",
    "queue": "queue",
    "profiles": "profiles",
    "two configurations": "profiles?from={configuration}",
    "plugin": "plugins/NodeResourcesFit",
    "code": "codes/TaintNotTolerated",
    "what if": "what-if?node=worker-b2",
    "an error": "decisions/999999",
    "no view": "nothing",
}

NARROW, WIDE = {"width": 390, "height": 844}, {"width": 1400, "height": 900}


@pytest.fixture(scope="module")
def routes(live: Live) -> dict[str, str]:
    web, big = live.decision("web-0"), live.decision("big-0")
    known = {"web": web.seq, "big": big.seq, "configuration": web.provenance.configuration_hash}
    return {name: f"{live.url}#/{path.format(**known)}" for name, path in VIEWS.items()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_rule_is_violated(browser: Browser, routes: dict[str, str], view: str, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme, viewport=WIDE)  # type: ignore[arg-type]
    page.goto(routes[view])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)
    found = Axe().run(page)
    page.close()
    assert len(found.response["passes"]) > 10, "axe looked into the components"
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found.response["violations"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_violated_by_what_would_make_a_pod_fit(
    browser: Browser, routes: dict[str, str], scheme: str
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport=WIDE)  # type: ignore[arg-type]
    page.goto(routes["pod"])
    page.get_by_role("button", name="Find the fewest changes").click()
    expect(page.get_by_text("with disk=nvme").first).to_be_visible()
    found = Axe().run(page)
    page.close()
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found.response["violations"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("view", "button", "answer"),
    [
        ("pod", "Find what cost the decision", "the rule NodeAffinity"),
        ("what if", "Which node is best to drain?", "could be drained, each alone"),
        ("overview", "24 h", "24 h ago"),
    ],
)
def test_no_rule_is_violated_by_answers(
    browser: Browser, routes: dict[str, str], view: str, button: str, answer: str, scheme: str
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport=WIDE)  # type: ignore[arg-type]
    page.goto(routes[view])
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator("main")).to_contain_text(answer, timeout=20_000)
    found = Axe().run(page)
    page.close()
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found.response["violations"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("key", ["/", "?"])
def test_no_rule_is_violated_by_search_and_help(
    browser: Browser, routes: dict[str, str], key: str, scheme: str
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport=WIDE)  # type: ignore[arg-type]
    page.goto(routes["nodes"])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press(key)
    expect(page.get_by_role("dialog")).to_be_visible()
    found = Axe().run(page)
    page.close()
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found.response["violations"]] == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_narrow_window_needs_no_scrolling_sideways(
    browser: Browser, routes: dict[str, str], view: str
) -> None:
    page = browser.new_page(viewport=NARROW)  # type: ignore[arg-type]
    page.goto(routes[view])
    expect(page.get_by_text("Loading …")).to_have_count(0)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert width <= NARROW["width"]


def test_the_first_key_skips_the_navigation(browser: Browser, live: Live) -> None:
    page = browser.new_page()
    page.goto(live.url)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.close()


def test_a_narrow_window_shows_which_view_it_is(browser: Browser, live: Live) -> None:
    page = browser.new_page(viewport=NARROW)  # type: ignore[arg-type]
    page.goto(f"{live.url}#/what-if")
    expect(page.get_by_role("link", name="What if", exact=True)).to_be_in_viewport(ratio=0.9)
    page.close()
