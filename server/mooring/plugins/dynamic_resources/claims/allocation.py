"""Translates the devices that were found to a claim's status.

Mirrors the end of ``Allocate`` and ``createNodeSelector`` in ``structured/internal/incubating`` of
``k8s.io/dynamic-resource-allocation``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from mooring.framework import KubeVersion
from mooring.framework.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from mooring.framework.objects.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from mooring.framework.quantity import NANO
from mooring.plugins.dynamic_resources.pools import capacity
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice
from mooring.plugins.dynamic_resources.requests import DeviceChoice
from mooring.plugins.dynamic_resources.rules import Rules

_STATED_ONCE_SINCE = KubeVersion(1, 37)
"""Before, a claim's entry for several requests stands there once for each of them. Since, no entry that is
for all requests names them."""

Found = Sequence[tuple[DeviceChoice, CandidateDevice]]
"""The devices of one claim, each with the choice that it was found for."""

Document = Mapping[str, Any]
"""An object as JSON values."""


def allocation_of(found: Found, node_name: str, rules: Rules) -> AllocationResult:
    """Return the allocation of one claim on the node."""
    results = tuple([_result(choice, candidate, rules) for choice, candidate in found])
    selector = _node_selector([candidate for _, candidate in found], node_name)
    return AllocationResult(DeviceAllocationResult(results), selector)


def _result(choice: DeviceChoice, candidate: CandidateDevice, rules: Rules) -> DeviceRequestAllocationResult:
    device, name = candidate.device, candidate.id
    consumed = capacity.consumed(device, choice.amounts, rules) if candidate.shared else {}
    return DeviceRequestAllocationResult(
        request=choice.name,
        driver=name.driver,
        pool=name.pool,
        device=name.device,
        admin_access=choice.admin or None,
        tolerations=choice.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=str(uuid.uuid4()) if candidate.shared else None,
        consumed_capacity={resource: _quantity(amount) for resource, amount in consumed.items()},
    )


def _quantity(nanos: int) -> str:
    whole, rest = divmod(nanos, NANO)
    return f"{nanos}n" if rest else str(whole)


def _node_selector(candidates: Sequence[CandidateDevice], node_name: str) -> NodeSelector | None:
    """Return a selector of the nodes that reach all ``candidates``: one, those of their slices, or all
    (None).
    """
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for candidate in candidates:
        spec = candidate.slice.spec
        where = candidate.device if spec.per_device_node_selection else spec
        if where.node_name is not None or candidate.device.binds_to_node:
            return _selector_of(node_name)
        for term in where.node_selector.node_selector_terms if where.node_selector is not None else ():
            fields += [each for each in term.match_fields if each not in fields]
            expressions += [each for each in term.match_expressions if each not in expressions]
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


@lru_cache(maxsize=1 << 12)
def _selector_of(node_name: str) -> NodeSelector:
    this = NodeSelectorRequirement("metadata.name", "In", (node_name,))
    return NodeSelector((NodeSelectorTerm(match_fields=(this,)),))


def allocation_document(
    allocation: AllocationResult,
    claim: Document,
    classes: Mapping[str, Document],
    version: KubeVersion,
    timestamp: str,
) -> dict[str, Any]:
    """Return the allocation to be written, with the configuration that ``classes`` and the claim have for it.

    ``timestamp`` is when it was made; "" leaves it out.
    """
    document: dict[str, Any] = msgspec.to_builtins(allocation)
    config = _config(allocation, claim, classes, once=version >= _STATED_ONCE_SINCE)
    if config:
        document.setdefault("devices", {})["config"] = config
    if timestamp:
        document["allocationTimestamp"] = timestamp
    return document


def _config(
    allocation: AllocationResult, claim: Document, classes: Mapping[str, Document], *, once: bool
) -> list[dict[str, Any]]:
    """Each class's entries once, with the requests that they are for; then the claim's own, ``once`` or for
    each request that they are for.
    """
    devices = claim["spec"].get("devices", {})
    selected = {result.request for result in allocation.devices.results}
    of_classes: dict[str, list[dict[str, Any]]] = {}
    requests: list[set[str]] = []
    for request in devices.get("requests", ()):
        name, class_name = _selected(request, selected)
        requests.append({request["name"], name})
        known = of_classes.get(class_name)
        if known is not None:
            for entry in known:
                entry["requests"].append(name)
            continue
        own = classes.get(class_name, {}).get("spec", {}).get("config") or ()
        of_classes[class_name] = [{"source": "FromClass", "requests": [name], **each} for each in own]
    config = [entry for entries in of_classes.values() for entry in entries]
    for entry in devices.get("config") or ():
        asked = entry.get("requests") or ()
        times = sum(not names.isdisjoint(asked) for names in requests) if asked else 1
        config += [{"source": "FromClaim", **entry}] * (min(times, 1) if once else times)
    return [_unless_for_all(entry, requests) for entry in config] if once else config


def _unless_for_all(entry: dict[str, Any], requests: Sequence[set[str]]) -> dict[str, Any]:
    """Return the entry without its requests if they are all that there are: that is what none means."""
    asked = entry.get("requests", ())
    if all(not names.isdisjoint(asked) for names in requests):
        return {key: value for key, value in entry.items() if key != "requests"}
    return entry


def _selected(request: Document, selected: set[str]) -> tuple[str, str]:
    """Name and device class of the request, or of the alternative of it that was selected."""
    for choice in request.get("firstAvailable") or ():
        name = f"{request['name']}/{choice['name']}"
        if name in selected:
            return name, str(choice.get("deviceClassName", ""))
    return str(request["name"]), str((request.get("exactly") or {}).get("deviceClassName", ""))
