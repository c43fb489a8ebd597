"""One browser and one live scheduler for all tests of a worker; a page of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.web.live import Live, live_page

CHROMIUM = "/usr/bin/chromium"
WIDE = {"width": 1400, "height": 900}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder: Path = tmp_path_factory.mktemp("web")
    with live_page(folder) as running:
        yield running


@pytest.fixture
def page(browser: Browser, live: Live) -> Iterator[Page]:
    """Whatever its script throws, and whatever its policy keeps out, fails the test."""
    context = browser.new_context(base_url=live.url, viewport=WIDE)  # type: ignore[arg-type]
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened, faults = context.new_page(), []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda line: faults.append(line.text) if "Content Security" in line.text else None)
    yield opened
    context.close()
    assert faults == []
