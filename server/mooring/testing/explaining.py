"""The whole cycle on a few manifests, without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from mooring.cluster.manifests import Manifests, objects_from, pod_from_manifest
from mooring.cluster.state import State
from mooring.config import default, from_document
from mooring.framework import BindOutcome, Gates, KubeVersion, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.resources import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle import CycleOptions
from mooring.runtime.engine import all_rows
from mooring.runtime.explain import Document, document, failure_document
from mooring.runtime.registry import Registry, installed_registry


class NoBinder:
    """Refuses to bind: explanations change nothing."""

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        """Never called by an explanation."""
        raise AssertionError(f"an explanation tried to bind pod {pod.key} to {node_name}")


def explain(
    objects: Sequence[Mapping[str, Any]],
    pod: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    *,
    profile: str | None = None,
    version: str = "1.36",
    seed: int = 0,
    feature_gates: Mapping[str, bool] | None = None,
    always_score: bool = False,
    all_rejections: bool = False,
    registry: Registry | None = None,
) -> Document:
    """Why ``pod`` would go where, given ``objects``.

    Args:
        objects: The cluster as manifests: nodes, and pods with ``spec.nodeName``.
        pod: The pod's manifest.
        config: A KubeSchedulerConfiguration, or None for the default one.
        profile: The profile's name; default the one that the pod's schedulerName names, else the only one.
        version: The Kubernetes release whose behaviour is wanted, ``1.33`` to ``1.36``.
        seed: Decides between nodes of equal totals.
        feature_gates: Gates that differ from the release's defaults.
        always_score: Score a single feasible node too.
        all_rejections: Report every plugin that refuses a node, not only the first.
        registry: The plugins that there are; default the in-tree and the installed ones.

    Returns:
        The document that ``mooring explain -o json`` prints; a plugin that failed is told in its status.

    Raises:
        InvalidArgumentError: A manifest can't be used; has the field's path.
        ConfigError: The configuration has faults; names all of them.
        NotFoundError: There is no such profile.
        ValueError: ``version`` is no release that mooring follows.
    """
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
    try:
        choice = engine.decide(
            subject,
            chosen,
            all_rows,
            seed=seed,
            options=CycleOptions(always_score=always_score, all_rejections=all_rejections),
        )
    except PluginFailureError as failure:
        return failure_document(subject.key, chosen, seed, failure)
    return document(choice, seed, (*configuration.warnings, *_ignored(manifests)))


@cache
def _installed() -> Registry:
    """The packages that are installed stay the same while a process runs, and to look for them takes long."""
    return installed_registry()


def _ignored(manifests: Manifests) -> tuple[str, ...]:
    """The warning about objects that no plugin reads."""
    kinds = ", ".join(sorted(manifests.skipped))
    return (f"not looked at: objects of kind {kinds}",) if kinds else ()
