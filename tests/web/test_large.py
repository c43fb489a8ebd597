"""Large tables: what is in sight is in the document, weights rank all nodes, and scrolling stays smooth."""

from __future__ import annotations

import gzip
import json
import re
from random import Random
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, Route, expect

from mooring.web.columns import encode
from mooring_client.v1.scheduling_service_pb2 import ExplainResponse
from mooring_client.v1.verdicts_pb2 import VERDICT_CODE_SUCCESS, VERDICT_CODE_UNSCHEDULABLE

pytestmark = pytest.mark.browser

PLUGINS = 20
MOST_ROWS = 60

STEPS = 40

# From a slider's event to the next frame, 40 times; the median is what a person feels.
DRAG = """async () => {
  const deep = (root, name) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.localName === name) return element;
      const found = element.shadowRoot && deep(element.shadowRoot, name);
      if (found) return found;
    }
  };
  const sliders = deep(document, "mooring-weights").shadowRoot.querySelectorAll("input");
  const times = [];
  for (let step = 0; step < 40; step++) {
    const slider = sliders[step % sliders.length];
    const begin = performance.now();
    slider.valueAsNumber = (step * 7) % 11;
    slider.dispatchEvent(new InputEvent("input"));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b)[20];
}"""


def explanation(nodes: int) -> ExplainResponse:
    """Return an answer about ``nodes`` nodes, a fifth of them rejected, with random scores."""
    random = Random(nodes)
    answer = ExplainResponse(evaluated_count=nodes, seed=1, weight_sum=PLUGINS)
    answer.pod.namespace, answer.pod.name = "prod", "web"
    answer.nodes.names.names.extend(f"ip-10-0-{number}.eu-west-1.compute.internal" for number in range(nodes))
    answer.verdicts.distinct.add(code=VERDICT_CODE_SUCCESS)
    answer.verdicts.distinct.add(
        code=VERDICT_CODE_UNSCHEDULABLE, plugin="NodeResourcesFit", reasons=["Insufficient cpu"]
    )
    answer.verdicts.node_verdicts.extend(int(number % 5 == 0) for number in range(nodes))
    scored = [number for number in range(nodes) if number % 5]
    answer.scored_positions.extend(scored)
    answer.feasible_count = len(scored)
    for number in range(PLUGINS):
        scores = [random.randint(0, 100) for _ in scored]
        answer.plugins.add(plugin=f"Plugin{number}", weight=1, raw=scores, normalized=scores)
    answer.totals.extend(
        sum(plugin.normalized[index] for plugin in answer.plugins) for index in range(len(scored))
    )
    return answer


# When the first text was painted, and when the frame with the best node is done, since the navigation began.
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
SHOWN = """() => new Promise((done) =>
  requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"""


def processor_ms(devtools: CDPSession) -> float:
    """Return the processor time of the page's main thread: script, style, layout and paint."""
    found = devtools.send("Performance.getMetrics")["metrics"]
    return 1e3 * float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


@pytest.mark.parametrize("nodes", [5_000, 20_000, 50_000])
def test_only_what_is_in_sight_is_in_the_document(page: Page, nodes: int) -> None:
    answer = explanation(nodes)
    columns = encode(answer, {"made": "kept"})

    def fulfill(route: Route) -> None:
        route.fulfill(body=columns, content_type="application/octet-stream")

    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.route(re.compile("/decisions/1/columns"), fulfill)
    page.goto("#/decisions/1")
    grid = page.get_by_role("grid", name="Nodes and what each plugin says")
    expect(grid).to_have_attribute("aria-rowcount", str(nodes + 1))
    rows = grid.get_by_role("row")
    best = max(answer.totals)
    expect(rows.nth(1)).to_contain_text(f"{best:,}")
    first, shown = page.evaluate(PAINTED), page.evaluate(SHOWN)
    print(f"{nodes} nodes x {PLUGINS} plugins: first paint {first:.0f} ms, best node {shown:.0f} ms")
    print(f"until then {processor_ms(devtools):.0f} ms of a processor")
    print(f"columns: {len(columns):,} bytes, {len(gzip.compress(columns, 1)):,} compressed")
    assert rows.count() < MOST_ROWS
    grid.focus()
    page.keyboard.press("End")
    expect(rows.last).to_have_attribute("aria-rowindex", str(nodes + 1))
    expect(rows.last).to_contain_text("Insufficient cpu")
    assert rows.count() < MOST_ROWS
    page.keyboard.press("Home")
    before = processor_ms(devtools)
    median = page.evaluate(DRAG)
    each = (processor_ms(devtools) - before) / STEPS
    print(f"slider to repaint {median:.0f} ms (median), {each:.1f} ms of a processor (mean)")
    expect(page.get_by_text(re.compile("would go to ip-10-0-"))).to_be_visible()
    assert rows.count() < MOST_ROWS


