"""The quality of placements over time: amounts that are allocated, fragments, and how even the load is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from mooring.framework import NodeTable, Pod
from mooring.framework.pod_requests import pod_usage
from mooring.framework.resources import PODS
from mooring.kernels.arrays import Float64s

MOST_KINDS = 100
"""Kinds of pods by which free amounts are judged, the commonest ones."""

PERCENTILES = (50, 90, 99)

_LEFT_OUT = (PODS, "ephemeral-storage")


def waiting_times(seconds: Sequence[float]) -> dict[str, float]:
    """Return the percentiles of waiting times; none of no times."""
    if not seconds:
        return {}
    found = np.percentile(np.array(seconds), PERCENTILES)
    return {f"wait p{at}, s": round(float(one), 4) for at, one in zip(PERCENTILES, found, strict=True)}


@dataclass
class Quality:
    """Samples of a cluster while pods come and go. For one thread.

    Free amounts are judged as Fragmentation Gradient Descent judges them (Weng et al., USENIX ATC 2023), on
    whole nodes. An amount is fragmented for a kind of pods that does not fit on its node, or does not request
    the resource. Kinds count by how many of their pods have come. The paper counts each GPU of a node.

    Args:
        nodes: Returns the nodes as they are.
        every: The time between two samples at least.

    Attributes:
        times: The times of the samples, ascending.
        waits: How long the pods that got a node had waited, in the unit of the times.
    """

    nodes: Callable[[], NodeTable]
    every: float = 1.0
    times: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    _samples: list[dict[str, float]] = field(default_factory=list)
    _kinds: Counter[tuple[tuple[str, int], ...]] = field(default_factory=Counter)
    _came: dict[str, float] = field(default_factory=dict)

    def arrive(self, pod: Pod, time: float) -> None:
        """Note that a pod has come."""
        self._kinds[tuple(sorted(dict(pod_usage(pod).requests).items()))] += 1
        self._came[pod.metadata.uid] = time

    def bind(self, uid: str, time: float) -> None:
        """Note that a pod has got its node."""
        if (came := self._came.pop(uid, None)) is not None:
            self.waits.append(time - came)

    def tick(self, time: float) -> None:
        """Take a sample if it is time for one."""
        if not self.times or time >= self.times[-1] + self.every:
            self.sample(time)

    def sample(self, time: float) -> None:
        """Take a sample."""
        table = self.nodes()
        rows = table.rows()
        if not len(rows):
            return
        index = {name: at for name, at in table.resource_index.items() if at < len(table.allocatable)}
        offered = {name: table.allocatable[at, rows].astype(np.float64) for name, at in index.items()}
        used = {name: table.requested[at, rows].astype(np.float64) for name, at in index.items()}
        free = {name: np.maximum(offered[name] - used[name], 0.0) for name in index}
        useless = self._useless(free)
        sample: dict[str, float] = {}
        for name in sorted(name for name in index if name not in _LEFT_OUT and offered[name].any()):
            sample |= _figures(name, offered[name], used[name])
            left = float(free[name].sum())
            sample[f"{name} fragmented %"] = 100 * useless.get(name, 0.0) / left if left else 0.0
        self.times.append(time)
        self._samples.append(sample)

    @property
    def columns(self) -> Mapping[str, Sequence[float]]:
        """A row for each sample: ``time``, and its figures."""
        names = dict.fromkeys(name for sample in self._samples for name in sample)
        figures = {name: [round(sample.get(name, 0.0), 4) for sample in self._samples] for name in names}
        return {"time": self.times, **figures}

    def means(self) -> dict[str, float]:
        """Return the mean of each figure over the time: a sample holds until the next one."""
        lengths = [after - before for before, after in pairwise(self.times)]
        columns = dict(self.columns)
        del columns["time"]
        if not sum(lengths):
            return {name: values[-1] for name, values in columns.items()}
        weights = [*lengths, 0.0]
        return {
            name: round(float(np.average(values, weights=weights)), 4) for name, values in columns.items()
        }

    def _useless(self, free: Mapping[str, Float64s]) -> dict[str, float]:
        """Return by resource how much of the free amounts a pod of the usual kinds can't use, on average."""
        kinds = self._kinds.most_common(MOST_KINDS)
        total = sum(count for _, count in kinds)
        found = dict.fromkeys(free, 0.0)
        for kind, count in kinds:
            wanted = {name: amount for name, amount in kind if amount}
            fits = np.ones(len(next(iter(free.values()))), np.bool_)
            for name, amount in wanted.items():
                fits &= free[name] >= amount if name in free else False
            for name, amounts in free.items():
                lost = amounts[~fits].sum() if name in wanted else amounts.sum()
                found[name] += count / total * float(lost)
        return found


def _figures(name: str, offered: Float64s, used: Float64s) -> dict[str, float]:
    """Return how much of a resource is allocated, and how evenly, over the nodes that offer it."""
    there = offered > 0
    load = used[there] / offered[there]
    squares = float((load**2).sum())
    return {
        f"{name} allocated %": 100 * float(used[there].sum() / offered[there].sum()),
        f"{name} load variation": float(load.std() / load.mean()) if load.any() else 0.0,
        f"{name} Jain index": float(load.sum()) ** 2 / (len(load) * squares) if squares else 1.0,
    }
