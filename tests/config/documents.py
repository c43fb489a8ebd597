"""Builders of small configurations."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def document(*profiles: Document, version: str = "v1", **fields: Any) -> Document:
    """Return a configuration with these profiles."""
    head = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    return head | ({"profiles": list(profiles)} if profiles else {}) | fields


def profile(name: str = "test", args: dict[str, Any] | None = None, **sections: Document) -> Document:
    """Return a profile with plugin sections, and arguments by plugin name."""
    result: Document = {"schedulerName": name, "plugins": sections}
    if args:
        result["pluginConfig"] = [{"name": plugin, "args": given} for plugin, given in args.items()]
    return result


def enabled(*names: str, disabled: tuple[str, ...] = (), **weights: int) -> Document:
    """Return a section that enables plugins, some with weights."""
    listed: list[Document] = [{"name": name} for name in names]
    listed += [{"name": name, "weight": weight} for name, weight in weights.items()]
    return {"enabled": listed, "disabled": [{"name": name} for name in disabled]}
