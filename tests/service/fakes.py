"""Plugins and binders with answers from a test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mooring.framework import (
    BindOutcome,
    CycleState,
    FilterPlugin,
    Int64s,
    NodeInfo,
    NodeView,
    Plugin,
    Pod,
    ScorePlugin,
    Status,
)

Kind = type[Plugin[Any]]


class RecordingBinder:
    """Stands for an API server: gives scripted answers, and records its calls."""

    def __init__(self, outcome: BindOutcome = BindOutcome.BOUND, error: Exception | None = None) -> None:
        self.bound: list[tuple[str, str]] = []
        self._outcome = outcome
        self._error = error

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        self.bound.append((pod.metadata.uid, node_name))
        if self._error is not None:
            raise self._error
        return self._outcome


class PodsOnly:
    """As much of a ClusterApi as a server needs that only reads pods: these, by namespace/name."""

    def __init__(self, *pods: Pod) -> None:
        self.pods = {pod.key: pod for pod in pods}

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        return self.pods.get(f"{namespace}/{name}")


def filtering(name: str, answer: Callable[[str], Any]) -> Kind:
    """Return a Filter plugin that says ``answer(node)``."""

    class Filtering(FilterPlugin[None]):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            said: Status = answer(node.name)
            return said

    Filtering.name = name
    return Filtering


def scoring(name: str, answer: Callable[[str], Any]) -> Kind:
    """Return a Score plugin that says ``answer(node)``, without a normaliser."""

    class Scoring(ScorePlugin[None]):
        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            said: int = answer(node.name)
            return said

    Scoring.name = name
    return Scoring


def scoring_all(name: str, answer: Callable[[list[str]], Any]) -> Kind:
    """Return the same in the form for all nodes at once."""

    class Scoring(ScorePlugin[None]):
        def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
            said: Int64s = answer(nodes.names)
            return said

    Scoring.name = name
    return Scoring


@contextmanager
def gate() -> Iterator[threading.Event]:
    """Yield an event that is set at the end whatever happens, for plugins that wait."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()
