"""Merge patches (RFC 7386), and of strategic ones what pods and nodes need: lists that merge by a key."""

from __future__ import annotations

from typing import Any

MERGE_KEYS = {"conditions": "type", "ownerReferences": "uid", "taints": "key"}
"""Lists whose elements are merged, and the field that tells these apart."""


def merged(target: Any, patch: Any) -> Any:
    """``target`` with a JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def strategically_merged(target: Any, patch: Any) -> Any:
    """``target`` with a strategic merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            result.pop(name, None)
        elif name in MERGE_KEYS and isinstance(value, list):
            result[name] = _merged_list(result.get(name) or [], value, MERGE_KEYS[name])
        else:
            result[name] = strategically_merged(result.get(name), value)
    return result


def _merged_list(target: list[Any], patch: list[Any], key: str) -> list[Any]:
    result = list(target)
    for element in patch:
        at = next((i for i, known in enumerate(result) if known.get(key) == element.get(key)), None)
        if element.get("$patch") == "delete":
            if at is not None:
                del result[at]
        elif at is None:
            result.append(element)
        else:
            result[at] = strategically_merged(result[at], element)
    return result
