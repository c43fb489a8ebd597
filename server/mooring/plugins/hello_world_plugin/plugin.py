"""Prefers nodes whose network is quiet: a score plugin fed by a metrics server."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from mooring.framework import CycleState, Handle, Int64s, NodeView, Normalizer, Pod, ScorePlugin
from mooring.plugins.hello_world_plugin.args import HelloWorldPluginArgs
from mooring.plugins.hello_world_plugin.bandwidth import (
    BandwidthFile,
    BandwidthMonitor,
    BandwidthSource,
    NoBandwidth,
)

_NAMES = "ScoreHelloWorldPlugin"


class HelloWorldPlugin(ScorePlugin[HelloWorldPluginArgs]):
    """Scores a node with its bandwidth; normalised in reverse, so that quiet nodes win.

    A node without a measurement counts as the busiest one known; when nothing is known, all nodes are
    equal. A source that fails never fails a decision.
    """

    name = "HelloWorldPlugin"
    Args = HelloWorldPluginArgs

    def __init__(self, args: HelloWorldPluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.monitor = BandwidthMonitor(_source(args, handle.logger), handle.clock, handle.logger)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        measured = self.monitor.latest()
        unknown = max(measured.values(), default=0)
        names = nodes.names
        state.write(_NAMES, tuple(names))
        if self.handle.logger.isEnabledFor(logging.INFO):
            for name in names:
                self._log_bandwidth(name, measured.get(name), unknown)
        return np.array([measured.get(name, unknown) for name in names], np.int64)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        final = Normalizer.BY_MAX_REVERSED.apply(scores)
        if self.handle.logger.isEnabledFor(logging.INFO):
            names = state.get(_NAMES, tuple) or ("",) * len(final)
            pairs = " ".join(f"{{{name} {score}}}" for name, score in zip(names, final.tolist(), strict=True))
            self.handle.logger.info("[NetworkTraffic] Nodes final score: [%s]", pairs)
        return final

    def _log_bandwidth(self, name: str, measured: int | None, unknown: int) -> None:
        if measured is None:
            self.handle.logger.info("[NetworkTraffic] node '%s' has no bandwidth measure: %d", name, unknown)
        else:
            self.handle.logger.info("[NetworkTraffic] node '%s' bandwidth: %d", name, measured)


def _source(args: HelloWorldPluginArgs, logger: logging.Logger) -> BandwidthSource:
    if args.bandwidth_file:
        return BandwidthFile(Path(args.bandwidth_file))
    logger.warning("HelloWorldPlugin has no bandwidthFile: no node has a measurement, and all score alike")
    return NoBandwidth()
