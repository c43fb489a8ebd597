"""Whatever stands in names, labels and reasons is shown as text and never run."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from mooring.testing.builders import node_manifest
from tests.web.live import MARKUP, Live, live_page, sized

pytestmark = pytest.mark.browser

NAME = f"{MARKUP}\N{RIGHT-TO-LEFT OVERRIDE}\a\x1b[31m"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Yield one of its own: other tests know the nodes that there are."""
    node = node_manifest(MARKUP, labels={"example.com/label": MARKUP}, spec={"unschedulable": True})
    with live_page(tmp_path_factory.mktemp("markup"), node) as running:
        yield running


@pytest.fixture(scope="module")
def marked(live: Live) -> str:
    """Return the seq of a decision about a pod whose name is markup, on nodes whose names and labels are."""
    (decision,) = live.decide(sized(NAME, "64", MARKUP))
    return str(decision.seq)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("", id="overview"),
        pytest.param("decisions", id="decisions"),
        pytest.param("decisions/{seq}", id="decision"),
        pytest.param("pods", id="pods"),
        pytest.param(f"pods/default/{quote(NAME, safe='')}", id="pod"),
        pytest.param("nodes", id="nodes"),
        pytest.param(f"nodes/{quote(MARKUP, safe='')}", id="node"),
        pytest.param("queue", id="queue"),
        pytest.param(f"what-if?node={quote(MARKUP, safe='')}", id="what-if"),
        pytest.param(f"decisions?pod={quote(MARKUP, safe='')}", id="a filter"),
        pytest.param(f"plugins/{quote(MARKUP, safe='')}", id="a plugin"),
        pytest.param(quote(MARKUP, safe=""), id="no view"),
    ],
)
def test_markup_is_text(page: Page, marked: str, path: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.goto(f"#/{path.format(seq=marked)}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script").count() == 0


def test_it_is_shown(page: Page, marked: str) -> None:
    page.goto(f"#/decisions/{marked}")
    expect(page.get_by_text(f"default/{MARKUP}", exact=False).first).to_be_visible()
    grid = page.get_by_role("grid", name="Nodes and what each plugin says")
    expect(grid.get_by_role("row").filter(has_text=MARKUP)).to_be_visible()
