"""Measures of a cluster after its pending pods were placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mooring.kernels.arrays import Float64s
from mooring.lab.placing import Placed


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a placement.

    Attributes:
        name: The figure's, for a column.
        of: Works it out.
    """

    name: str
    of: Callable[[Placed], float]


def unplaced() -> Measure:
    """Return how many pods found no node."""
    return Measure("unplaced", lambda placed: float(placed.nodes.count(None)))


def stdev(resource: str) -> Measure:
    """Return the standard deviation of the nodes' use of a resource, in percent points."""
    return Measure(f"stdev {resource}", lambda placed: _stdev(placed.used(resource)))


def most_used(resource: str) -> Measure:
    """Return the use of a resource on the node that has the most, in percent."""
    return Measure(f"most {resource}", lambda placed: float(np.max(placed.used(resource), initial=0.0)))


def over(resource: str, percent: float = 95.0) -> Measure:
    """Return how many nodes have more than ``percent`` of a resource in use."""
    return Measure(
        f"{resource} > {percent:g} %", lambda placed: float(np.sum(placed.used(resource) > percent))
    )


def emptied() -> Measure:
    """Return how many nodes have no pod."""
    return Measure("empty nodes", lambda placed: float(np.sum(placed.pods_on_node == 0)))


def _stdev(values: Float64s) -> float:
    return float(np.std(values)) if len(values) else 0.0


USUAL = (unplaced(), stdev("cpu"), stdev("memory"), over("cpu"), emptied())
"""The default measures of a comparison."""
