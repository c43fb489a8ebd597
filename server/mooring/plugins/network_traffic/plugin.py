"""Prefers nodes whose network is quiet: a score plugin fed by a metrics server."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TypeVar

import numpy as np

from mooring.framework import CycleState, Handle, Int64s, NodeView, Normalizer, Part, Pod, ScorePlugin
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.objects import Node
from mooring.plugins.network_traffic.access import PrometheusAccess
from mooring.plugins.network_traffic.args import NetworkTrafficArgs
from mooring.plugins.network_traffic.monitor import BandwidthMonitor, Measurement
from mooring.plugins.network_traffic.sources import (
    MAX_BYTES,
    BandwidthFile,
    BandwidthSource,
    NoBandwidth,
    Prometheus,
)

ArgsT = TypeVar("ArgsT", bound=NetworkTrafficArgs)

MAX_QUERY_SECONDS = 10.0
"""The longest that a query may take; it is never more than the refresh period."""

_NAMES = "ScoreNetworkTraffic"

PER_NODE = logging.INFO - 4
"""Level 4, where a line for each pod and node belongs."""


class NoMeasurementError(Exception):
    """There is no recent measurement, and the arguments say that this fails a decision."""


class BandwidthScore(ScorePlugin[ArgsT], CacheablePlugin):
    """Scores a node with its bandwidth; normalised in reverse, so that quiet nodes win.

    To what was measured comes the mean traffic of a pod for each pod that is too new to be measured. A node
    without a measurement counts as the busiest one known; when nothing is known, all nodes are equal. A
    source that fails never fails a decision, unless the arguments ask for it.
    """

    aspects = Aspect.NONE

    def __init__(self, args: ArgsT, handle: Handle) -> None:
        super().__init__(args, handle)
        refresh = args.refresh_period.total_seconds()
        self.monitor = BandwidthMonitor(
            source=_source(args, handle.logger, min(refresh, MAX_QUERY_SECONDS)),
            handle=handle,
            plugin=self.name,
            window=args.time_range_in_minutes * 60.0,
            refresh_period=refresh,
            max_age=args.max_age.total_seconds(),
        )

    def dependencies(self, pod: Pod) -> Dependencies:
        parts = Part.NODES_BUT_IMAGES | Part.RESOURCES | Part.OUTSIDE | Part.OTHER_NODES
        return Dependencies(signature=(), parts=parts)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        state.write(_NAMES, tuple(nodes.names))
        measurement = self.monitor.latest()
        if measurement is None:
            return self._unmeasured(nodes)
        known = [_measured(measurement, nodes.table.nodes[row]) for row in nodes.rows.tolist()]
        busiest = measurement.busiest
        measured = np.array([busiest if found is None else found for found in known], np.int64)
        recent = measurement.recent(nodes)
        if self.handle.logger.isEnabledFor(PER_NODE):
            for name, found, added in zip(nodes.names, known, recent.tolist(), strict=True):
                self._log_bandwidth(name, found, busiest, added)
        return np.minimum(measured, MAX_BYTES - recent) + recent

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        final = Normalizer.BY_MAX_REVERSED.apply(scores)
        if self.handle.logger.isEnabledFor(PER_NODE):
            names = state.get(_NAMES, tuple) or ("",) * len(final)
            pairs = " ".join(f"{{{name} {score}}}" for name, score in zip(names, final.tolist(), strict=True))
            self.handle.logger.log(PER_NODE, "[NetworkTraffic] Nodes final score: [%s]", pairs)
        return final

    def _unmeasured(self, nodes: NodeView) -> Int64s:
        """All alike.

        Raises:
            NoMeasurementError: The arguments say so.
        """
        reason = self.monitor.failure or "nothing was measured lately"
        self.handle.count(self.name, "scored_without_measurement")
        if self.args.fail_without_metrics:
            raise NoMeasurementError(f"error getting node bandwidth measure: {reason}")
        self.handle.logger.info("[NetworkTraffic] no bandwidth measure, all nodes are equal: %s", reason)
        return np.zeros(len(nodes), np.int64)

    def _log_bandwidth(self, name: str, measured: int | None, busiest: int, recent: int) -> None:
        added = f", and {recent} for pods that are too new to be measured" if recent else ""
        if measured is None:
            text = "[NetworkTraffic] node '%s' has no bandwidth measure, taken as the busiest: %d%s"
            self.handle.logger.log(PER_NODE, text, name, busiest, added)
        else:
            self.handle.logger.log(
                PER_NODE, "[NetworkTraffic] node '%s' bandwidth: %d%s", name, measured, added
            )


class NetworkTraffic(BandwidthScore[NetworkTrafficArgs]):
    """Prefers nodes whose network is quiet."""

    name = "NetworkTraffic"
    Args = NetworkTrafficArgs


def _measured(measurement: Measurement, node: Node | None) -> int | None:
    """Return the bandwidth of a node, by its name or else its first address that has one; None = unknown."""
    if node is None:
        return None
    bandwidth = measurement.bandwidth
    if (found := bandwidth.get(node.metadata.name)) is not None:
        return found
    addresses = (bandwidth.get(address.address) for address in node.status.addresses)
    return next((found for found in addresses if found is not None), None)


def _source(args: NetworkTrafficArgs, logger: logging.Logger, seconds: float) -> BandwidthSource:
    if args.prometheus_address:
        return Prometheus(
            address=args.prometheus_address,
            interface=args.network_interface,
            minutes=args.time_range_in_minutes,
            transmit=args.transmit,
            label=args.node_label,
            seconds=seconds,
            own_query=args.query,
            access=PrometheusAccess(
                args.bearer_token_file, args.username, args.password_file, args.ca_file, args.headers
            ),
        )
    if args.bandwidth_file:
        return BandwidthFile(Path(args.bandwidth_file))
    logger.warning("neither prometheusAddress nor bandwidthFile is given: all nodes score alike")
    return NoBandwidth()
