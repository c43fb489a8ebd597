"""A question on a few manifests, made ready for an engine: where `explain` and tests of preemption start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.cluster.state import State
from mooring.config import default, from_document
from mooring.framework import BindOutcome, Gates, KubeVersion, Pod
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.framework.resources import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.engine import Engine
from mooring.runtime.profile import Profile
from mooring.runtime.registry import Registry, installed_registry


class NoBinder:
    """Refuses to bind: explanations change nothing."""

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """Never called by an explanation."""
        raise AssertionError(f"an explanation tried to bind pod {pod.key} to {node_name}")


@dataclass(frozen=True, slots=True)
class Question:
    """A pod, and the engine that decides about it.

    Attributes:
        warnings: What of the configuration and of the objects is not looked at.
    """

    engine: Engine
    state: State
    profile: Profile
    pod: Pod
    warnings: tuple[str, ...]


def question(
    objects: Sequence[Mapping[str, Any]],
    pod: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    *,
    profile: str | None = None,
    version: str = DEFAULT_KUBE_VERSION,
    feature_gates: Mapping[str, bool] | None = None,
    registry: Registry | None = None,
) -> Question:
    """Arguments and errors are those of `mooring.testing.explain`."""
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
    kinds = ", ".join(sorted(manifests.skipped))
    ignored = (f"not looked at: objects of kind {kinds}",) if kinds else ()
    return Question(
        engine, state, engine.profile(profile or "", subject), subject, (*configuration.warnings, *ignored)
    )


@cache
def _installed() -> Registry:
    """The packages that are installed stay the same while a process runs, and to look for them takes long."""
    return installed_registry()
