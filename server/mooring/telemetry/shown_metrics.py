"""Which metrics are shown, and which values of their labels. Mirrors ``k8s.io/component-base/metrics``."""

from __future__ import annotations

import copy
import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.samples import Sample

UNEXPECTED = "unexpected"
"""A label's shown value instead of one that isn't allowed."""

PREFIX = "mooring"
"""The default prefix of the names of mooring's own metrics."""

Allowed = Mapping[tuple[str, str], Collection[str]]
"""By metric and label, the values that are shown."""


def metric_name(name: str) -> str:
    """Return a metric's name here, given that or kube-scheduler's: ``scheduler_x`` is ``mooring_x``."""
    known = f"mooring_{name.removeprefix('scheduler_')}" if name.startswith("scheduler_") else name
    return known.removesuffix("_total")


def allowed_values(entries: Mapping[str, str]) -> Allowed:
    """Parse entries of ``METRIC,LABEL`` to ``VALUE,VALUE``. Raises ValueError if a key is not
    ``METRIC,LABEL``.
    """
    allowed = {}
    for key, values in entries.items():
        metric, comma, label = key.partition(",")
        if not (metric and comma and label) or "," in label:
            raise ValueError(f"{key!r} is not METRIC,LABEL")
        allowed[metric_name(metric), label] = {value.strip() for value in values.split(",")}
    return allowed


def entries_of(flag: str) -> dict[str, str]:
    """One value of ``--allow-metric-labels``: ``M,L=A,B``, or several of them, each in double quotes. Raises
    ValueError if it is not such a value.
    """
    pairs = [flag] if flag.count("=") == 1 else next(csv.reader([flag]), [])
    entries = {}
    for pair in pairs:
        key, equals, values = pair.partition("=")
        if not equals:
            raise ValueError(f"{pair!r} is not METRIC,LABEL=VALUE,VALUE")
        entries[key.strip()] = values.strip("'")
    return entries


class ShownMetrics:
    """A registry without disabled metrics and label values. Safe from any thread.

    Args:
        registry: All metrics.
        disabled: Names of families, as ``metric_name`` gives them.
        allowed: Limits what labels show; samples that become alike are added up.
        prefix: The beginning of mooring's own names, instead of "mooring".
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        disabled: Iterable[str] = (),
        allowed: Allowed = MappingProxyType({}),
        prefix: str = PREFIX,
    ) -> None:
        self._registry = registry
        self._disabled = frozenset(disabled)
        self._prefix = prefix
        self._limits: dict[str, dict[str, Collection[str]]] = {}
        for (metric, label), values in allowed.items():
            self._limits.setdefault(metric, {})[label] = values

    def collect(self) -> Iterator[Metric]:
        """Yield the families to show."""
        for family in self._registry.collect():
            if family.name not in self._disabled:
                limits = self._limits.get(family.name)
                shown = _limited(family, limits) if limits else family
                yield _renamed(shown, self._prefix)


def _limited(family: Metric, limits: Mapping[str, Collection[str]]) -> Metric:
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}
    for sample in family.samples:
        labels = {
            name: value if value in limits.get(name, (value,)) else UNEXPECTED
            for name, value in sample.labels.items()
        }
        key = sample.name, tuple(labels.items())
        before = found[key].value if key in found else None
        value = sample.value if before is None else _merged(sample, before)
        found[key] = sample._replace(labels=labels, value=value)
    shown = copy.copy(family)
    shown.samples = [*found.values()]
    return shown


def _renamed(family: Metric, prefix: str) -> Metric:
    own = f"{PREFIX}_"
    if prefix == PREFIX or not family.name.startswith(own):
        return family
    shown = copy.copy(family)
    shown.name = f"{prefix}_{family.name.removeprefix(own)}"
    shown.samples = [
        sample._replace(name=f"{prefix}_{sample.name.removeprefix(own)}") for sample in family.samples
    ]
    return shown


def _merged(sample: Sample, before: float) -> float:
    """Amounts are added up; for times of creation the first counts."""
    return min(before, sample.value) if sample.name.endswith("_created") else before + sample.value
