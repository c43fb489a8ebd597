"""The result of the profile's preempting plugin for a pod among manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.framework.preemption import Preemption
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions, evaluate
from mooring.runtime.cycle.post_filter import preempt
from mooring.runtime.cycle.tie_break import mix64
from mooring.runtime.profiles.registry import Registry
from mooring.testing.question import Question, question


def preemption_of(
    objects: Sequence[Mapping[str, Any]],
    pod: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    *,
    profile: str | None = None,
    version: str = "1.36",
    seed: int = 0,
    feature_gates: Mapping[str, bool] | None = None,
    registry: Registry | None = None,
) -> Preemption:
    """Arguments are those of ``mooring.testing.explain``."""
    asked = question(
        objects,
        pod,
        config,
        profile=profile,
        version=version,
        feature_gates=feature_gates,
        registry=registry,
    )
    return preemption_for(asked, seed)


def preemption_for(asked: Question, seed: int = 0) -> Preemption:
    """As ``preemption_of``, for a question that is made ready."""
    calls = asked.engine.calls(asked.profile)
    evaluation = evaluate(
        asked.profile, asked.state, asked.pod, ALL_NODES.rows(asked.state), calls, CycleOptions()
    )
    return preempt(evaluation, calls, None, mix64(seed, asked.pod.metadata.uid))
