"""Objects as people write them: without what the API server fills in."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest


def roughen(draft: Draft) -> None:
    """Leave out, here and there, what is the default anyway, and write amounts as numbers."""
    for node in draft.nodes:
        if draft.chance(0.5):
            del node["status"]["capacity"]
        elif draft.chance(0.3):
            # Without it, the capacity is what a node has to give.
            node["status"]["capacity"] = node["status"].pop("allocatable")
        if draft.chance(0.2):
            _as_numbers(draft, node["status"].get("allocatable", {}))
    for pod in draft.pods():
        _bare(draft, pod)
    for pod in draft.assigned:
        if draft.chance(0.4):
            pod["metadata"].pop("uid")
        if draft.chance(0.3) and pod["status"] == {"phase": "Running"}:
            del pod["status"]
    for manifest in [*draft.pods(), *draft.objects]:
        if manifest["metadata"].get("namespace") == "default" and draft.chance(0.5):
            del manifest["metadata"]["namespace"]


def _bare(draft: Draft, pod: Manifest) -> None:
    for container in draft.containers(pod):
        for port in container.get("ports", []):
            if port.get("protocol") == "TCP" and draft.chance(0.5):
                del port["protocol"]
            if pod["spec"].get("hostNetwork") and draft.chance(0.5):
                port.pop("hostPort", None)
        resources = container.get("resources", {})
        requests = resources.get("requests", {})
        if draft.chance(0.2):
            _as_numbers(draft, requests)
        for name in ("cpu", "memory", "ephemeral-storage"):
            if name in requests and draft.chance(0.2):
                resources.setdefault("limits", {})[name] = requests.pop(name)


def _as_numbers(draft: Draft, amounts: Manifest) -> None:
    for name, amount in amounts.items():
        if isinstance(amount, str) and amount.isdecimal() and draft.chance(0.7):
            amounts[name] = int(amount)
