"""Fields of manifests that may hold anything: what is not of the expected type counts as absent.

Decoding rejects it later, with its path.
"""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]


def mapping(manifest: Manifest, name: str) -> Manifest:
    """Return the object in a field."""
    value = manifest.get(name)
    return value if isinstance(value, dict) else {}


def sequence(manifest: Manifest, name: str) -> list[Any]:
    """Return the list in a field."""
    value = manifest.get(name)
    return value if isinstance(value, list) else []


def mappings(manifest: Manifest, name: str) -> list[Manifest]:
    """Return the objects of the list in a field."""
    return [item for item in sequence(manifest, name) if isinstance(item, dict)]


def name_of(manifest: Manifest) -> str:
    """Return the name of an object."""
    return str(mapping(manifest, "metadata").get("name") or "")


def namespace_of(manifest: Manifest) -> str:
    """Return the namespace that a namespaced object belongs to."""
    return str(mapping(manifest, "metadata").get("namespace") or "default")
