"""At verbosity 5 answers say whether the evaluation cache gave them."""

import logging

import pytest

from mooring.framework import Pod
from mooring.runtime.cache.outcome import Bypass
from mooring.testing.builders import make_node, make_pod
from tests.service.backends import served, world
from tests.service.test_schedule import batch


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod("fits", requests={"cpu": "1"}), "cache", id="a node"),
        pytest.param(make_pod("large", requests={"cpu": "9"}), "full (no-node)", id="no node"),
    ],
)
def test_the_trailing_metadata_says_who_answered(
    pod: Pod, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO - 5), world(make_node("n")) as w, served(w.backend) as stubs:
        _, call = stubs.scheduling.Schedule.with_call(batch(pod))
        metadata = dict(call.trailing_metadata())
    assert metadata["mooring-answered-by"] == expected


def test_without_verbosity_nothing_is_added() -> None:
    with world(make_node("n")) as w, served(w.backend) as stubs:
        _, call = stubs.scheduling.Schedule.with_call(batch(make_pod("p", requests={"cpu": "1"})))
        assert "mooring-answered-by" not in dict(call.trailing_metadata())


def test_one_pod_that_no_node_takes_is_counted_once() -> None:
    with world(make_node("n")) as w, served(w.backend) as stubs:
        stubs.scheduling.Schedule(batch(make_pod("large", requests={"cpu": "9"})))
        assert w.backend.engine.cache_counts.bypasses() == {Bypass.NO_NODE: 1}
