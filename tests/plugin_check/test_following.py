from __future__ import annotations

from types import ModuleType

import pytest

from mooring.app.options import EngineOptions
from mooring.plugin_check import following
from mooring.plugin_check.following import Following
from mooring.plugin_check.subject import Subject
from mooring.testing import make_node, make_pod
from tests.plugin_check import honest_rules, wrong_rules

NODES = 300


@pytest.fixture(autouse=True)
def _few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "NODES", NODES)


def followed(module: ModuleType, name: str, *dump: object) -> Following:
    subject = Subject.named(f"{module.__name__}:{name}", {}, EngineOptions())
    return following.following(subject, dump)  # type: ignore[arg-type]


def test_reads_are_named_and_like_nodes_cost_one_call() -> None:
    found = followed(honest_rules, "Label")
    assert (found.nodes, found.followed) == (NODES, True)
    assert found.reads == (
        "node.metadata.labels[example.com/rack]",
        "node.metadata.labels[tier]",
        "pod.metadata.annotations[example.com/rack]",
    )
    # 50 values of a label, or none; a few calls more until all that is read is known.
    first, later = found.calls["filter"]
    assert 1 <= first < 60
    assert later < 1
    assert found.events == ("every change of its reads",)


def test_a_name_costs_a_call_for_each_node() -> None:
    found = followed(honest_rules, "Free")
    assert "node.metadata.name" in found.reads
    assert found.calls["score"][0] >= NODES


def test_measured_values_are_made_up() -> None:
    found = followed(honest_rules, "Cool")
    assert found.reads == ("measured[heat]",)
    # Four values, or none; a few calls more as above.
    assert 1 <= found.calls["filter"][0] < 15


def test_a_rule_about_groups_alone_answers_about_no_pod() -> None:
    found = followed(honest_rules, "Small")
    assert (found.followed, found.reads, found.calls) == (True, (), {})


def test_a_dump_says_what_its_nodes_cost() -> None:
    nodes = [make_node(f"n{number}", labels={"tier": "gold"}) for number in range(9)]
    found = followed(honest_rules, "Label", *nodes, make_pod("p"))
    assert found.nodes == 9
    assert found.calls["score"][0] <= 3


def test_what_cannot_be_followed_is_shown() -> None:
    found = followed(wrong_rules, "Encoded")
    assert not found.followed
    assert found.calls["filter"][1] == NODES


def test_events_have_names() -> None:
    assert followed(wrong_rules, "Asleep").events == ("Node: add",)
