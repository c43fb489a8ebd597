"""Findings about the resources that a node lacks, and who takes them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from msgspec.structs import replace

from mooring.framework import Amounts, Finding, Holder, HolderKind, NodeInfo, ReasonCode
from mooring.framework.findings import pod_holder
from mooring.framework.pod_requests import ResourceRules, given_amounts, pod_usage
from mooring.framework.pod_table import PodRecord
from mooring.framework.resources import PODS
from mooring.framework.resources import amount as amount_text
from mooring.plugins.resource_uses import Requests


def shortages(
    requests: Requests,
    node: NodeInfo,
    nominated: Container[str],
    by_devices: Container[str],
    rules: ResourceRules,
) -> Iterator[Finding]:
    """Yield a finding for each resource that ``node`` lacks, as ``filtering.room`` counts.

    The pods with the UIDs ``nominated`` keep what they take there, but don't have it yet.
    """
    for name, asked in ((PODS, 1), *requests):
        offered = node.allocatable.get(name, 0)
        amounts = Amounts(asked, node.requested.get(name, 0), offered)
        # DynamicResources looks for devices instead.
        if amounts.free >= asked or (name in by_devices and not offered):
            continue
        kept = sum(_amount(name, each) for each in node.records if each.uid in nominated)
        yield _shortage(name, amounts, kept).held_by(_holders(name, node.records, rules))


_NEVER = (ReasonCode.RESOURCE_NOT_OFFERED, ReasonCode.NODE_TOO_SMALL)
"""Causes that no pod which goes would end."""


def _shortage(name: str, amounts: Amounts, kept: int) -> Finding:
    asked, limit = amount_text(name, amounts.asked), amount_text(name, amounts.limit)
    if name == PODS:
        has = "1 pod" if amounts.taken == 1 else f"{amounts.taken} pods"
        code, said = ReasonCode.TOO_MANY_PODS, f"the node has {has}, and its limit is {limit}"
    elif not amounts.limit:
        code, said = ReasonCode.RESOURCE_NOT_OFFERED, f"needs {asked} {name}, which the node does not offer"
    elif amounts.limit < amounts.asked:
        code, said = ReasonCode.NODE_TOO_SMALL, f"needs {asked} {name}, but the whole node has {limit}"
    else:
        free = amount_text(name, max(amounts.free + kept, 0))
        code, said = ReasonCode.INSUFFICIENT_RESOURCE, f"needs {asked} {name}; {free} of {limit} free"
        said += f", {amount_text(name, kept)} kept for nominated pods" if kept else ""
    missing = amount_text(name, min(amounts.asked, amounts.asked - amounts.free))
    fits = amounts.free > 0 and name != PODS
    unit = "pod" if name == PODS and missing == "1" else name
    return Finding(
        code,
        name,
        said,
        asked=asked,
        present=amount_text(name, amounts.free),
        amounts=amounts,
        pod_change=f"request at most {amount_text(name, amounts.free)} {name}" if fits else "",
        node_change="" if code in _NEVER else f"free {missing} {unit}",
    )


def _holders(name: str, records: Iterable[PodRecord], rules: ResourceRules) -> Iterator[Holder]:
    for record in records:
        amount = _amount(name, record)
        if amount:
            yield _holder(name, amount, record, rules)


def _amount(name: str, record: PodRecord) -> int:
    return 1 if name == PODS else record.kind.usage.request(name)


def _holder(name: str, amount: int, record: PodRecord, rules: ResourceRules) -> Holder:
    """Return a pod that takes ``amount``, with why, if that is more than its containers request."""
    template, holder = record.kind.base.template, pod_holder(record, amount)
    counted = amount_text(name, amount)
    if name == PODS:
        return holder
    waiting = next((each for each in template.status.conditions if each.type == "PodResizePending"), None)
    has = given_amounts(template).get(name, 0) if waiting else amount
    if waiting and has < amount:
        why = f"its resize is {(waiting.reason or 'pending').lower()}"
        note = f"counts as {counted} because {why}; it has {amount_text(name, has)}"
        return Holder(HolderKind.DEFERRED_RESIZE, holder.name, amount, note)
    spec = template.spec
    if spec.init_containers and template.status.phase == "Running":
        lasting = tuple(each for each in spec.init_containers if each.restart_policy == "Always")
        rest = pod_usage(replace(template, spec=replace(spec, init_containers=lasting)), rules).request(name)
        if rest < amount:
            note = f"counts as {counted} because of an init container that has ended; the others request "
            note += amount_text(name, rest)
            return Holder(HolderKind.FINISHED_INIT_CONTAINER, holder.name, amount, note)
    return Holder(holder.kind, holder.name, amount, counted)
