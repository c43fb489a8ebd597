"""Findings of an examination, and the answers of the API server that they stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mooring import config
from mooring.cluster.api import ApiServer, decoded
from mooring.framework.releases import KubeVersion

SCHEDULER, EXTENDER, LOOPBACK = "second-scheduler", "extender", "extender-loopback"

MODES = (SCHEDULER, EXTENDER, LOOPBACK)
"""The ways in which mooring runs in a cluster, by the chart's names."""


class Health(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check.

    Attributes:
        check: The check: ``rights``, ``clock``, ...
        said: The state that was found.
        do: The remedy; "" = none is needed.
    """

    check: str
    state: Health
    said: str
    do: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """The subject of an examination.

    Attributes:
        user: The user whose rights are checked; "" = the one who asks.
        kinds: The kinds that its plugins read, by name, each with the names of these plugins.
    """

    api: ApiServer
    mode: str
    namespace: str
    user: str
    configuration: config.Configuration
    kinds: Mapping[str, Sequence[str]]
    kube_version: KubeVersion

    @property
    def profiles(self) -> list[str]:
        """The names of its profiles."""
        return [profile.scheduler_name for profile in self.configuration.profiles]

    def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return the object or list at a path; None if there is none. Raises MooringError if the API server
        rejects the request, or does not answer.
        """
        response = self.api.request("GET", path, query=query)
        return None if response.status == 404 else decoded(response, f"read {path}")

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return the objects of the list at a path; none if the kind is not served. Raises as ``get``."""
        found: list[dict[str, Any]] = (self.get(path, **query) or {}).get("items") or []
        return found

    def pods(self) -> list[dict[str, Any]]:
        """Return mooring's own pods in its namespace. Raises as ``get``."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        return self.items(path, labelSelector="app.kubernetes.io/name=mooring")
