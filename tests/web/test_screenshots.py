"""The pictures of the documents can be taken again, and are all there."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.web.live import Live
from tests.web.screenshots import FOLDER, take

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


def test_each_view_has_its_pictures(browser: Browser, live: Live, tmp_path: Path) -> None:
    taken = {path.name for path in take(browser, live, tmp_path)}
    kept = {path.name for path in (ROOT / FOLDER).glob("*.png")}
    assert kept == taken, f"run `python -m tests.web.screenshots`, and commit {FOLDER}"
