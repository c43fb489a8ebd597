"""Prefers nodes whose network is quiet: a score plugin fed by a metrics server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypeVar

from mooring.framework import (
    CycleState,
    Handle,
    Int64s,
    MeasurementSource,
    NodeView,
    Normalizer,
    Pod,
    Pure,
    ScorePlugin,
)
from mooring.framework.objects import Measurement
from mooring.plugins.network_traffic.args import NetworkTrafficArgs

ArgsT = TypeVar("ArgsT", bound=NetworkTrafficArgs)

PER_NODE = logging.INFO - 4
"""Level 4, where a line for each pod and node belongs."""


class NoMeasurementError(Exception):
    """There are no recent values, and the arguments say that this fails a decision."""


class BandwidthScore(ScorePlugin[ArgsT], Pure):
    """Scores a node with its bandwidth; normalised in reverse, so that quiet nodes win.

    A node without a measurement counts as the busiest one known; when nothing is known, all nodes are equal.
    A source that fails never fails a decision, unless the arguments ask for it.
    """

    normalizer = Normalizer.BY_MAX_REVERSED

    def __init__(self, args: ArgsT, handle: Handle) -> None:
        super().__init__(args, handle)
        self.source = args.source()
        if self.source is None:
            handle.logger.warning(
                "neither prometheusAddress nor bandwidthFile is given: all nodes score alike"
            )

    def measures(self) -> Sequence[MeasurementSource]:
        return () if self.source is None else (self.source,)

    def logs_calls(self) -> bool:
        return self.handle.logger.isEnabledFor(PER_NODE)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        name = "" if self.source is None else self.source.name
        bandwidth, there = nodes.measured(name)
        if name and self.args.fail_without_metrics and not there.all():
            raise NoMeasurementError(
                f"error getting node bandwidth measure: none of the last {self.args.max_age}"
            )
        if self.logs_calls():
            self._log_nodes(name, nodes, bandwidth)
        return bandwidth

    def _log_nodes(self, name: str, nodes: NodeView, bandwidth: Int64s) -> None:
        found = nodes.snapshot.objects.get(Measurement, name)
        for node, value in zip(nodes.infos(), bandwidth.tolist(), strict=True):
            measured = found is not None and found.measured(node.node) is not None
            text = "bandwidth" if measured else "has no bandwidth measure, taken as the busiest"
            self.handle.logger.log(PER_NODE, "[NetworkTraffic] node '%s' %s: %d", node.name, text, value)
        final = self.normalizer.apply(bandwidth).tolist()
        self.handle.logger.log(PER_NODE, "[NetworkTraffic] Nodes final score: %s", final)


class NetworkTraffic(BandwidthScore[NetworkTrafficArgs]):
    """Prefers nodes whose network is quiet."""

    name = "NetworkTraffic"
    Args = NetworkTrafficArgs
