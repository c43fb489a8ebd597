"""A browser follows every link of the page of `mooring run`: each view has something to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.test_run import running

pytestmark = pytest.mark.browser

# All elements of the main area, those within components too: its links, and its text.
CONTENT = """() => {
  const [links, texts] = [[], []];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.data.trim());
    if (node.localName === "style") return;
    if (node.localName === "a" && node.getAttribute("href")) links.push(node.getAttribute("href"));
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) walk(child);
  };
  walk(document.querySelector("mooring-page").shadowRoot.querySelector("main"));
  return [links, texts.filter(Boolean).join(" ")];
}"""

VIEWS = ("", "decisions", "pods", "nodes", "queue", "profiles", "what-if")

EACH = 3
"""How many links of one kind are followed: pods are alike, and there are hundreds."""


def kind_of(link: str) -> str:
    """Return the kind of a link's target: a list, one object, or a filtered list."""
    path, _, query = unquote(link).partition("?")
    parts = path.removeprefix("#/").split("/")
    return " ".join([parts[0], str(len(parts)), *sorted(part.partition("=")[0] for part in query.split("&"))])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("run")) as run:
        found = re.search(r"page=(\S+)", run.ready)
        assert found, run.log.read_text()
        yield found[1]


def content_of(page: Page) -> tuple[list[str], str]:
    """Return the links and the text of the main area, once nothing is loading there."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for words in ("Loading …", "Placing its pods …"):
        expect(page.get_by_text(words)).to_have_count(0, timeout=20_000)
    links, text = page.evaluate(CONTENT)
    return links, text


def test_every_link_leads_to_something(browser: Browser, url: str) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on(
        "response",
        lambda answer: (
            faults.append(f"{page.url}: {answer.url} {answer.status}") if answer.status >= 400 else None
        ),
    )
    page.goto(url)
    # The sample's life has begun.
    expect(page.get_by_role("link", name="ReplicaSet research/render")).to_be_visible()
    waiting, followed, kinds = [f"#/{view}" for view in VIEWS], set[str](), dict[str, int]()
    while waiting:
        link = waiting.pop(0)
        if link in followed or kinds.get(kind_of(link), 0) >= EACH:
            continue
        followed.add(link)
        kinds[kind_of(link)] = kinds.get(kind_of(link), 0) + 1
        page.goto(f"{url}{link}")
        links, shown = content_of(page)
        boxes = page.get_by_role("alert").all_inner_texts()
        heading = page.get_by_role("heading", level=1).inner_text()
        if boxes or len(shown.replace(heading, "").strip()) < 20:
            faults.append(f"{link}: {boxes or shown!r}")
        waiting += [each for each in links if each.startswith("#")]
    context.close()
    print(f"{len(followed)} links of {len(kinds)} kinds followed: {sorted(kinds)}")
    assert not faults, "\n".join(faults)
    assert {
        f"{name} " for name in ("pods 3", "nodes 2", "owners 4", "decisions 2", "plugins 2")
    } <= kinds.keys()
