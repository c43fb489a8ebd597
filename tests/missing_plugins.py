"""A plugin of kube-scheduler that mooring has not: there may be none, and the way to treat one stays."""

from __future__ import annotations

import pytest

from mooring.framework import ObjectTable, Pod
from mooring.framework.upstream import Upstream
from mooring.plugins.in_tree import UPSTREAM
from mooring.plugins.unsupported import UNSUPPORTED, Unsupported

MISSING = "MissingPlugin"


def _needs_it(pod: Pod, _objects: ObjectTable) -> bool:
    return pod.metadata.labels.get("needs") == MISSING


def add_missing_plugin(patch: pytest.MonkeyPatch) -> str:
    """Have ``MISSING`` at Filter; pods with the label ``needs`` can't be placed without it."""
    assert isinstance(UNSUPPORTED, dict)
    assert isinstance(UPSTREAM, dict)
    entry = Unsupported(frozenset({"filter"}), Upstream(gate="Missing"), _needs_it)
    patch.setitem(UNSUPPORTED, MISSING, entry)
    patch.setitem(UPSTREAM, MISSING, entry.upstream)
    return MISSING
