"""From a configuration, a registry and a state to an engine that decides."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from mooring.config import Configuration
from mooring.framework import Binder, ClusterApi, ClusterState, Handle, KubeVersion
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.runtime.clock import SystemClock
from mooring.runtime.engine import Engine
from mooring.runtime.permit import PermitRoom
from mooring.runtime.profile import build_profile
from mooring.runtime.progress import NullObserver, Observer
from mooring.runtime.registry import Registry


def build_engine(
    configuration: Configuration,
    registry: Registry,
    state: ClusterState,
    binder: Binder,
    *,
    kube_version: str = DEFAULT_KUBE_VERSION,
    feature_gates: Mapping[str, bool] | None = None,
    observer: Observer | None = None,
    cluster: ClusterApi | None = None,
) -> Engine:
    """Make every profile of ``configuration`` with its plugins, over ``state``.

    ``binder`` and ``cluster`` are what the plugins find in their handle.

    Raises:
        RegistryError: A plugin can't be loaded or made.
    """
    observer = observer or NullObserver()
    waiting = PermitRoom()
    handle = Handle(
        snapshot=lambda: state.snapshot,
        binder=binder,
        clock=SystemClock(),
        logger=logging.getLogger("mooring.plugins"),
        kube_version=KubeVersion.parse(kube_version),
        feature_gates=dict(feature_gates or {}),
        count=observer.plugin_event,
        cluster=cluster,
        waiting=waiting,
        assumptions=state,
    )
    profiles = {
        effective.scheduler_name: build_profile(effective, registry, handle)
        for effective in configuration.profiles
    }
    return Engine(state, profiles, observer, waiting)
