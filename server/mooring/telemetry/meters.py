"""Counters and histograms for events of every decision, at a fraction of the library's cost per event."""

from __future__ import annotations

import threading
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Count:
    """A counter's value for one set of label values. Thread-safe."""

    __slots__ = ("_lock", "value")

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def inc(self, amount: int = 1) -> None:
        """Count ``amount`` more."""
        with self._lock:
            self.value += amount


class Duration:
    """The durations with one set of label values. Thread-safe."""

    __slots__ = ("_bounds", "_counts", "_lock", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, seconds: float, count: int = 1) -> None:
        """Record ``count`` durations of ``seconds`` each."""
        with self._lock:
            self._counts[bisect_left(self._bounds, seconds)] += count
            self._sum += seconds * count

    def read(self) -> tuple[list[int], float]:
        """Return the number of durations up to each bound, the total number last; and their sum."""
        with self._lock:
            return list(accumulate(self._counts)), self._sum


Child = TypeVar("Child", Count, Duration)


class Family(Collector, Generic[Child]):
    """A metric with labels, whose series appear with the first event. Thread-safe.

    Attributes:
        children: By the values of the labels in their order.
    """

    def __init__(self, name: str, text: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        self._name, self._text, self._labels = name, text, labels
        self.children: dict[tuple[str, ...], Child] = {}
        if not labels:
            self.labels()  # is shown from the start
        registry.register(self)

    def labels(self, *values: str) -> Child:
        """Return the child for these values of the labels; the first call makes it."""
        child = self.children.get(values)
        return self.children.setdefault(values, self._new()) if child is None else child

    @abstractmethod
    def _new(self) -> Child: ...


class _CounterFamily(Family[Count]):
    """A counter by labels."""

    def collect(self) -> Iterator[Metric]:
        """All of it, for a scrape."""
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for labels, child in tuple(self.children.items()):
            if child.value or not labels:
                family.add_metric(labels, child.value)
        yield family

    def _new(self) -> Count:
        return Count()


class _HistogramFamily(Family[Duration]):
    """A histogram by labels. The ``bounds`` are the upper ones of the buckets, in seconds, ascending."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        bounds: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._bounds = bounds
        super().__init__(name, text, labels, registry)

    def collect(self) -> Iterator[Metric]:
        """All of it, for a scrape."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for labels, child in tuple(self.children.items()):
            counts, total = child.read()
            if labels and not counts[-1]:
                continue
            family.add_metric(labels, list(zip(names, counts, strict=True)), total)
        yield family

    def _new(self) -> Duration:
        return Duration(self._bounds)


def counts(name: str, text: str, labels: Sequence[str], registry: CollectorRegistry) -> Family[Count]:
    """Expose a counter."""
    return _CounterFamily(name, text, labels, registry)


def durations(
    name: str, text: str, labels: Sequence[str], bounds: Sequence[float], registry: CollectorRegistry
) -> Family[Duration]:
    """Expose a histogram; ``bounds`` are those of its buckets, ascending."""
    return _HistogramFamily(name, text, labels, bounds, registry)
