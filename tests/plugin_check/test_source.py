from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mooring.framework import Plugin
from mooring.plugin_check.source import impurities, texts_of
from mooring.runtime.profiles.profile import Profile
from mooring.testing.question import question
from tests.plugin_check import honest_rules, impure_rules


def rules(module: ModuleType) -> list[Any]:
    kinds = [each for each in vars(module).values() if isinstance(each, type) and "name" in vars(each)]
    return [pytest.param(kind, id=kind.__name__) for kind in kinds if issubclass(kind, Plugin)]


def named_lines(kind: type[Plugin[Any]]) -> set[int]:
    plugin = kind(kind.Args() if kind.Args else None, None)  # type: ignore[arg-type]
    found = impurities(plugin)
    assert {each.place.rpartition(":")[0] for each in found} <= {inspect.getsourcefile(kind)}
    return {int(each.place.rpartition(":")[2]) for each in found}


REACHED = {
    "Today": ["half_past"],
    "Closure": ["_closed"],
    "Boxed": ["Box"],
}
"""Functions and classes that a rule's answers depend on besides its own class."""


@pytest.mark.parametrize("kind", rules(impure_rules))
def test_every_line_that_breaks_the_promise_is_named_and_no_other(kind: type[Plugin[Any]]) -> None:
    reached = (
        [kind]
        if kind.name not in REACHED
        else [kind, *(vars(impure_rules)[each] for each in REACHED[kind.name])]
    )
    marked = {
        number
        for each in reached
        for number, line in enumerate(inspect.getsourcelines(each)[0], inspect.getsourcelines(each)[1])
        if "# impure" in line
    }
    assert marked
    assert named_lines(kind) == marked


@pytest.mark.parametrize("kind", rules(honest_rules))
def test_an_honest_rule_is_left_alone(kind: type[Plugin[Any]]) -> None:
    assert named_lines(kind) == set()


def test_a_base_class_in_another_package_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "from mooring.framework import Pure, ScorePlugin\nimport time\n"
    (tmp_path / "a_base.py").write_text(
        f"{head}class Base(ScorePlugin):\n    def score(self, state, pod, node):\n"
        "        return int(time.time()) if 'a/key' in node.labels else 0\n"
    )
    (tmp_path / "a_rule.py").write_text(
        "from a_base import Base, Pure\nclass Rule(Base, Pure):\n    name = 'Rule'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    kind = importlib.import_module("a_rule").Rule
    (found,) = impurities(kind(None, None))
    assert found.place == f"{tmp_path / 'a_base.py'}:5"
    assert "a/key" in texts_of(kind)


def test_most_plugins_in_the_tree_are_pure() -> None:
    profile: Profile = question([], {"kind": "Pod", "metadata": {"name": "p"}, "spec": {}}).profile
    impure = {name for name, plugin in profile.plugins.items() if impurities(plugin)}
    assert impure == {
        "DynamicResources",  # keeps searches, and makes names
        "ImageLocality",  # asks the handle for the release, as the next ones do
        "InterPodAffinity",
        "NodeVolumeLimits",  # a lock around a table of its own
        "PodTopologySpread",  # keeps by identity
        "VolumeBinding",
    }
