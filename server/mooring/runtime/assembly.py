"""From a configuration, a registry and a state to an engine that decides."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mooring.config import Configuration
from mooring.framework import Binder, ClusterApi, Handle, KubeVersion
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.framework.state import ClusterState
from mooring.runtime.commit.clock import SystemClock
from mooring.runtime.cycle.plugin_calls import Observer
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.extender import Extender
from mooring.runtime.profiles.profile import build_profile
from mooring.runtime.profiles.profiles import Profiles
from mooring.runtime.profiles.registry import Registry
from mooring.runtime.profiles.waiting_pods import PodsAtPermit
from mooring.runtime.tuning import DEFAULT_TUNING, SELF_CHECK_EVERY, CacheTuning


@dataclass(frozen=True, slots=True)
class ProfileBuilder:
    """Makes the profiles of one configuration after the other. Safe from any thread.

    Attributes:
        handle: The plugins' view; pods that wait for their Permit plugins wait beyond a configuration.
        waiting: These pods.
        extenders: Take part in every profile's decisions, in this order.
    """

    registry: Registry
    handle: Handle
    waiting: PodsAtPermit
    extenders: tuple[Extender, ...] = ()

    @classmethod
    def over(
        cls,
        registry: Registry,
        state: ClusterState,
        binder: Binder,
        *,
        kube_version: str = DEFAULT_KUBE_VERSION,
        feature_gates: Mapping[str, bool] | None = None,
        observer: Observer | None = None,
        cluster: ClusterApi | None = None,
        extenders: Sequence[Extender] = (),
    ) -> ProfileBuilder:
        """Return one whose plugins read ``state``; arguments as of ``build_engine``."""
        waiting = PodsAtPermit()
        handle = Handle(
            snapshot=lambda: state.snapshot,
            binder=binder,
            clock=SystemClock(),
            logger=logging.getLogger("mooring.plugins"),
            kube_version=KubeVersion.parse(kube_version),
            feature_gates=dict(feature_gates or {}),
            count=(observer or Observer()).plugin_event,
            cluster=cluster,
            waiting=waiting,
            assumptions=state,
        )
        return cls(registry, handle, waiting, tuple(extenders))

    def build(self, configuration: Configuration) -> Profiles:
        """Make every profile of ``configuration`` with its plugins. Raises RegistryError if a plugin can't be
        loaded or made.
        """
        profiles = {
            effective.scheduler_name: replace(
                build_profile(effective, self.registry, self.handle, configuration.hash),
                extenders=self.extenders,
            )
            for effective in configuration.profiles
        }
        return Profiles(profiles, configuration.hash, self.waiting)


def build_engine(  # noqa: PLR0913 - the parts that every engine has
    configuration: Configuration,
    registry: Registry,
    state: ClusterState,
    binder: Binder,
    *,
    kube_version: str = DEFAULT_KUBE_VERSION,
    feature_gates: Mapping[str, bool] | None = None,
    observer: Observer | None = None,
    cluster: ClusterApi | None = None,
    extenders: Sequence[Extender] = (),
    exclusive: bool = False,
    self_check_every: int = SELF_CHECK_EVERY,
    tuning: CacheTuning = DEFAULT_TUNING,
) -> Engine:
    """Make every profile of ``configuration`` with its plugins, over ``state``.

    ``binder`` and ``cluster`` are what the plugins find in their handle. ``extenders`` take part in every
    profile's decisions, in this order. ``exclusive`` as in ``Engine``; one cached answer in
    ``self_check_every`` is compared with a full evaluation, none for 0. ``tuning`` is how the cache is tuned.
    Raises RegistryError if a plugin can't be loaded or made.
    """
    builder = ProfileBuilder.over(
        registry,
        state,
        binder,
        kube_version=kube_version,
        feature_gates=feature_gates,
        observer=observer,
        cluster=cluster,
        extenders=extenders,
    )
    profiles = builder.build(configuration)
    return Engine(
        state, profiles, observer, exclusive=exclusive, self_check_every=self_check_every, tuning=tuning
    )
