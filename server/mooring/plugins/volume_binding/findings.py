"""Findings about volumes that a node doesn't reach, and claims that get no volume there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mooring.framework import Amounts, Finding, NodeInfo, NodeView, ReasonCode
from mooring.framework.label_selector import compiled
from mooring.framework.objects import (
    CSIStorageCapacity,
    NodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.framework.quantity import parse_quantity, units
from mooring.framework.resources import MEMORY
from mooring.framework.resources import amount as amount_text
from mooring.framework.view import one_node
from mooring.framework.volume_matching import (
    FILESYSTEM,
    NO_PROVISIONER,
    STORAGE,
    class_of_claim,
    class_of_volume,
    is_kept_for,
    size_of,
)
from mooring.plugins.claim_findings import volume_missing
from mooring.plugins.claims import claim_key
from mooring.plugins.node_affinity.findings import condition_text
from mooring.plugins.volume_binding.affinity import reached_from, reaches, required_of, selects
from mooring.plugins.volume_binding.matching import Matching
from mooring.plugins.volume_binding.pod_claims import PodClaims
from mooring.plugins.volume_binding.unbound import SELECTED_NODE, can_be_made, largest_volume

_NANO = 10**9


def claims_without_volumes(claims: PodClaims, node: NodeInfo, with_classes: bool) -> Iterator[Finding]:
    """Yield a finding for each claim whose volume ``node`` can't use or get, as ``filter_nodes`` checks."""
    view = one_node(node.snapshot, node.name)
    for claim in claims.bound:
        volume = view.snapshot.objects.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            yield volume_missing(claim)
        else:
            selector = reached_from(volume, view)
            if not reaches(selector, view).all():
                yield _out_of_reach(claim, volume, selector, node)
    free = []
    for claim in claims.waiting:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            free.append(claim)
        elif selected != node.name:
            yield _made_elsewhere(claim, selected)
        else:
            yield from _not_made(claim, "", view)
    matching = Matching(view, with_classes)
    for claim, found in matching.match(free):
        if not found.all():
            given = {volume.metadata.name for volume in matching.given.values()}
            yield from _not_made(claim, _why_no_volume(claim, given, view), view)


def _out_of_reach(
    claim: PersistentVolumeClaim, volume: PersistentVolume, selector: NodeSelector | None, node: NodeInfo
) -> Finding:
    terms = selector.node_selector_terms if selector is not None else ()
    asked = " or ".join(" and ".join(map(condition_text, term.match_expressions)) for term in terms)
    keys = dict.fromkeys(each.key for term in terms for each in term.match_expressions)
    present = ", ".join(
        f"{key}={node.labels[key]}" if key in node.labels else f"no label {key}" for key in keys
    )
    name = volume.metadata.name
    return Finding(
        ReasonCode.VOLUME_NODE_AFFINITY,
        name,
        f"volume {name} of claim {claim_key(claim)} is for nodes with {asked}, but the node has {present}",
        asked=asked,
        present=present,
        pod_change="use a claim whose volume the node reaches",
        node_change=f"add a node with {asked}",
    )


def _made_elsewhere(claim: PersistentVolumeClaim, selected: str) -> Finding:
    return Finding(
        ReasonCode.VOLUME_NOT_AVAILABLE,
        claim_key(claim),
        f"the volume of claim {claim_key(claim)} is being made for node {selected}",
        asked=_wanted(claim),
        present=selected,
        node_change=f"remove the annotation {SELECTED_NODE} of the claim",
    )


def _not_made(claim: PersistentVolumeClaim, unmatched: str, view: NodeView) -> Iterator[Finding]:
    """Yield why no volume is made for a claim on the only node of ``view``; nothing if one can be made."""
    possible, room = can_be_made(claim, view)
    name = class_of_claim(claim)
    kind = view.snapshot.objects.get(StorageClass, name)
    if kind is None or (possible & room).all():
        return
    if possible.all():
        yield _exhausted(claim, kind, view)
        return
    said = f"class {name} has no provisioner"
    if kind.provisioner not in ("", NO_PROVISIONER):
        said = f"class {name} makes volumes only in {_topologies(kind)}"
    key, wanted = claim_key(claim), _wanted(claim)
    yield Finding(
        ReasonCode.VOLUME_NOT_AVAILABLE,
        key,
        f"claim {key} asks for {wanted}: {f'{unmatched}, and ' if unmatched else ''}{said}",
        asked=wanted,
        present=unmatched,
        node_change=f"provide a volume of {wanted} that the node reaches",
    )


