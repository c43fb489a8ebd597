"""Pictures of every view, wide, narrow and dark: `python -m tests.web.screenshots FOLDER` writes them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.web.conftest import CHROMIUM
from tests.web.live import Live, live_page

FOLDER = Path("docs/page")


class Window(NamedTuple):
    """A size of the window, and whether the scheme is dark."""

    width: int
    height: int
    scheme: str


WINDOWS = {
    "wide": Window(1400, 900, "light"),
    "dark": Window(1400, 900, "dark"),
    "narrow": Window(390, 800, "light"),
}

VIEWS = {
    "overview": "",
    "decisions": "decisions",
    "decision": "decisions/{web}",
    "rejected": "decisions/{big}",
    "pod": "pods/default/picky",
    "pods": "pods",
    "owner": "owners/default/ReplicaSet/big",
    "nodes": "nodes",
    "node": "nodes/worker-gpu",
    "queue": "queue",
    "profiles": "profiles",
    "what-if": "what-if?node={node}",
}


def take(browser: Browser, live: Live, folder: Path) -> list[Path]:
    """Write VIEW-WINDOW.png for each view and window; their paths."""
    placed = live.decision("web-0")
    known = {"web": placed.seq, "big": live.decision("big-0").seq, "node": placed.node}
    paths = []
    for window, (width, height, scheme) in WINDOWS.items():
        size = {"width": width, "height": height}
        page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        for view, route in VIEWS.items():
            page.goto(f"{live.url}#/{route.format(**known)}")
            _complete(page)
            paths.append(folder / f"{view}-{window}.png")
            page.screenshot(path=paths[-1])
        page.close()
    return paths


def _complete(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)
    expect(page.get_by_text("Placing its pods …")).to_have_count(0)


def main() -> None:
    """Start a scheduler and a browser, and write the pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as logs,
        live_page(Path(logs)) as live,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        print(*take(browser, live, folder), sep="\n")
        browser.close()


if __name__ == "__main__":
    main()
