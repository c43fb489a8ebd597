"""A person's path after `make run`: the page open, why web-3 is where it is, what if worker-a1 goes."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.cli.commands import serving
from tests.web.live import web

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of a server on the sample cluster, as `mooring run` starts both."""
    folder = tmp_path_factory.mktemp("sample")
    with serving(folder) as server, web(folder, server.address("grpc")) as url:
        yield url


def test_from_the_overview_to_an_answer(page: Page, sample: str) -> None:
    page.goto(sample)
    page.get_by_role("link", name="Ask about them").click()
    page.get_by_role("link", name="default/web-3").click()
    expect(
        page.get_by_text(re.compile(r"default/web-3 goes to worker-a1: \d+ of [\d,]+ points"))
    ).to_be_visible()
    page.get_by_role("link", name="Nodes").click()
    page.get_by_role("link", name="worker-a1", exact=True).click()
    page.get_by_role("link", name="What if it goes?").click()
    going = page.get_by_role("region", name="If worker-a1 goes")
    expect(going).to_contain_text("It can't go")
    expect(going).to_contain_text("default/web-1 ✕ no controller would make it anew")


def test_a_pod_that_runs_says_where_and_whether_that_is_todays_answer(page: Page, sample: str) -> None:
    page.goto(f"{sample}#/pods/default/web-1")
    said = page.get_by_text(re.compile("default/web-1 is on worker-a1; today it goes to worker-"))
    expect(said).to_be_visible()


def test_a_process_without_a_queue_says_so(page: Page, sample: str) -> None:
    page.goto(f"{sample}#/queue")
    expect(page.get_by_role("alert")).to_contain_text("ask the scheduler")


def test_a_process_that_is_gone_is_marked(page: Page, sample: str) -> None:
    page.route(
        "**/api/v1/processes",
        lambda route: route.fulfill(
            json={"processes": [{"name": "a", "address": "x", "state": "unreachable", "message": "gone"}]}
        ),
    )
    page.goto(sample)
    expect(page.get_by_role("alert")).to_contain_text("unreachable")
