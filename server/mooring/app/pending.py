"""The pending pods of manifests or a live cluster, each evaluated by itself, and why they wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mooring.app.offline import Objects, Shown, engine_over
from mooring.app.options import EngineOptions
from mooring.decisions.asking import PendingPod, ask_about
from mooring.framework import Pod


def pending_pods(
    options: EngineOptions,
    paths: Objects,
    wanted: Callable[[Pod], bool],
    shown: Shown,
    *,
    profile: str = "",
) -> list[PendingPod]:
    """Return the wanted pods that have no node, in the order in which they are listed.

    Args:
        options: What decides.
        paths: The manifests' files and directories, or the API server of a live cluster.
        wanted: Whether a pod is evaluated.
        shown: Shows the progress.
        profile: The profile of every pod; "" = the one that each names.

    Raises:
        ConfigError, RegistryError, InvalidArgumentError, MooringError: As ``core_over``.
    """
    engine, manifests = engine_over(options, paths)
    waiting = [pod for pod in manifests.pods if pod.pending and wanted(pod)]
    asked: Iterable[Pod] = shown(waiting, len(waiting))
    return [ask_about(engine, pod, profile=profile) for pod in asked]
