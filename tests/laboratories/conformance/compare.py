"""Compare the document of mooring's cycle with the oracle's, and shrink what they differ on."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from mooring.runtime.cycle.evaluation import NOT_EVALUATED
from tests.laboratories.conformance.families.draft import Manifest

Differs = Callable[[Manifest], bool]
FAILED_FILTER = re.compile(r"preemption: \[?(running .* filter plugin: |plugin .* failed at Filter: ).*")
"""The message of preemption after a plugin failed on a node: each side words errors in its own way."""


def differences(ours: Manifest, theirs: Manifest) -> list[str]:
    """Say per field what ours is and what theirs is; an empty list means that they agree.

    Nodes that were not evaluated, because the pod's nominated node was feasible, are in mooring's document
    alone.
    """
    return list(_walk("", _comparable(ours), _comparable(theirs)))


def _comparable(document: Manifest) -> Manifest:
    if document["status"]["code"] == "Error":
        # A plugin's error fails the decision; how far it came and what words it uses is each side's own.
        return {"pod": document["pod"], "profile": document["profile"], "status": {"code": "Error"}}
    # A pod that no node takes has its reasons in the message, counted.
    status = {key: document["status"][key] for key in ("code", "plugin", "message")}
    status["message"] = FAILED_FILTER.sub("preemption: a filter failed", status["message"])
    nodes = {
        name: {key: node[key] for key in ("status", "scores", "total")}
        for name, node in document["nodes"].items()
        if node["status"]["reasons"] != list(NOT_EVALUATED.reasons)
    }
    kept = {key: document[key] for key in ("pod", "profile", "prefilter", "evaluated", "feasible")}
    found = {"nodes": nodes, "ties": sorted(document["ties"]), "preemption": document.get("preemption")}
    return kept | found | {"status": status}


def _walk(path: str, ours: Any, theirs: Any) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in ours or key not in theirs:
                yield f"{path}.{key}: mooring {_shown(ours, key)}, kube-scheduler {_shown(theirs, key)}"
            else:
                yield from _walk(f"{path}.{key}", ours[key], theirs[key])
    elif ours != theirs or type(ours) is not type(theirs):
        yield f"{path}: mooring {json.dumps(ours)}, kube-scheduler {json.dumps(theirs)}"


def _shown(document: Manifest, key: str) -> str:
    return json.dumps(document[key]) if key in document else "nothing"


def shrink(scenario: Manifest, differs: Differs) -> Manifest:
    """Take parts out of a scenario for as long as the two sides still differ on it.

    `differs` must be false for a scenario that the oracle rejects, so that only valid objects are left.
    """
    smallest = copy.deepcopy(scenario)
    progress = True
    while progress:
        progress = False
        for path in list(_parts(smallest, ())):
            smaller = _without(smallest, path)
            if smaller is not None and differs(smaller):
                smallest, progress = smaller, True
    return smallest


def _parts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield all removable parts, the large ones first; list items from the end, so that earlier paths stay
    true.
    """
    if isinstance(value, dict):
        keys: list[str | int] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value) - 1, -1, -1))
    else:
        return
    for key in keys:
        if path or key in ("objects", "pod", "config", "always_score", "feature_gates"):
            if path:
                yield (*path, key)
            yield from _parts(value[key], (*path, key))


def _without(scenario: Manifest, path: tuple[str | int, ...]) -> Manifest | None:
    """Return a copy without the part, or None if it is gone already."""
    smaller = copy.deepcopy(scenario)
    parent: Any = smaller
    try:
        for key in path[:-1]:
            parent = parent[key]
        del parent[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return smaller
