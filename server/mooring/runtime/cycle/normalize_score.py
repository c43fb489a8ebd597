"""NormalizeScore on its own, for scores that the caller holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mooring.framework import Int32s, Int64s, NodeView, Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cycle.cycle import Run, prepared
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.score import run_pre_score, weigh
from mooring.runtime.profiles.profile import Profile


def evaluate_normalized(raw: Callable[[], Mapping[str, Int64s]]) -> Run:
    """Return an evaluation that takes the raw scores (int64[N] by plugin) from ``raw`` instead of Score.

    PreFilter and PreScore run for the cycle state that they write; plugins that skip add nothing.
    """

    def run(
        profile: Profile,
        cluster: ClusterState,
        pod: Pod,
        rows: Int32s,
        calls: PluginCalls,
    ) -> Evaluation:
        evaluation = prepared(profile, cluster, pod, rows, calls)
        skipped = run_pre_score(evaluation, NodeView(cluster.snapshot, rows), calls)
        wanted = {name: scores for name, scores in raw().items() if name not in skipped}
        evaluation.scores = weigh(evaluation, wanted, len(rows), calls)
        return evaluation

    return run
