"""One warning, with advice, if an author's plugin takes most of the time of decisions."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Pure, ScorePlugin, Status
from mooring.runtime.cycle import time_shares
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import Observer
from mooring.runtime.cycle.time_shares import WINDOW, TimeShares
from mooring.telemetry.decision_metrics import answer_metrics
from mooring.telemetry.metrics import Scraped
from tests.runtime.pure.engines import RACKS, Rules, nodes


class Clock:
    """Time that passes only in a test's steps."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()


class Slow(FilterPlugin[None]):
    """Takes a second for each node."""

    name = "Slow"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        CLOCK.now += 1
        return SUCCESS


class Rack(ScorePlugin[None], Pure):
    name = "Rack"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        CLOCK.now += 1
        return len(node.labels.get("rack", ""))


class Measuring(Observer):
    """Has each decision measured."""

    def measures_plugins(self) -> bool:
        return True


def placed_alike(rules: Rules) -> None:
    pods = [rules.pod() for _ in range(3)]
    names = [pod.metadata.name for pod in pods]
    uids = [pod.metadata.uid for pod in pods]
    rules.engine.place_batch([(pods[0], rules.profile)], [0, 0, 0], names, uids)


def asked_alike(rules: Rules) -> None:
    rules.engine.decide_batch([(rules.pod(), rules.profile)], [0, 0], ["u", "v"])


DOORS: dict[str, Callable[[Rules], object]] = {
    "a decision": lambda rules: rules.decide(place=False),
    "a placement": lambda rules: rules.decide(),
    "filter": lambda rules: rules.engine.filter(rules.pod(), rules.profile, ALL_NODES),
    "score": lambda rules: rules.engine.score(rules.pod(), rules.profile, ALL_NODES),
    "a batch of placements": placed_alike,
    "a batch of questions": asked_alike,
}


def measured(monkeypatch: pytest.MonkeyPatch, rule: type, window: int) -> Rules:
    monkeypatch.setattr(time, "perf_counter", CLOCK)
    monkeypatch.setattr(time_shares, "WINDOW", window)
    return Rules(rule, nodes(), observer=Measuring())


@pytest.mark.parametrize("door", [name for name in DOORS if name != "score" and "batch" not in name])
def test_a_slow_plugin_is_told_once_at_each_door(
    door: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rules = measured(monkeypatch, Slow, 2)
    for _ in range(6):
        DOORS[door](rules)
    (told,) = (message for message in caplog.messages if "takes" in message)
    assert "plugin Slow takes 100 % of the time of profile default-scheduler's decisions" in told
    assert "20000.0 ms of each" in told
    for remedy in ("Pure", "pods_by", "CacheablePlugin", "mooring plugins bench"):
        assert remedy in told


@pytest.mark.parametrize("door", [name for name in DOORS if name != "filter"])
def test_the_time_of_a_rule_that_is_followed_is_that_of_its_first_calls(
    door: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rules = measured(monkeypatch, Rack, 1)
    rules.decide(place=False)
    assert "plugin Rack takes 100 %" in caplog.text
    before = CLOCK.now
    for _ in range(3):
        DOORS[door](rules)
    # A plain call checks now and then.
    assert CLOCK.now - before <= 9
    assert caplog.text.count("takes 100 %") == 1


@pytest.mark.parametrize(
    ("plugin", "spent", "rest", "count", "warns"),
    [
        pytest.param("Slow", 0.6, 0.4, WINDOW, True, id="most of the time"),
        pytest.param("Slow", 0.4, 0.6, WINDOW, False, id="less than half"),
        pytest.param("NodeName", 0.6, 0.4, WINDOW, False, id="not an author's"),
        pytest.param("Slow", 0.6, 0.4, WINDOW - 1, False, id="too few decisions"),
        pytest.param("Slow", 0.0006, 0.0004, WINDOW, False, id="hardly any time"),
    ],
)
def test_what_is_worth_a_warning(
    plugin: str, spent: float, rest: float, count: int, *, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    shares, profile = TimeShares(), Rules(Slow).profile
    for _ in range(count):
        shares.add(profile, None, 1000.0)
        shares.add(profile, defaultdict(float, {plugin: spent, "Other": rest / 2}), spent + rest)
    assert (f"plugin {plugin} takes 60 %" in caplog.text) is warns


def test_batches_count_with_all_their_pods(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    shares, profile = TimeShares(), Rules(Slow).profile
    shares.add(profile, defaultdict(float, {"Slow": 1.0}), 1.0)
    shares.add(profile, defaultdict(float), 2.0, WINDOW)
    assert not caplog.messages


def test_kept_answers_and_calls_are_counted() -> None:
    rules = Rules(Rack)
    registry = CollectorRegistry()
    registry.register(Scraped(lambda: answer_metrics([rules.profile])))

    def counted() -> list[float]:
        labels = {"plugin": "Rack", "extension_point": "Score", "profile": "default-scheduler"}
        name = "mooring_plugin_answers_total"
        found = [registry.get_sample_value(name, {**labels, "result": each}) for each in ("hit", "miss")]
        return [value for value in found if value is not None]

    assert counted() == [0, 0]
    rules.decide()
    hits, misses = counted()
    assert (hits > 0, misses) == (True, RACKS)
    rules.decide()
    assert counted() == [hits + len(nodes()), RACKS]
