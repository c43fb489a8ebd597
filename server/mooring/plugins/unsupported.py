"""The in-tree plugins of kube-scheduler that a configuration may name, but that are not built.

A pod that needs one of them is refused by name, instead of being placed as if the plugin had agreed.
Mirrors ``plugins/registry.go`` and the extension points that each plugin there implements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mooring.framework import Pod
from mooring.framework.objects import Volume
from mooring.plugins.default_preemption.args import DefaultPreemptionArgs
from mooring.plugins.dynamic_resources.args import DynamicResourcesArgs
from mooring.plugins.volume_binding.args import VolumeBindingArgs


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A plugin that is not built.

    Attributes:
        name: Its name in configurations.
        points: The extension points it has in kube-scheduler, as configurations spell them.
        args: The dataclass of its arguments, or None.
        uses: Whether a pod can't be placed rightly without it.
    """

    name: str
    points: frozenset[str]
    args: type[Any] | None
    uses: Callable[[Pod], bool]


def _never(_: Pod) -> bool:
    """For plugins that no field of a pod, as far as it is decoded, asks for."""
    return False


def _is_claim(volume: Volume) -> bool:
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None


def _is_disk(volume: Volume) -> bool:
    disks = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.rbd, volume.iscsi)
    return any(disk is not None for disk in disks)


def _has_claims(pod: Pod) -> bool:
    return any(map(_is_claim, pod.spec.volumes))


def _has_claims_or_disks(pod: Pod) -> bool:
    return any(_is_claim(volume) or _is_disk(volume) for volume in pod.spec.volumes)


def _has_device_claims(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims)


def _needs_a_declared_feature(pod: Pod) -> bool:
    """What the features of k8s.io/component-helpers/nodedeclaredfeatures ask of a pod."""
    spec = pod.spec
    restarts_all = any(
        rule.action == "RestartAllContainers"
        for container in (*spec.init_containers, *spec.containers)
        for rule in container.restart_policy_rules
    )
    return restarts_all or (spec.host_network and spec.host_users is False)


def _is_in_group(pod: Pod) -> bool:
    return pod.spec.scheduling_group is not None


def _entry(name: str, points: str, args: type[Any] | None, uses: Callable[[Pod], bool]) -> Unsupported:
    return Unsupported(name, frozenset(points.split()), args, uses)


_FILTER = "preFilter filter"
_FILTER_AND_SCORE = "preFilter filter preScore score"
_ENTRIES = (
    _entry("VolumeRestrictions", _FILTER, None, _has_claims_or_disks),
    _entry("NodeVolumeLimits", _FILTER, None, _has_claims_or_disks),
    _entry("VolumeBinding", f"{_FILTER_AND_SCORE} reserve preBind", VolumeBindingArgs, _has_claims),
    _entry("VolumeZone", _FILTER, None, _has_claims),
    _entry(
        "DynamicResources",
        "preEnqueue preFilter filter postFilter score reserve preBind",
        DynamicResourcesArgs,
        _has_device_claims,
    ),
    _entry("DefaultPreemption", "preEnqueue postFilter", DefaultPreemptionArgs, _never),
    _entry("NodeDeclaredFeatures", _FILTER, None, _needs_a_declared_feature),
    _entry("GangScheduling", "preEnqueue permit", None, _is_in_group),
    _entry("TopologyPlacementGenerator", "placementGenerate", None, _is_in_group),
    _entry("PodGroupPodsCount", "placementScore", None, _is_in_group),
)

UNSUPPORTED: Mapping[str, Unsupported] = {entry.name: entry for entry in _ENTRIES}
"""By name, in the order in which kube-scheduler lists them by default."""
