"""A valid configuration, as the rest of mooring uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mooring.config.expand import EnabledPlugin
from mooring.config.types import KubeSchedulerConfiguration


@dataclass(frozen=True, slots=True)
class EffectiveProfile:
    """One profile, ready to run.

    Attributes:
        scheduler_name: The ``spec.schedulerName`` of the pods that it schedules.
        plugins: By point (``filter``, ``score``, ...), the plugins in the order in which they run.
        args: By plugin, its arguments: an instance of the plugin's Args class, or the plain value in the
            file for a plugin without one. Plugins without arguments are absent.
        percentage_of_nodes_to_score: 1..100; 0 = kube-scheduler's adaptive rule; None = every node, when
            neither the profile nor the file says anything.
        unsupported: The enabled in-tree plugins that are accepted by name only, in name order.
        not_evaluated: The unknown plugins that the file enables, in name order, if they are passed over on
            request. Nothing may be committed by such a profile.
    """

    scheduler_name: str
    plugins: Mapping[str, tuple[EnabledPlugin, ...]]
    args: Mapping[str, Any]
    percentage_of_nodes_to_score: int | None
    unsupported: tuple[str, ...]
    not_evaluated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """A valid configuration. Immutable, so threads may share it.

    Attributes:
        document: The whole file, every default explicit, as kube-scheduler would write it.
        profiles: The profiles in the file's order; the first is the extender's default.
        lease_name: The lease that the file names; None when it names none.
        differences: Defaults that are not kube-scheduler's, where the file leaves a field out.
        hash: 16 hex digits that change with any field, default or option that is in force.
    """

    document: KubeSchedulerConfiguration
    profiles: tuple[EffectiveProfile, ...]
    lease_name: str | None
    warnings: tuple[str, ...]
    differences: tuple[str, ...]
    hash: str
