"""``mooring config show`` is what kube-scheduler writes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from mooring.config import from_document, load, show
from mooring.config.documents import read_configuration
from mooring.config.show import plain
from tests.config.catalogs import HelloWorldPluginArgs, in_tree, plugin, with_plugins
from tests.config.documents import document, enabled, profile
from tests.config.random_configs import random_configuration

WRITTEN = Path(__file__).parent / "testdata" / "written"
NAMES = sorted(path.name.removesuffix(".expected.yaml") for path in WRITTEN.glob("*.expected.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_as_kube_scheduler_writes_it(name: str) -> None:
    shown = show(load((WRITTEN / f"{name}.yaml").read_text(), in_tree()))
    body = "".join(line for line in shown.splitlines(keepends=True) if not line.startswith("#"))
    assert body == (WRITTEN / f"{name}.expected.yaml").read_text()


@given(st.integers(0, 10_000))
def test_what_is_shown_means_the_same(seed: int) -> None:
    first = from_document(random_configuration(seed), in_tree())
    assume(all("NodeResourcesFit" in profile.args for profile in first.profiles))  # extenders may ask for it
    again = from_document(plain(first.document), in_tree())
    assert plain(again.document) == plain(first.document)
    assert [p.plugins for p in again.profiles] == [p.plugins for p in first.profiles]
    assert [p.args for p in again.profiles] == [p.args for p in first.profiles]


def test_the_head_names_hash_unsupported_plugins_and_warnings() -> None:
    configuration = from_document(document(), in_tree())
    head = [line for line in show(configuration).splitlines() if line.startswith("#")]
    assert head[0] == f"# configuration hash: {configuration.hash}"
    assert "NodeDeclaredFeatures" in head[1]
    assert head[2:] == [f"# warning: {warning}" for warning in configuration.warnings]


def test_out_of_tree_arguments_are_shown_with_their_defaults() -> None:
    catalog = with_plugins(plugin("Hello", "score", args=HelloWorldPluginArgs))
    config = document(profile(args={"Hello": {"zzz": 3}}, score=enabled("Hello")))
    entries = read_configuration(show(from_document(config, catalog)))["profiles"][0]["pluginConfig"]
    hello = next(entry["args"] for entry in entries if entry["name"] == "Hello")
    assert hello["zzz"] == 3
    assert hello["kind"] == "HelloArgs"


def test_random_configurations_are_repeatable() -> None:
    assert yaml.safe_dump(random_configuration(7)) == yaml.safe_dump(random_configuration(7))
    assert random_configuration(7) != random_configuration(8)
