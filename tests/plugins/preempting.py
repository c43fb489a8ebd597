"""What the profile's preempting plugin finds for a pod among manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.cluster.state import State
from mooring.config import default, from_document
from mooring.framework import Gates, KubeVersion
from mooring.framework.preemption import Preemption
from mooring.framework.resources import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle import CycleOptions, evaluate
from mooring.runtime.engine import all_rows
from mooring.runtime.preemption import preempt
from mooring.runtime.registry import Registry, installed_registry
from mooring.runtime.tie_break import mix64
from mooring.testing.explaining import NoBinder


@cache
def _installed() -> Registry:
    return installed_registry()


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
    registry = registry or _installed()
    catalog = registry.catalog()
    configuration = (
        default(catalog, kube_version=version, feature_gates=feature_gates)
        if config is None
        else from_document(dict(config), catalog, kube_version=version, feature_gates=feature_gates)
    )
    state = State(rules=ResourceRules.of(Gates(KubeVersion.parse(version), feature_gates)))
    manifests = objects_from(objects)
    state.replace("manifests", manifests.objects)
    engine = build_engine(
        configuration, registry, state, NoBinder(), kube_version=version, feature_gates=feature_gates
    )
    subject = pod_from_manifest(pod, manifests.objects)
    chosen = engine.profile(profile or "", subject)
    calls = engine.calls(chosen)
    evaluation = evaluate(chosen, state, subject, all_rows(state), calls, CycleOptions())
    return preempt(evaluation, calls, None, mix64(seed, subject.metadata.uid))
