"""One Lease of coordination.k8s.io at the API server."""

from __future__ import annotations

from typing import Any

from mooring.cluster.api.answers import Response, decoded
from mooring.cluster.api.client import ApiServer
from mooring.cluster.api.resources import RESOURCES

Document = dict[str, Any]
"""A Lease as JSON values."""


class Lease:
    """Reads and writes the Lease of a name. Safe from any thread; each call blocks for its answer.

    Args:
        api: The API server that has it.
        timeout_seconds: For each request.
    """

    def __init__(self, api: ApiServer, namespace: str, name: str, timeout_seconds: float) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._timeout = timeout_seconds

    def read_lease(self) -> Document | None:
        """Return the Lease; None when there is none. Raises MooringError if the API server rejected it, or
        did not answer.
        """
        response = self._api.request("GET", self._path, timeout=self._timeout)
        return None if response.status == 404 else self._document(response, "read")

    def create_lease(self, spec: Document) -> Document:
        """Make the Lease. Raises AbortedError if another client did, and MooringError if the API server
        rejected it, or did not answer.
        """
        body = {
            "apiVersion": RESOURCES["Lease"].versions[0],
            "kind": "Lease",
            "metadata": {"namespace": self._namespace, "name": self._name},
            "spec": spec,
        }
        path = RESOURCES["Lease"].collection(self._namespace)
        return self._document(self._api.request("POST", path, body=body, timeout=self._timeout), "create")

    def replace_lease(self, lease: Document) -> Document:
        """Write the Lease. Raises AbortedError if it changed since it was read, and MooringError if the API
        server rejected it, or did not answer.
        """
        response = self._api.request("PUT", self._path, body=lease, timeout=self._timeout)
        return self._document(response, "write")

    @property
    def _path(self) -> str:
        return RESOURCES["Lease"].item(self._namespace, self._name)

    def _document(self, response: Response, verb: str) -> Document:
        return decoded(response, f"{verb} lease {self._namespace}/{self._name}")
