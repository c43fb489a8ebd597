"""Findings about volumes that a node doesn't reach, and claims that get no volume there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from mooring.framework import (
    Amounts,
    Bools,
    CycleState,
    Finding,
    NodeInfo,
    NodeView,
    ReasonCode,
    Snapshot,
)
from mooring.framework.findings import shared
from mooring.framework.label_selector import compiled
from mooring.framework.objects import (
    CSIStorageCapacity,
    NodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.framework.quantity import NANO, parse_quantity, units
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
from mooring.plugins.node_affinity.findings import condition_text
from mooring.plugins.volume_binding.affinity import reached_from, reaches, required_of, selects
from mooring.plugins.volume_binding.matching import Matching
from mooring.plugins.volume_binding.pod_claims import PodClaims
from mooring.plugins.volume_binding.unbound import SELECTED_NODE, can_be_made, largest_volume


def claims_without_volumes(
    state: CycleState, claims: PodClaims, node: NodeInfo, with_classes: bool
) -> Iterator[Finding]:
    """Yield a finding for each claim whose volume ``node`` can't use or get, as ``filter_nodes`` checks."""
    view = one_node(node.snapshot, node.name)
    nodes = shared(state, _AllNodes, partial(_AllNodes, node.snapshot))
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
            yield from _not_made(state, claim, "", nodes, view)
    if not free:
        return
    matched = shared(state, _Matched, partial(_Matched, free, nodes, with_classes))
    for claim in matched.unserved(node):
        volumes = shared(state, (_ClassVolumes, claim.metadata.key), partial(_ClassVolumes, claim, nodes))
        why = volumes.why_none(node, matched.given(node))
        yield from _not_made(state, claim, why, nodes, view)


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
        f"volume {name} of claim {claim.metadata.key} is for nodes with {asked}, but the node has {present}",
        asked=asked,
        present=present,
        pod_change="use a claim whose volume the node reaches",
        node_change=f"add a node with {asked}",
    )


def _made_elsewhere(claim: PersistentVolumeClaim, selected: str) -> Finding:
    return Finding(
        ReasonCode.VOLUME_NOT_AVAILABLE,
        claim.metadata.key,
        f"the volume of claim {claim.metadata.key} is being made for node {selected}",
        asked=_wanted(claim),
        present=selected,
        node_change=f"remove the annotation {SELECTED_NODE} of the claim",
    )


