"""The API server's resource for each kind: API versions, plural, with or without namespace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

import msgspec

from mooring.cluster.api.answers import failure
from mooring.cluster.api.client import ApiServer
from mooring.cluster.kinds import API_VERSIONS, KINDS, NAMESPACED


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind in the API.

    Attributes:
        kind: ``PersistentVolumeClaim``.
        versions: The API versions that can be used, the newest first: ``v1``, ``resource.k8s.io/v1``.
        plural: ``persistentvolumeclaims``.
        namespaced: Its names are unique in a namespace only.
    """

    kind: str
    versions: tuple[str, ...]
    plural: str
    namespaced: bool

    def collection(self, namespace: str = "", version: str = "") -> str:
        """Return the path of all objects of the kind, or of a ``namespace``; version "" = the newest."""
        return _collection(version or self.versions[0], self.plural, namespace if self.namespaced else "")

    def item(self, namespace: str, name: str, subresource: str = "", version: str = "") -> str:
        """Return the path of one object, or of its subresource; "" = the newest version."""
        path = f"{self.collection(namespace, version)}/{_quoted(name)}"
        return f"{path}/{subresource}" if subresource else path


@lru_cache(maxsize=1024)
def _collection(version: str, plural: str, namespace: str) -> str:
    """Return the path: most objects are in one of a few collections."""
    within = f"namespaces/{_quoted(namespace)}/" if namespace else ""
    return f"{_root(version)}/{within}{plural}"


_PLAIN = re.compile(r"[a-z0-9.-]+").fullmatch


def _quoted(name: str) -> str:
    """Return ``name`` as a path has it."""
    return name if _PLAIN(name) else quote(name, safe="")


def _plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _resource(kind: str, versions: tuple[str, ...], *, namespaced: bool) -> Resource:
    return Resource(kind, versions, _plural(kind), namespaced)


RESOURCES: Mapping[str, Resource] = {
    **{
        kind: _resource(kind, API_VERSIONS[struct], namespaced=struct in NAMESPACED)
        for kind, struct in KINDS.items()
    },
    "Event": _resource("Event", ("events.k8s.io/v1",), namespaced=True),
    "Lease": _resource("Lease", ("coordination.k8s.io/v1",), namespaced=True),
}
"""By kind: what the state keeps, and what is only written."""


class _Served(msgspec.Struct):
    name: str


class _ServedList(msgspec.Struct):
    resources: list[_Served] = []


_served_list = msgspec.json.Decoder(_ServedList)


def served_version(api: ApiServer, resource: Resource) -> str:
    """Return the newest version of ``resource`` that the server has; "" = none. Raises UnavailableError or
    PermissionDeniedError if the server does not say.
    """
    for version in resource.versions:
        if version == "v1":
            return version
        path = _root(version)
        response = api.request("GET", path)
        if response.status == 404:
            continue
        if not response.ok:
            raise failure(response, f"read {path}")
        served = response.decode(_served_list)
        if any(entry.name == resource.plural for entry in served.resources):
            return version
    return ""


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"