def _exhausted(claim: PersistentVolumeClaim, kind: StorageClass, view: NodeView) -> Finding:
    name, driver = kind.metadata.name, kind.provisioner
    sizes = [
        largest_volume(report)
        for report in view.snapshot.objects.all(CSIStorageCapacity)
        if report.storage_class_name == name and selects(report.node_topology, view).all()
    ]
    asked, largest = size_of(claim.spec.resources.requests) // _NANO, max(sizes, default=0)
    fits = amount_text(MEMORY, max(largest, 0))
    found = f"the largest volume that {driver} can make for the node has {fits}"
    if not sizes:
        found = f"{driver} reports no capacity for the node"
    return Finding(
        ReasonCode.STORAGE_EXHAUSTED,
        name,
        f"claim {claim_key(claim)} needs {amount_text(MEMORY, asked)} of class {name}, but {found}",
        asked=amount_text(MEMORY, asked),
        present=fits if sizes else "",
        amounts=Amounts(asked, 0, max(largest, 0)),
        pod_change=f"use a claim of at most {fits}" if largest > 0 else "",
        node_change=f"free {amount_text(MEMORY, asked - max(largest, 0))} of class {name}",
    )


def _topologies(kind: StorageClass) -> str:
    return " or ".join(
        " and ".join(f"{each.key}={'|'.join(each.values)}" for each in term.match_label_expressions)
        for term in kind.allowed_topologies
    )


def _wanted(claim: PersistentVolumeClaim) -> str:
    asked = units(parse_quantity(claim.spec.resources.requests.get(STORAGE, 0)))
    modes = "+".join(claim.spec.access_modes)
    return f"{amount_text(MEMORY, asked)} {modes} of class {class_of_claim(claim)}"


def _why_no_volume(claim: PersistentVolumeClaim, given: set[str], view: NodeView) -> str:
    """Return why no volume of the claim's class serves it on the only node of ``view``."""
    name = class_of_claim(claim)
    volumes = [each for each in view.snapshot.objects.all(PersistentVolume) if class_of_volume(each) == name]
    if not volumes:
        return f"there is no volume of class {name}"
    faults = Counter(_fault(volume, claim, given, view) for volume in sorted(volumes, key=_name))
    if len(volumes) == 1:
        (fault,) = faults
        verb = "" if fault.startswith(("has ", "goes ")) else "is "
        return f"volume {volumes[0].metadata.name} {verb}{fault}"
    counted = ", ".join(f"{text} ({count})" for text, count in faults.most_common(3))
    return f"none of the {len(volumes)} volumes of the class can be used: {counted}"


def _name(volume: PersistentVolume) -> str:
    return volume.metadata.name


def _fault(volume: PersistentVolume, claim: PersistentVolumeClaim, given: set[str], view: NodeView) -> str:
    """Return why ``claim`` can't have ``volume``, as ``volume_matching`` decides."""
    spec, wanted, kept = volume.spec, claim.spec, volume.spec.claim_ref
    size = size_of(spec.capacity)
    mine = is_kept_for(volume, claim)
    selector = compiled(wanted.selector) if wanted.selector is not None and not mine else None
    faults = (
        (kept is not None and not mine, f"kept for {kept.namespace}/{kept.name}" if kept else ""),
        (volume.metadata.deletion_timestamp is not None, "being deleted"),
        (not mine and volume.status.phase != "Available", volume.status.phase or "not available"),
        (not reaches(required_of(volume), view).all(), "not reached from the node"),
        (
            (spec.volume_mode or FILESYSTEM) != (wanted.volume_mode or FILESYSTEM),
            f"has mode {spec.volume_mode or FILESYSTEM}",
        ),
        (
            not mine and not set(wanted.access_modes).issubset(spec.access_modes),
            f"has {'+'.join(spec.access_modes)}",
        ),
        (selector is not None and not selector.matches(volume.metadata.labels), "outside the selector"),
        (
            (spec.volume_attributes_class_name or "") != (wanted.volume_attributes_class_name or ""),
            "has other attributes",
        ),
        (size < size_of(wanted.resources.requests), f"has only {amount_text(MEMORY, size // _NANO)}"),
        (volume.metadata.name in given, "goes to another claim of the pod"),
    )
    return next((text for fails, text in faults if fails), "unusable")
