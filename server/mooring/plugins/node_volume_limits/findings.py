"""Findings about CSI drivers that can attach no more volumes to a node, or are not on it."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.framework import Amounts, Finding, Holder, HolderKind, KubeVersion, NodeInfo, Pod, ReasonCode
from mooring.framework.findings import pod_holder
from mooring.framework.objects import CSINode
from mooring.plugins.node_volume_limits.attachable import Attachable, migrated_plugins
from mooring.plugins.node_volume_limits.attached import attached_to, limits_of


def full_drivers(pod: Pod, node: NodeInfo, version: KubeVersion) -> Iterator[Finding]:
    """Yield a finding for each driver that the pod would take beyond its limit on ``node``."""
    objects = node.snapshot.objects
    csi_node = objects.get(CSINode, node.name)
    attachable = Attachable(objects, migrated_plugins(csi_node, version))
    wanted, attached = attachable.of(pod, placed=False), attached_to(objects, node.name)
    used = [(record, attachable.of(record.with_claims, placed=True)) for record in node.records]
    by_pods = {name for _, volumes in used for name in volumes}
    for driver, limit in limits_of(csi_node).items():
        new = [name for name, its in wanted.items() if its == driver and name not in by_pods]
        idle = [name for name, its in attached.items() if its == driver and name not in by_pods]
        taken = {name for _, volumes in used for name, its in volumes.items() if its == driver}
        amounts = Amounts(len(new), len(taken) + len(idle), limit)
        if not new or amounts.free >= amounts.asked:
            continue
        holders = [
            pod_holder(record, count)
            for record, volumes in used
            if (count := list(volumes.values()).count(driver))
        ]
        unused = [
            Holder(
                HolderKind.ATTACHMENT, name.removeprefix(f"{driver}/"), 1, "attached, but no pod here uses it"
            )
            for name in idle
        ]
        yield Finding(
            ReasonCode.VOLUME_LIMIT_REACHED,
            driver,
            f"needs {_volumes(len(new), ' more')} of driver {driver}, and the node "
            f"{f'has {amounts.taken} of at most {limit}' if limit else 'takes none'}",
            asked=_volumes(len(new), " more"),
            present=f"{amounts.taken} of {_volumes(limit)}",
            amounts=amounts,
            pod_change=f"use at most {_volumes(amounts.free, ' more')} of {driver}"
            if amounts.free > 0
            else "",
            node_change=f"detach {_volumes(amounts.asked - amounts.free)} of {driver}"
            if limit >= amounts.asked
            else "",
        ).held_by([*holders, *unused])


def _volumes(count: int, more: str = "") -> str:
    return f"{count}{more} volume{'' if count == 1 else 's'}"


def missing_driver(driver: str, node: NodeInfo) -> Finding:
    """Return the finding for a driver that has to be on ``node``."""
    csi_node = node.snapshot.objects.get(CSINode, node.name)
    installed = ", ".join(each.name for each in csi_node.spec.drivers) if csi_node is not None else ""
    return Finding(
        ReasonCode.VOLUME_DRIVER_MISSING,
        driver,
        f"CSI driver {driver} is not installed on the node, which has {installed or 'none'}",
        asked=driver,
        present=installed,
        node_change=f"install the CSI driver {driver} on the node",
    )
