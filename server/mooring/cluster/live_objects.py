"""The objects of a live cluster, read once: for questions that no server has to be running for."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from mooring.cluster.api import RESOURCES, ApiServer, failure, served_version
from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.framework.errors import PermissionDeniedError

log = logging.getLogger(__name__)

_NEEDED = ("Node", "Pod")
_PAGE = "500"


class _Page(msgspec.Struct):
    items: list[dict[str, Any]] = []
    metadata: dict[str, Any] = {}


_page = msgspec.json.Decoder(_Page)


def read_live(api: ApiServer) -> list[ClusterObject]:
    """Return all objects of the kinds that the state keeps.

    A kind that may not be listed is left out, and a warning names it; nodes and pods are needed. Raises
    MooringError if the API server doesn't answer, or nodes or pods may not be listed, and
    InvalidArgumentError if an object can't be used.
    """
    found: list[ClusterObject] = []
    for kind in sorted(KINDS, key=lambda kind: kind != "Node"):
        try:
            found += _read_kind(api, kind)
        except PermissionDeniedError as error:
            if kind in _NEEDED:
                raise
            log.warning("%s are left out: %s", RESOURCES[kind].plural, error)
    return found


def _read_kind(api: ApiServer, kind: str) -> list[ClusterObject]:
    resource = RESOURCES[kind]
    version = served_version(api, resource)
    if not version:
        return []
    path, query = resource.collection(version=version), {"limit": _PAGE}
    found: list[ClusterObject] = []
    while True:
        response = api.request("GET", path, query=query)
        if not response.ok:
            raise failure(response, f"list {path}")
        page = response.decode(_page)
        found += [from_manifest({**item, "kind": kind, "apiVersion": version}) for item in page.items]
        rest = page.metadata.get("continue")
        if not rest:
            return found
        query = {"limit": _PAGE, "continue": str(rest)}
