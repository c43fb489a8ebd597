"""A decision in a notebook: the page's component in a frame of its own, without the rest of the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from mooring import lab
from mooring.testing.builders import node_manifest, pod_manifest
from tests.web.live import MARKUP

pytestmark = pytest.mark.browser


def test_it_is_shown_and_weighed_without_a_server(browser: Browser, tmp_path: Path) -> None:
    nodes = [node_manifest(name, allocatable={"cpu": cpu}) for name, cpu in (("a", "4"), (MARKUP, "8"))]
    cluster = lab.load(objects=[*nodes, pod_manifest("web", requests={"cpu": "2"})])
    notebook = tmp_path / "notebook.html"
    shown = cluster.explain("web").show()._repr_html_()
    notebook.write_text(f"<!doctype html><title>A notebook</title><h1>A notebook</h1>{shown}")
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(notebook.as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.get_by_text("default/web", exact=True)).to_be_visible()
    grid = frame.get_by_role("grid", name="Nodes and what each plugin says")
    expect(grid.get_by_role("row").nth(1)).to_contain_text(MARKUP)
    frame.get_by_label("NodeResourcesFit").first.fill("9")
    expect(frame.get_by_text("still selects")).to_be_visible()
    assert [url for url in asked if not url.startswith(("file:", "about:"))] == []
    assert page.frames[1].evaluate("window.hacked") is None
    page.close()


def test_advice_comes_first(browser: Browser, tmp_path: Path) -> None:
    taint = {"key": "gpu", "value": MARKUP, "effect": "NoSchedule"}
    cluster = lab.load(objects=[node_manifest("a", spec={"taints": [taint]}), pod_manifest("web")])
    file = tmp_path / "decision.html"
    file.write_text(cluster.explain("web").show().html)
    page = browser.new_page()
    page.goto(file.as_uri())
    expect(page.get_by_text(f"→ tolerate gpu={MARKUP}:NoSchedule").first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    page.close()