# A screenful further with each step; the 95th of 100 is the worst that people feel.
SCROLL = """async () => {
  const deep = (root, name) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.localName === name) return element;
      const found = element.shadowRoot && deep(element.shadowRoot, name);
      if (found) return found;
    }
  };
  const grid = deep(document, "mooring-grid");
  const scroller = grid.shadowRoot.querySelector(".scroller");
  const times = [];
  for (let step = 0; step < 100; step++) {
    const begin = performance.now();
    scroller.scrollTop += scroller.clientHeight;
    await new Promise((done) => scroller.addEventListener("scroll", done, { once: true }));
    await grid.updateComplete;
    void scroller.offsetHeight;
    times.push(performance.now() - begin);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  times.sort((a, b) => a - b);
  return [times[50], times[95]];
}"""

SCROLLS = 100
NODES, PODS = 20_000, 100_000


def nodes_answer() -> dict[str, Any]:
    """Return the answer of ListNodes about many nodes, in the contract's JSON."""
    random = Random(1)
    column = {
        "cpu": (64_000, 1_000),
        "memory": (256 << 30, 4 << 30),
        "pods": (110, 1),
        "nvidia.com/gpu": (8, 1),
    }
    resources = [
        {
            "name": name,
            "allocatable": [str(most)] * NODES,
            "requested": [str(random.randrange(0, most, step)) for _ in range(NODES)],
        }
        for name, (most, step) in column.items()
    ]
    usage = {
        "resources": resources,
        "zones": ["", "eu-west-1a", "eu-west-1b", "eu-west-1c"],
        "zonePositions": [1 + number % 3 for number in range(NODES)],
        "taints": ["", "nvidia.com/gpu=true:NoSchedule"],
        "taintPositions": [int(number % 10 == 0) for number in range(NODES)],
        "cordonedPositions": list(range(0, NODES, 100)),
    }
    names = [f"ip-10-0-{number // 250}-{number % 250}.eu-west-1.compute.internal" for number in range(NODES)]
    return {"complete": True, "nodes": {"names": {"names": names}}, "usage": usage}


def pods_answer(route: Route) -> None:
    """Answer with a page of ListPods about many pods."""
    request: dict[str, Any] = route.request.post_data_json or {}
    first = request.get("skip", 0)
    pods = [
        {
            "pod": {"namespace": f"team-{number % 40}", "name": f"app-{number}", "uid": str(number)},
            "node": f"ip-10-0-{number % 80}-{number % 250}.eu-west-1.compute.internal",
            "controllerKind": "ReplicaSet",
            "controllerName": f"app-{number // 10}",
            "creationTime": "2026-11-01T00:00:00Z",
            "requests": {"cpu": "500", "memory": str(1 << 30)},
        }
        for number in range(first, min(PODS, first + request["pageSize"]))
    ]
    route.fulfill(json={"pods": pods, "podCount": PODS, "nextPageToken": "list.200"})


@pytest.mark.parametrize(("view", "rows"), [("nodes", NODES), ("pods", PODS)])
def test_scrolling_a_large_table(page: Page, view: str, rows: int) -> None:
    nodes = json.dumps(nodes_answer())
    page.route(
        re.compile("ClusterService/ListNodes"),
        lambda route: route.fulfill(body=nodes, content_type="application/json"),
    )
    page.route(re.compile("ClusterService/ListPods"), pods_answer)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"#/{view}")
    grid = page.get_by_role("grid", name=view.title())
    expect(grid).to_have_attribute("aria-rowcount", str(rows + 1), timeout=30_000)
    shown = processor_ms(devtools)
    middle, worst = page.evaluate(SCROLL)
    each = (processor_ms(devtools) - shown) / SCROLLS
    print(
        f"{rows:,} {view}: shown after {shown:.0f} ms of a processor; a step of scrolling {middle:.1f} ms",
        end="",
    )
    print(f" (median), {worst:.1f} ms (95th), {each:.1f} ms of a processor (mean, with painting)")
    assert grid.get_by_role("row").count() < MOST_ROWS
    grid.focus()
    page.keyboard.press("End")
    last = grid.get_by_role("row").last
    expect(last).to_have_attribute("aria-rowindex", str(rows + 1))
    expect(last).not_to_contain_text("…", timeout=10_000)
    assert grid.get_by_role("row").count() < MOST_ROWS