def _not_made(
    state: CycleState, claim: PersistentVolumeClaim, unmatched: str, nodes: _AllNodes, view: NodeView
) -> Iterator[Finding]:
    """Yield why no volume is made for a claim on the only node of ``view``; nothing if one can be made."""
    at = nodes.position(view.names[0])
    find = partial(can_be_made, claim, nodes.view)
    possible, room = (bool(each[at]) for each in shared(state, (can_be_made, claim.metadata.key), find))
    name = class_of_claim(claim)
    kind = view.snapshot.objects.get(StorageClass, name)
    if kind is None or (possible and room):
        return
    if possible:
        yield _exhausted(claim, kind, view)
        return
    said = f"class {name} has no provisioner"
    if kind.provisioner not in ("", NO_PROVISIONER):
        said = f"class {name} makes volumes only in {_topologies(kind)}"
    key, wanted = claim.metadata.key, _wanted(claim)
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
    asked, largest = size_of(claim.spec.resources.requests) // NANO, max(sizes, default=0)
    fits = amount_text(MEMORY, max(largest, 0))
    found = f"the largest volume that {driver} can make for the node has {fits}"
    if not sizes:
        found = f"{driver} reports no capacity for the node"
    return Finding(
        ReasonCode.STORAGE_EXHAUSTED,
        name,
        f"claim {claim.metadata.key} needs {amount_text(MEMORY, asked)} of class {name}, but {found}",
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


class _Matched:
    """Which claims find a volume on which nodes.

    Args:
        claims: The pod's claims that may have any volume.
        nodes: The nodes.
        with_classes: As of ``Matching``.
    """

    def __init__(self, claims: Sequence[PersistentVolumeClaim], nodes: _AllNodes, with_classes: bool) -> None:
        self._nodes = nodes
        self._matching = Matching(nodes.view, with_classes)
        self._found = self._matching.match(claims)

    def unserved(self, node: NodeInfo) -> Iterator[PersistentVolumeClaim]:
        """Yield the claims that find no volume on ``node``."""
        at = self._nodes.position(node.name)
        yield from (claim for claim, found in self._found if not found[at])

    def given(self, node: NodeInfo) -> set[str]:
        """Return the volumes that claims of the pod get on ``node``."""
        at = self._nodes.position(node.name)
        return {volume.metadata.name for _, volume, where in self._matching.takings if where[at]}


class _AllNodes:
    """All nodes, and where each is among them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.view = NodeView(snapshot, snapshot.nodes.rows())
        self._positions = {name: at for at, name in enumerate(self.view.names)}

    def position(self, name: str) -> int:
        """Return where the node of that name is."""
        return self._positions[name]


class _ClassVolumes:
    """Why no volume of a claim's class serves it: most reasons hold for all nodes.

    Args:
        claim: The claim.
        nodes: The nodes.
    """

    def __init__(self, claim: PersistentVolumeClaim, nodes: _AllNodes) -> None:
        self._nodes, self._class = nodes, class_of_claim(claim)
        volumes = nodes.view.snapshot.objects.all(PersistentVolume)
        self._names = [each.metadata.name for each in volumes if class_of_volume(each) == self._class]
        self._everywhere: Counter[str] = Counter()
        # By node affinity, and by the fault of volumes that the nodes reach.
        self._reachable: dict[NodeSelector | None, Counter[tuple[str, str]]] = {}
        self._reached: dict[NodeSelector | None, Bools] = {}
        for volume in volumes:
            if class_of_volume(volume) != self._class:
                continue
            if fault := _fault_before_reach(volume, claim):
                self._everywhere[fault] += 1
                continue
            required, fault = required_of(volume), _fault_in_reach(volume, claim)
            if required not in self._reached:
                self._reached[required] = reaches(required, self._nodes.view)
            known = self._reachable.setdefault(required, Counter())
            known[fault, "" if fault else volume.metadata.name] += 1

    def why_none(self, node: NodeInfo, given: set[str]) -> str:
        """Return why none serves the claim on ``node``, where claims of the pod get the ``given`` ones."""
        if not self._names:
            return f"there is no volume of class {self._class}"
        faults, at = self._everywhere.copy(), self._nodes.position(node.name)
        for required, known in self._reachable.items():
            reached = self._reached[required][at]
            for (fault, name), count in known.items():
                taken = "goes to another claim of the pod" if name in given else "unusable"
                faults[(fault or taken) if reached else "not reached from the node"] += count
        if len(self._names) == 1:
            (fault,) = faults
            verb = "" if fault.startswith(("has ", "goes ")) else "is "
            return f"volume {self._names[0]} {verb}{fault}"
        counted = ", ".join(f"{text} ({count})" for text, count in faults.most_common(3))
        return f"none of the {len(self._names)} volumes of the class can be used: {counted}"


def _fault_before_reach(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Return why ``claim`` can't have ``volume`` wherever it is reached, "" = it may."""
    kept, mine = volume.spec.claim_ref, is_kept_for(volume, claim)
    if kept is not None and not mine:
        return f"kept for {kept.namespace}/{kept.name}"
    if volume.metadata.deletion_timestamp is not None:
        return "being deleted"
    return "" if mine or volume.status.phase == "Available" else volume.status.phase or "not available"


def _fault_in_reach(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Return why ``claim`` can't have ``volume`` where it is reached, as ``volume_matching`` decides."""
    spec, wanted, mine = volume.spec, claim.spec, is_kept_for(volume, claim)
    size = size_of(spec.capacity)
    selector = compiled(wanted.selector) if wanted.selector is not None and not mine else None
    faults = (
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
        (size < size_of(wanted.resources.requests), f"has only {amount_text(MEMORY, size // NANO)}"),
    )
    return next((text for fails, text in faults if fails), "")
