"""Histograms of durations in which many equal ones cost as much as one: a batch has one for all its pods."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Duration:
    """The durations with one set of label values. Thread-safe."""

    __slots__ = ("_bounds", "_counts", "_lock", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, seconds: float, count: int = 1) -> None:
        """So many things took ``seconds`` each."""
        with self._lock:
            self._counts[bisect_left(self._bounds, seconds)] += count
            self._sum += seconds * count

    def read(self) -> tuple[list[int], float]:
        """How many were at most as long as each bound, all of them last; and the sum of all."""
        with self._lock:
            return list(accumulate(self._counts)), self._sum


class Durations(Collector):
    """A histogram by labels; called with their values it gives the ``Duration``. Thread-safe.

    Args:
        name: The metric's name.
        text: What it says.
        labels: The labels' names.
        bounds: The upper bounds of the buckets, in seconds, ascending.
        registry: Where it is shown.
    """

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        bounds: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._name, self._text, self._labels, self._bounds = name, text, labels, bounds
        self._children: dict[tuple[str, ...], Duration] = {}
        if not labels:
            self()
        registry.register(self)

    def __call__(self, *labels: str) -> Duration:
        """The durations with these values, in the order of the labels."""
        child = self._children.get(labels)
        if child is None:
            child = self._children.setdefault(labels, Duration(self._bounds))
        return child

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """All of them, for a scrape."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for labels, child in tuple(self._children.items()):
            counts, total = child.read()
            family.add_metric(labels, list(zip(names, counts, strict=True)), total)
        yield family
