"""The whole cycle on a few manifests, without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.app.offline import explained
from mooring.framework import Plugin
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.runtime.answers import CycleOptions, Document
from mooring.runtime.profiles.registry import installed_registry
from mooring.testing.question import Question, question


def explain(
    objects: Sequence[Mapping[str, Any]],
    pod: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    *,
    profile: str | None = None,
    version: str = DEFAULT_KUBE_VERSION,
    seed: int = 0,
    feature_gates: Mapping[str, bool] | None = None,
    always_score: bool = False,
    all_rejections: bool = False,
    plugins: Sequence[type[Plugin[Any]]] = (),
    measurements: Mapping[str, Mapping[str, int]] | None = None,
) -> Document:
    """Why ``pod`` would go where, given ``objects``.

    Args:
        objects: The cluster as manifests: nodes, and pods with ``spec.nodeName``.
        pod: The pod's manifest.
        config: A KubeSchedulerConfiguration, or None for the default one.
        profile: The profile's name; default the one that the pod's schedulerName names, else the only one.
        version: The Kubernetes release whose behaviour is wanted, such as ``1.36``; default the newest
            that is followed.
        seed: Decides between nodes of equal totals.
        feature_gates: Gates that differ from the release's defaults.
        always_score: Score a single feasible node too.
        all_rejections: Report every plugin that rejects a node, not only the first.
        plugins: Classes that the configuration may name besides the in-tree and the installed ones.
        measurements: By the name of a source, the values of nodes. Other sources than files are not called.

    Returns:
        The document that ``mooring explain -o json`` prints; a plugin's failure is in its status.

    Raises:
        InvalidArgumentError: A manifest can't be used; has the field's path.
        ConfigError: The configuration has faults; names all of them.
        NotFoundError: There is no such profile.
        RegistryError: Another plugin has the name of one of ``plugins``.
        ValueError: ``version`` is not a release that mooring follows.
    """
    registry = None
    if plugins:
        registry = installed_registry()
        for kind in plugins:
            registry.register(kind.name, kind)
    asked = question(
        objects,
        pod,
        config,
        profile=profile,
        version=version,
        feature_gates=feature_gates,
        registry=registry,
        measurements=measurements,
    )
    return answer_to(asked, seed=seed, always_score=always_score, all_rejections=all_rejections)


def answer_to(
    asked: Question, *, seed: int = 0, always_score: bool = False, all_rejections: bool = False
) -> Document:
    """Explain a prepared question, as often as needed, since nothing changes."""
    return explained(
        asked.engine,
        asked.pod,
        asked.profile,
        seed=seed,
        cycle=CycleOptions(always_score=always_score, all_rejections=all_rejections),
        warnings=asked.warnings,
    ).document()
