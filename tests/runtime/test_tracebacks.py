"""Log lines of plugins that raise: the place, once, and then the number of times."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from mooring.runtime.profiles.tracebacks import Tracebacks
from mooring.testing import explain
from mooring.testing.builders import node_manifest, pod_manifest
from tests.config.documents import document as config
from tests.config.documents import profile


def here() -> None:
    raise ValueError("here")


def there() -> None:
    raise ValueError("there")


def raised(function: Callable[[], None]) -> Exception:
    """Return the error that ``function`` raises, as it is caught."""
    try:
        function()
    except ValueError as error:
        return error
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize(
    ("times", "logged"),
    [
        pytest.param(1, 1, id="first"),
        pytest.param(9, 1, id="again"),
        pytest.param(10, 2, id="ten times"),
        pytest.param(99, 2, id="and more"),
        pytest.param(100, 3, id="a hundred times"),
    ],
)
def test_a_line_that_raises_is_shown_once_and_counted_then(
    times: int, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    tracebacks = Tracebacks()
    for _ in range(times):
        tracebacks.tell("Rack", "Score", raised(here))
    assert len(caplog.records) == logged
    first = caplog.records[0]
    assert first.levelno == logging.ERROR
    assert first.getMessage() == "plugin Rack failed at Score: ValueError: here"
    assert [record for record in caplog.records if record.exc_info] == [first]
    counted = [record.getMessage().partition(" time")[0] for record in caplog.records[1:]]
    assert counted == [f"plugin Rack failed at Score, for the {10**n}th" for n in range(1, logged)]


def test_each_line_of_each_plugin_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    tracebacks = Tracebacks()
    for plugin in ("Rack", "Zone"):
        for function in (here, there, here):
            tracebacks.tell(plugin, "Filter", raised(function))
    assert [record.getMessage() for record in caplog.records] == [
        f"plugin {plugin} failed at Filter: ValueError: {what}"
        for plugin in ("Rack", "Zone")
        for what in ("here", "there")
    ]
    assert all(record.exc_info for record in caplog.records)


def test_a_plugin_whose_code_was_not_reached_has_no_frames(caplog: pytest.LogCaptureFixture) -> None:
    Tracebacks().tell("Rack", "Filter", TypeError("takes 1 argument"))
    assert caplog.text.splitlines()[-1].strip() == "TypeError: takes 1 argument"
    assert "Traceback" not in caplog.text


SAME_ZONE = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
SPREAD = [
    {**SAME_ZONE, "maxSkew": 1, "whenUnsatisfiable": when} for when in ("DoNotSchedule", "ScheduleAnyway")
]
NEAR = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": SAME_ZONE}]}
APART = {"requiredDuringSchedulingIgnoredDuringExecution": [SAME_ZONE]}
DEMANDING = pod_manifest(
    "demanding",
    labels={"app": "a"},
    spec={
        "containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}],
        "topologySpreadConstraints": SPREAD,
        "affinity": {"podAffinity": NEAR, "podAntiAffinity": APART},
    },
)
"""A pod for which every plugin below has something to write down."""

CLUSTER = [node_manifest(name, labels={"zone": name}) for name in ("a", "b")]


@pytest.mark.parametrize(
    ("plugin", "point", "fails_at"),
    [
        pytest.param("PodTopologySpread", "preFilter", "Filter", id="spread, Filter"),
        pytest.param("PodTopologySpread", "preScore", "Score", id="spread, Score"),
        pytest.param("InterPodAffinity", "preFilter", "Filter", id="affinity, Filter"),
        pytest.param("InterPodAffinity", "preScore", "Score", id="affinity, Score"),
        pytest.param("NodePorts", "preFilter", "Filter", id="ports"),
        pytest.param("NodeResourcesFit", "preFilter", "Filter", id="resources"),
        pytest.param("TaintToleration", "preScore", "Score", id="taints"),
    ],
)
def test_a_point_that_the_profile_leaves_out_fails_the_decision_without_a_traceback(
    plugin: str, point: str, fails_at: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugins: dict[str, Any] = {point: {"disabled": [{"name": plugin}]}}
    document = explain(CLUSTER, DEMANDING, config(profile(**plugins)))
    assert document["status"]["code"] == "Error"
    assert f"plugin '{plugin}' failed at {fails_at}: " in document["status"]["message"]
    assert "is not in the cycle state: the profile leaves out the point" in document["status"]["message"]
    assert caplog.records == []
