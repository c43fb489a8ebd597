"""Findings about volumes in other zones and regions than the node."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.framework import Finding, NodeInfo, Pod, ReasonCode
from mooring.framework.objects import PersistentVolume, PersistentVolumeClaim
from mooring.framework.view import one_node
from mooring.plugins.volume_zone.domains import NEW_KEY, domains_of, is_inside


def wrong_zones(pod: Pod, node: NodeInfo) -> Iterator[Finding]:
    """Yield a finding for each zone or region of the pod's volumes that ``node`` is not in."""
    objects, view = node.snapshot.objects, one_node(node.snapshot, node.name)
    for name in pod.claim_names:
        claim = objects.get(PersistentVolumeClaim, name, pod.metadata.namespace)
        volume = objects.get(PersistentVolume, claim.spec.volume_name) if claim is not None else None
        if claim is None or volume is None:
            continue
        for domain in domains_of(volume):
            if is_inside(domain, view).all():
                continue
            key = domain.key if domain.key in node.labels else NEW_KEY.get(domain.key, domain.key)
            asked = f"{domain.key}={' or '.join(sorted(domain.values))}"
            present = f"{key}={node.labels[key]}" if key in node.labels else f"no label {key}"
            yield Finding(
                ReasonCode.VOLUME_ZONE_MISMATCH,
                volume.metadata.name,
                f"volume {volume.metadata.name} of claim {claim.metadata.key} is in {asked}, "
                f"but the node has {present}",
                asked=asked,
                present=present,
                pod_change="use a claim with a volume in the node's zone",
                node_change=f"add a node with {asked}",
            )
