"""Volcano's scheduler configuration, as the profile of kube-scheduler that comes nearest to it.

Mirrors the ``actions`` and ``tiers`` of volcano-sh/volcano, ``pkg/scheduler/conf/scheduler_conf.go``.
"""

from __future__ import annotations

from typing import Any

from mooring.config.types import API_VERSION, KIND

_SCHEDULER_NAME = "volcano"

_OF_KUBE_SCHEDULER = frozenset({"nodeorder", "predicates", "priority"})
"""These do what kube-scheduler's default plugins do."""


def is_volcano(document: object) -> bool:
    """Return whether a plain document is a configuration of Volcano's scheduler."""
    return isinstance(document, dict) and "kind" not in document and isinstance(document.get("tiers"), list)


def volcano_to_v1(document: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a v1 document with one profile, ``volcano``, and what the user should know about it.

    The default plugins stand for those of Volcano that do the same; the others are listed by Volcano's names.
    """
    names = [
        str(plugin.get("name"))
        for tier in document["tiers"]
        if isinstance(tier, dict)
        for plugin in tier.get("plugins") or ()
        if isinstance(plugin, dict)
    ]
    others = [{"name": name} for name in dict.fromkeys(names) if name not in _OF_KUBE_SCHEDULER]
    profile = {"schedulerName": _SCHEDULER_NAME, "plugins": {"multiPoint": {"enabled": others}}}
    notes = (
        "converted from Volcano's scheduler configuration: actions, queues and arguments are left out, and "
        f"kube-scheduler's default plugins stand for {', '.join(sorted(_OF_KUBE_SCHEDULER))}"
    )
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}, (notes,)
