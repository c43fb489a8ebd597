"""Whatever is in a file, the answer is a configuration or a list of faults."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.config import ConfigError, convert, fields, from_document
from mooring.config.documents import read_configuration
from mooring.runtime.profiles.registry import new_in_tree_registry
from tests.config.catalogs import IN_TREE_POINTS, in_tree
from tests.config.random_configs import random_configuration

JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "*",
    "x",
    [],
    [None],
    [5],
    ["x"],
    {},
    {"name": 5},
    {"a": {"b": []}},
]

POLICY: dict[str, Any] = {
    "kind": "Policy",
    "predicates": [{"name": "HostName"}, {"name": "x", "argument": {"serviceAffinity": {"labels": ["a"]}}}],
    "priorities": [
        {"name": "LeastRequestedPriority", "weight": 1},
        {"name": "x", "weight": 1, "argument": {"requestedToCapacityRatioArguments": {"shape": []}}},
    ],
    "extenders": [
        {
            "urlPrefix": "http://x",
            "httpTimeout": 5,
            "tlsConfig": {"Insecure": True},
            "managedResources": [{"name": "a"}],
        }
    ],
    "hardPodAffinitySymmetricWeight": 5,
}


def spoilt(value: Any, rng: random.Random) -> Any:
    """Return the document with one value somewhere in it replaced by junk, or a field added."""
    if rng.random() < 0.25 or not isinstance(value, dict | list) or not value:
        return rng.choice(JUNK)
    if isinstance(value, list):
        index = rng.randrange(len(value))
        return [spoilt(item, rng) if position == index else item for position, item in enumerate(value)]
    key = rng.choice(sorted(value))
    if rng.random() < 0.1:
        return value | {"bogus": rng.choice(JUNK)}
    return value | {key: spoilt(value[key], rng)}


def answers(function: Callable[[], object]) -> None:
    """Run a function that may find faults, and check that it then names them."""
    faults: list[str] = ["none"]
    try:
        function()
    except ConfigError as error:
        faults = [fault.message for fault in error.errors]
    assert faults
    assert all(faults)


@given(st.integers(0, 10**9), st.sampled_from(["v1", "v1beta1", "v1beta2", "v1beta3"]))
def test_spoilt_configurations(seed: int, version: str) -> None:
    head = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    body = spoilt({k: v for k, v in random_configuration(seed).items() if k not in head}, random.Random(seed))
    document = head | body if isinstance(body, dict) else body
    answers(lambda: from_document(document, in_tree()))
    answers(lambda: convert(json.dumps(document), in_tree()))


@given(st.integers(0, 10**9))
def test_spoilt_policies(seed: int) -> None:
    answers(lambda: convert(json.dumps(spoilt(POLICY, random.Random(seed))), in_tree()))


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_is_yaml_or_a_fault(text: str) -> None:
    answers(lambda: read_configuration(text))


@given(st.text(alphabet="ab:-[]{}&*!<>|'\"#,\n ?%@`~0", max_size=60))
def test_any_yaml_syntax_is_yaml_or_a_fault(text: str) -> None:
    answers(lambda: read_configuration(text))


@pytest.mark.parametrize("name", sorted(IN_TREE_POINTS))
def test_the_registry_knows_every_in_tree_plugin(name: str) -> None:
    described = new_in_tree_registry().catalog()[name]
    assert described.in_tree
    assert described.points <= set(IN_TREE_POINTS[name])
    assert described.args == in_tree()[name].args


def test_of_many_faults_the_first_hundred_are_described() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **{f"unknown{at}": 1 for at in range(250)},
    }
    with pytest.raises(ConfigError) as raised:
        from_document(document, new_in_tree_registry().catalog())
    assert len(raised.value.errors) == 101
    assert raised.value.errors[-1].message == "150 more faults are not shown"


def test_the_names_of_fields_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fields._field_names.cache_clear()
    asked, schema = [], fields.json_schema

    def counted(record: type[Any]) -> dict[str, Any]:
        asked.append(record)
        return schema(record)

    monkeypatch.setattr(fields, "json_schema", counted)
    document = {"kind": "KubeSchedulerConfiguration", "unknown": 1, "other": 2}
    for _ in range(2):
        with pytest.raises(ConfigError):
            from_document(
                {"apiVersion": "kubescheduler.config.k8s.io/v1", **document},
                new_in_tree_registry().catalog(),
            )
    assert len(asked) == 1
