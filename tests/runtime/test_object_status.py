"""An object costs an evaluation only if a plugin reads the change: not the status of a service or a
controller, which changes with each of its pods, and no claim of another pod.
"""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.testing.builders import Manifest

from .test_selected_labels import NODE_STEPS, Labelled

OWN = {"app": "a"}


def controller(kind: str, version: int, app: str = "a") -> Manifest:
    labels = {"app": app}
    selector = labels if kind in ("Service", "ReplicationController") else {"matchLabels": labels}
    api = "v1" if kind in ("Service", "ReplicationController") else "apps/v1"
    metadata = {"name": "set", "namespace": "default", "resourceVersion": str(version)}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": {"selector": selector}}


def claim(version: int) -> Manifest:
    metadata = {"name": "claim", "namespace": "default", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {}}


def namespace(version: int) -> Manifest:
    labels = {"version": str(version)}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}


@pytest.mark.parametrize(
    ("before", "after", "evaluations"),
    [
        *[
            pytest.param(controller(kind, 1), controller(kind, 2), 0, id=f"{kind}, its status")
            for kind in ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
        ],
        pytest.param(controller("Service", 1), controller("Service", 2, "b"), 0, id="its selector"),
        pytest.param(claim(1), claim(2), 0, id="a claim"),
        pytest.param(namespace(1), namespace(2), 1, id="a namespace"),
    ],
)
def test_what_a_change_of_an_object_costs(
    before: Manifest, after: Manifest, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = Labelled().run(NODE_STEPS)
    history.state.apply("test", [Put(from_manifest(before))])
    for _ in range(3):
        history.ask(OWN, {}, True)
    found: list[object] = []
    find = EvaluationCache._found_static

    def finding(*arguments: Any) -> Any:
        found.append(arguments)
        return find(*arguments)

    monkeypatch.setattr(EvaluationCache, "_found_static", finding)
    history.state.apply("test", [Put(from_manifest(after))])
    history.ask(OWN, {}, True)
    assert len(found) == evaluations
