"""The tasks of a newcomer on the page, beginning at the overview."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.newcomer.cluster import newcomer
from tests.newcomer.tasks import TASKS, Task
from tests.web.conftest import WIDE
from tests.web.live import web

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    folder = tmp_path_factory.mktemp("newcomer")
    with newcomer(folder) as met, web(folder, met.server) as url:
        page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]
        yield page, url
        page.close()


@pytest.mark.parametrize("task", [pytest.param(task, id=task.id) for task in TASKS])
def test_the_page_answers(opened: tuple[Page, str], task: Task) -> None:
    page, url = opened
    page.goto(f"{url}#/")
    for step in task.page:
        act(page, step)
    expect(page.locator("main")).to_contain_text(re.compile(task.seen), timeout=20_000)


def act(page: Page, step: str) -> None:
    """Do what a step of the table says."""
    kind, _, name = step.partition(" ")
    if kind == "link":
        page.get_by_role("link", name=name, exact=True).first.click()
    elif kind == "button":
        page.get_by_role("button", name=name, exact=True).click()
    elif kind == "row":
        page.get_by_role("row").filter(has_text=name).first.get_by_role("link").first.click()
    else:
        label, _, text = name.partition("=")
        page.get_by_label(label).fill(text)
        page.keyboard.press("Enter")
