"""A person's path after `make run`: the page open, why web-3 is where it is, what if worker-a1 goes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.commands import serving
from tests.web.live import web

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def sample_server() -> Iterator[str]:
    """Yield the address of a server on the sample cluster."""
    with serving() as server:
        yield server.address("grpc")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, sample_server: str) -> Iterator[str]:
    """Yield the page of that server, as `mooring run` starts both."""
    with web(tmp_path_factory.mktemp("sample"), sample_server) as url:
        yield url


def test_from_the_overview_to_an_answer(page: Page, sample: str) -> None:
    page.goto(sample)
    page.get_by_role("link", name="default/web-3").click()
    expect(
        page.get_by_text(re.compile(r"default/web-3 goes to worker-a1: \d+ of [\d,]+ points"))
    ).to_be_visible()
    page.get_by_role("link", name="Nodes").click()
    page.get_by_role("link", name="worker-a1", exact=True).click()
    page.get_by_role("link", name="What if it goes?").click()
    going = page.get_by_role("region", name="If worker-a1 goes")
    expect(going).to_contain_text("It can't go")
    expect(going).to_contain_text("default/web-1 ✕ no controller would recreate it")


def test_a_pod_that_runs_says_where_and_whether_that_is_todays_answer(page: Page, sample: str) -> None:
    page.goto(f"{sample}#/pods/default/web-1")
    said = page.get_by_text(re.compile("default/web-1 is on worker-a1; today it goes to worker-"))
    expect(said).to_be_visible()


def test_a_process_without_a_queue_says_so_and_lists_what_waits(page: Page, sample: str) -> None:
    page.goto(f"{sample}#/queue")
    expect(page.get_by_text("This process answers questions and has no queue")).to_be_visible()
    waiting = page.get_by_role("grid", name="Pods without a node").get_by_role("row")
    expect(waiting.filter(has_text="default/web-3")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_process_that_is_gone_is_marked(page: Page, sample: str) -> None:
    page.route(
        "**/api/v1/processes",
        lambda route: route.fulfill(
            json={"processes": [{"name": "a", "address": "x", "state": "unreachable", "message": "gone"}]}
        ),
    )
    page.goto(sample)
    expect(page.get_by_role("alert")).to_contain_text("unreachable")


FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return [at.getAttribute("role") ?? "", at.textContent.trim()];
}"""


def tab_to(page: Page, *, role: str = "", name: str = "") -> None:
    """Press Tab until what has this role or text has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found, text = page.evaluate(FOCUSED)
        if (role and found == role) or (name and text == name):
            return
    raise AssertionError(f"no {role or name} gets the focus")


def test_the_same_without_a_mouse_under_a_prefix(
    browser: Browser, tmp_path: Path, sample_server: str
) -> None:
    """Dark, and as an ingress shows it: below a path of its own."""
    with web(tmp_path, sample_server, "--path-prefix", "/mooring") as url:
        context = browser.new_context(color_scheme="dark", viewport={"width": 900, "height": 700})
        page = context.new_page()
        page.goto(f"{url}mooring")
        expect(page.get_by_role("link", name="default/web-3")).to_be_visible()
        tab_to(page, name="default/web-3")
        page.keyboard.press("Enter")
        sentence = page.get_by_text(re.compile("default/web-3 goes to worker-a1"))
        expect(sentence).to_be_visible()
        grid = page.get_by_role("grid", name="Nodes and what each plugin says")
        tab_to(page, role="grid")
        while grid.evaluate("element => !element.matches(':focus')"):
            tab_to(page, role="grid")
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
            page.keyboard.press(key)
        expect(page.get_by_role("region", name="control-plane-1")).to_be_visible()
        assert "/mooring/" in page.url
        context.close()


def test_a_filter_that_is_none_says_so_and_nothing_goes_on_loading(page: Page, sample: str) -> None:
    page.goto(f"{sample}#/decisions?selector=a===b")
    expect(page.get_by_role("alert")).to_contain_text("'a===b' is not one of KEY=VALUE")
    expect(page.get_by_text("Loading")).to_have_count(0)
