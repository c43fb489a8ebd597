"""The JSON Schema of configuration files, for editors: the file, and the arguments of the known plugins."""

from __future__ import annotations

from typing import Any

from mooring.config.catalog import Catalog
from mooring.config.fields import json_schema
from mooring.config.types import KubeSchedulerConfiguration

_TYPE_FIELDS = ("apiVersion", "kind")

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(catalog: Catalog) -> dict[str, Any]:
    """Return the schema; the arguments of an unknown plugin are free-form."""
    document = _plain(json_schema(KubeSchedulerConfiguration))
    definitions = document["$defs"]
    rules = []
    for name in sorted(catalog):
        args = catalog[name].args
        if args is None:
            continue
        own = _plain(json_schema(args))
        definitions |= own.pop("$defs", {})
        # The type's own name may stand in the arguments, as kube-scheduler writes it.
        own["properties"] = {
            **own.get("properties", {}),
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
        }
        definitions[f"{name}Args"] = own
        rules.append(
            {
                "if": {"properties": {"name": {"const": name}}},
                "then": {"properties": {"args": {"$ref": f"#/$defs/{name}Args"}}},
            }
        )
    definitions["PluginConfig"]["allOf"] = rules
    return {"$schema": _DRAFT, "title": "KubeSchedulerConfiguration", **document}


def _plain(value: Any) -> Any:
    """Return a schema without the titles that repeat the names, and the defaults that only mean "absent"."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: _plain(item)
        for key, item in value.items()
        if not (key == "title" and isinstance(item, str)) and not (key == "default" and item is None)
    }
    # Kubernetes writes durations as 15s; the format's are ISO 8601's.
    return {key: item for key, item in kept.items() if (key, item) != ("format", "duration")}
