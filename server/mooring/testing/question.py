"""A question on a few manifests, ready for an engine: ``explain`` and preemption tests start here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from mooring.app.engine import build_core
from mooring.app.options import EngineOptions
from mooring.cluster.manifests import objects_from, pod_from_manifest
from mooring.cluster.state import State
from mooring.config import Catalog, default, from_document
from mooring.framework import BindOutcome, Pod
from mooring.framework.objects import Measurement, ObjectMeta
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.registry import Registry, installed_registry


class NoBinder:
    """Binds nothing: explanations change nothing."""

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """Never called by an explanation."""
        raise AssertionError(f"an explanation tried to bind pod {pod.key} to {node_name}")


@dataclass(frozen=True, slots=True)
class Question:
    """A pod, and the engine that decides about it.

    Attributes:
        warnings: The parts of the configuration and the objects that are ignored.
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
    measurements: Mapping[str, Mapping[str, int]] | None = None,
) -> Question:
    """Arguments and errors are those of ``mooring.testing.explain``."""
    registry, catalog = (registry, registry.catalog()) if registry else _installed()
    configuration = (
        default(catalog, kube_version=version, feature_gates=feature_gates)
        if config is None
        else from_document(dict(config), catalog, kube_version=version, feature_gates=feature_gates)
    )
    options = EngineOptions(kube_version=version, feature_gates=feature_gates or {})
    core = build_core(options, registry, configuration, lambda _: NoBinder())
    manifests = objects_from(objects, options.gates)
    core.state.replace("manifests", manifests.objects)
    core.measuring.read_files()
    for name, values in (measurements or {}).items():
        core.state.assume_object(Measurement(ObjectMeta(name=name), dict(values)))
    subject = pod_from_manifest(pod, manifests.objects, options.gates)
    kinds = ", ".join(sorted(manifests.skipped))
    ignored = (f"ignored: objects of kind {kinds}",) if kinds else ()
    return Question(
        core.engine,
        core.state,
        core.engine.profile(profile or "", subject),
        subject,
        (*configuration.warnings, *ignored),
    )


@cache
def _installed() -> tuple[Registry, Catalog]:
    """Return the registry of installed plugins and its catalog, looked up once: that takes long."""
    registry = installed_registry()
    return registry, registry.catalog()
