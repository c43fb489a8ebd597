"""Volumes of the kinds that were part of Kubernetes, as the CSI drivers that serve them now name them.

Mirrors ``k8s.io/csi-translation-lib`` (translate.go, plugins/), as far as a driver's name, the handle of a
volume and the nodes that reach it go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from mooring.framework.objects import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    GCEPersistentDiskVolumeSource,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    Volume,
)

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE_SEPARATOR = "__"
"""The separator of zones in a label that names several."""

_UNKNOWN = "UNSPECIFIED"
_EBS_ID = re.compile(r"vol-[^/]*")

Labels = Mapping[str, str]


class TranslationError(ValueError):
    """A volume can't be translated into its CSI driver's terms."""


@dataclass(frozen=True, slots=True)
class InTreeKind:
    """A kind of volume that a CSI driver took over.

    Attributes:
        field: Its field in a volume and a persistent volume.
        plugin: The name of the in-tree provisioner.
        driver: The CSI driver.
        handle: The driver's name for the disk; the labels are those of the persistent volume, if any.
        topology_key: The node label that the driver uses for zones, when nodes' affinity is translated.
        migrated: Whether nodes with CSI use the driver.
    """

    field: str
    plugin: str
    driver: str
    handle: Callable[[Any, Labels], str]
    topology_key: str = ""
    migrated: bool = True


MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""The annotation of a CSINode that lists the plugins of old that the node has handed to CSI drivers."""


def kind_of(source: object) -> InTreeKind | None:
    """Return the kind of a ``Volume`` or ``PersistentVolumeSpec``; None if it was not migrated to CSI."""
    # Not next(): a generator takes twice as long, and this runs for each claim.
    for kind in KINDS:
        if getattr(source, kind.field) is not None:
            return kind
    return None


def inline_handle(kind: InTreeKind, volume: Volume) -> str:
    """Return the driver's name for a volume in a pod; raises TranslationError if it has none."""
    return kind.handle(getattr(volume, kind.field), {})


def volume_handle(kind: InTreeKind, volume: PersistentVolume) -> str:
    """Return the driver's name for a persistent volume; raises TranslationError if it has none."""
    return kind.handle(getattr(volume.spec, kind.field), volume.metadata.labels)


def translated_affinity(kind: InTreeKind, volume: PersistentVolume) -> NodeSelector | None:
    """Return the nodes that reach the volume, by the driver's own topology label; None = all. Raises
    TranslationError if the volume has no name with the driver.
    """
    volume_handle(kind, volume)
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if not kind.topology_key:
        return required
    terms = required.node_selector_terms if required is not None else ()
    zone, region = _topology_labels(terms, volume.metadata.labels)
    if _values(terms, zone):
        terms = _with_key(terms, zone, kind.topology_key)
    elif zones := _zones(volume.metadata.labels.get(zone, "")):
        added = NodeSelectorRequirement(kind.topology_key, "In", zones)
        terms = tuple(_with_condition(term, added) for term in terms or (NodeSelectorTerm(),))
        required = NodeSelector()
    if region == BETA_REGION and _values(terms, region):
        terms = _with_key(terms, region, REGION)
    return None if required is None else NodeSelector(terms)


def _topology_labels(terms: tuple[NodeSelectorTerm, ...], labels: Labels) -> tuple[str, str]:
    """Return the labels for zone and region to use: the affinity's, else the volume's own, else today's."""
    keys = {condition.key for term in terms for condition in term.match_expressions}
    for known in (keys, labels):
        if ZONE in known:
            return ZONE, REGION
        if BETA_ZONE in known:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> set[str]:
    return {
        value
        for term in terms
        for condition in term.match_expressions
        if condition.key == key
        for value in condition.values
    }


def _zones(label: str) -> tuple[str, ...]:
    return tuple(sorted({zone.strip() for zone in label.split(ZONE_SEPARATOR)} - {""}))


def _with_key(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    def renamed(condition: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return msgspec.structs.replace(condition, key=new) if condition.key == old else condition

    return tuple(
        msgspec.structs.replace(term, match_expressions=tuple(map(renamed, term.match_expressions)))
        for term in terms
    )


def _with_condition(term: NodeSelectorTerm, added: NodeSelectorRequirement) -> NodeSelectorTerm:
    return msgspec.structs.replace(term, match_expressions=(*term.match_expressions, added))


def _gce_handle(disk: GCEPersistentDiskVolumeSource, labels: Labels) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_SEPARATOR)
    if len(zones) == 1:
        return f"projects/{_UNKNOWN}/zones/{zones[0] or _UNKNOWN}/disks/{disk.pd_name}"
    return f"projects/{_UNKNOWN}/regions/{_gce_region(zones)}/disks/{disk.pd_name}"


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        region = zone.rpartition("-")[0]
        if region.count("-") != 1:
            raise TranslationError(f"zone {zone!r} of a GCE disk is not of the form place-region-zone")
        regions.add(region)
    if len(regions) != 1:
        raise TranslationError(f"the zones {zones} of a GCE disk are not in one region")
    return str(regions.pop())


def _ebs_handle(disk: AWSElasticBlockStoreVolumeSource, _: Labels) -> str:
    if not disk.volume_id.startswith("aws://"):
        return disk.volume_id
    found = unquote(urlsplit(disk.volume_id).path).strip("/")
    if not _EBS_ID.fullmatch(found):
        raise TranslationError(
            f"{disk.volume_id!r} is not the name of an EBS volume; write aws://zone/vol-id"
        )
    return found


def _azure_disk_handle(disk: AzureDiskVolumeSource, _: Labels) -> str:
    kind = disk.kind or "Shared"
    if kind.lower() != "managed":
        raise TranslationError(f"an Azure disk of kind {kind}; its CSI driver knows managed ones alone")
    return disk.disk_uri


def _volume_id(disk: Any, _: Labels) -> str:
    return str(disk.volume_id)


def _no_handle(_: object, __: Labels) -> str:
    raise TranslationError("volumes of this kind are not counted by their CSI driver")


KINDS = (
    InTreeKind(
        "gce_persistent_disk",
        "kubernetes.io/gce-pd",
        "pd.csi.storage.gke.io",
        _gce_handle,
        "topology.gke.io/zone",
    ),
    InTreeKind(
        "aws_elastic_block_store",
        "kubernetes.io/aws-ebs",
        "ebs.csi.aws.com",
        _ebs_handle,
        "topology.ebs.csi.aws.com/zone",
    ),
    InTreeKind(
        "cinder",
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        _volume_id,
        "topology.cinder.csi.openstack.org/zone",
    ),
    InTreeKind("azure_disk", "kubernetes.io/azure-disk", "disk.csi.azure.com", _azure_disk_handle),
    InTreeKind("portworx_volume", "kubernetes.io/portworx-volume", "pxd.portworx.com", _volume_id),
    InTreeKind("azure_file", "kubernetes.io/azure-file", "file.csi.azure.com", _no_handle, migrated=False),
    InTreeKind(
        "vsphere_volume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", _no_handle, migrated=False
    ),
)
"""All kinds that some CSI driver took over."""

BY_PLUGIN = {kind.plugin: kind for kind in KINDS}
"""By the name of the provisioner of old."""
