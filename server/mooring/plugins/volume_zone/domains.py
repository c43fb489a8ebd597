"""The zones and regions that a volume is labelled with."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import Bools, NodeView
from mooring.framework.objects import PersistentVolume
from mooring.plugins.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_SEPARATOR

ZONE_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
"""The labels that count."""

NEW_KEY = {BETA_ZONE: ZONE, BETA_REGION: REGION}
"""Today's label for each old one."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A node label and its allowed values."""

    key: str
    values: frozenset[str]


def domains_of(volume: PersistentVolume) -> list[Domain]:
    """Return the volume's zones and regions; a label with an empty part in its list of values is left out."""
    domains, labels = [], volume.metadata.labels
    for key in ZONE_LABELS:
        if key in labels:
            values = frozenset(map(str.strip, labels[key].split(ZONE_SEPARATOR)))
            if "" not in values:
                domains.append(Domain(key, values))
    return domains


def is_inside(domain: Domain, nodes: NodeView) -> Bools:
    """Return bool[K]: the node has one of the values; today's label counts where the old one is missing."""
    column = nodes.label(domain.key)
    inside = column.is_in(nodes.rows, domain.values)
    today = NEW_KEY.get(domain.key)
    if today is not None:
        inside |= ~column.exists(nodes.rows) & nodes.label(today).is_in(nodes.rows, domain.values)
    return inside
