"""Placed pods with terms about others: who comes and goes matters to the pods that a term is about alone."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.tracking import change_tracker
from mooring.testing.builders import Manifest

from .test_selected_labels import NODE_STEPS, Labelled, apart, rather

ABOUT_A: Manifest = {"matchLabels": {"app": "a"}}


@pytest.mark.parametrize("spec", [apart(ABOUT_A), rather("podAffinity", ABOUT_A)], ids=["apart", "near"])
@pytest.mark.parametrize(
    ("labels", "remembered", "most_bytes", "evaluations"),
    [
        pytest.param({"app": "b"}, 1024, 1 << 20, 0, id="not about it"),
        pytest.param({"app": "a"}, 1024, 1 << 20, 3, id="about it"),
        pytest.param({"app": "b"}, 1, 1 << 20, 1, id="more than is remembered"),
        pytest.param({"app": "b"}, 1024, 1, 3, id="longer than is remembered"),
    ],
)
def test_only_terms_about_a_pod_matter_to_it(
    spec: Manifest,
    labels: dict[str, str],
    remembered: int,
    most_bytes: int,
    evaluations: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_tracker, "_MAX_AFFINITIES", remembered)
    monkeypatch.setattr(change_tracker, "_MAX_AFFINITY_BYTES", most_bytes)
    history = Labelled().run(NODE_STEPS)
    history.select(0, {}, spec)
    for _ in range(2):
        history.ask(labels, {}, False)
    found: list[object] = []
    find = EvaluationCache._found_static

    def finding(*arguments: Any) -> Any:
        found.append(arguments)
        return find(*arguments)

    monkeypatch.setattr(EvaluationCache, "_found_static", finding)
    for number in (1, 2):
        history.select(number, {}, spec)
        if remembered > 1:
            history.ask(labels, {}, False)
    history.remove_pod(0)
    history.select(3, {}, spec if remembered > 1 else apart({"matchLabels": {"app": "c"}}))
    history.ask(labels, {}, False)
    assert len(found) == evaluations
