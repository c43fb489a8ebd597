"""A small client for kube-apiserver: JSON over TLS with a bearer token, standard library only."""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from tests.process import wait_until

Manifest: TypeAlias = dict[str, Any]


class ApiError(Exception):
    """An answer of the API server other than 2xx."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path}: HTTP {status}: {body}")
        self.status = status


class Api:
    """Calls to one API server. Safe for use by several threads: every call has a connection of its own."""

    def __init__(self, address: str, ca_file: Path, token: str) -> None:
        self.address = address
        self._token = token
        self._context = ssl.create_default_context(cafile=str(ca_file))
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._context)
        )

    def call(
        self, method: str, path: str, body: Manifest | str | None = None, form: str = "application/json"
    ) -> Manifest:
        """Send one request; its body may be a text of the media type `form`.

        Raises ApiError for an HTTP error, URLError if no server listens.
        """
        text = json.dumps(body) if isinstance(body, dict) else body
        status, content = self._send(method, path, None if text is None else text.encode(), form)
        if status >= http.client.MULTIPLE_CHOICES:
            raise ApiError(method, path, status, content.decode(errors="replace"))
        answer: Manifest | str = json.loads(content or b"{}")
        if not isinstance(answer, dict):
            raise ApiError(method, path, status, repr(answer))
        return answer

    def _send(self, method: str, path: str, body: bytes | None, form: str) -> tuple[int, bytes]:
        """Return the status and content of an answer."""
        headers = {**self._headers, "Content-Type": form}
        request = urllib.request.Request(self.address + path, data=body, method=method, headers=headers)
        try:
            with self._opener.open(request, timeout=30) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def stream(self, path: str) -> Iterator[bytes]:
        """Yield the lines of an answer that goes on, until the server ends it. Raises URLError as `call`."""
        request = urllib.request.Request(
            self.address + path, headers={"Authorization": f"Bearer {self._token}"}
        )
        with self._opener.open(request, timeout=30) as response:
            yield from response

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}

    def is_ready(self) -> bool:
        """Return whether the server is up and has made the namespace that pods go to."""
        try:
            self.call("GET", "/api/v1/namespaces/default")
        except (ApiError, OSError):
            return False
        return True

    def items(self, path: str) -> list[Manifest]:
        """Return the objects of a list, each with the kind and apiVersion that lists leave out."""
        answer = self.call("GET", path)
        kind = str(answer["kind"]).removesuffix("List")
        return [{"apiVersion": answer["apiVersion"], "kind": kind, **item} for item in answer["items"]]

    def nodes(self) -> list[Manifest]:
        return self.items("/api/v1/nodes")

    def pods(self) -> list[Manifest]:
        return self.items("/api/v1/namespaces/default/pods")

    def create(self, manifest: Manifest) -> Manifest:
        """Create a node or a pod of the namespace `default`."""
        return self.call("POST", _collection(manifest), manifest)

    def create_all(self, manifests: Iterable[Manifest], connections: int = 8) -> None:
        """`create` for many, over a few connections that are kept. Raises ApiError for the first rejected."""
        whole = list(manifests)
        with ThreadPoolExecutor(connections) as pool:
            list(pool.map(self._create_in_turn, (whole[first::connections] for first in range(connections))))

    def _create_in_turn(self, manifests: Sequence[Manifest]) -> None:
        host = urlsplit(self.address).netloc
        with closing(http.client.HTTPSConnection(host, context=self._context, timeout=30)) as connection:
            for manifest in manifests:
                path = _collection(manifest)
                connection.request("POST", path, json.dumps(manifest).encode(), self._headers)
                response = connection.getresponse()
                body = response.read()
                if response.status != http.client.CREATED:
                    raise ApiError("POST", path, response.status, body.decode(errors="replace"))

    def pod(self, name: str) -> Manifest:
        return self.call("GET", f"/api/v1/namespaces/default/pods/{name}")

    def node_of(self, name: str) -> str | None:
        """Return the node that the pod is bound to, None while there is none."""
        node: str | None = self.pod(name)["spec"].get("nodeName")
        return node

    def wait_bound(self, name: str) -> str:
        """Wait until the pod is bound and return its node."""
        return wait_until(lambda: self.node_of(name), f"pod {name} to be bound")

    def bound(self, app: str = "") -> dict[str, str]:
        """Return the node of each pod that has one; of those with the label app, if given."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.pods()
            if pod["spec"].get("nodeName") and (not app or pod["metadata"]["labels"].get("app") == app)
        }

    def wait_pods_bound(self, count: int, app: str = "") -> dict[str, str]:
        """Wait until ``count`` pods are bound; return the node of each."""

        def probe() -> dict[str, str] | None:
            found = self.bound(app)
            return found if len(found) >= count else None

        return wait_until(probe, f"{count} pods to be bound", seconds=300)

    def wait_failed_scheduling(self, name: str, text: str) -> str:
        """Wait for a FailedScheduling event of the pod whose message holds `text`; return that message."""

        def probe() -> str | None:
            messages = self.failed_scheduling(name)
            return next((message for message in messages if text in message), None)

        try:
            return wait_until(probe, f"a FailedScheduling event of pod {name} with {text!r}")
        except TimeoutError as error:
            raise AssertionError(f"{error}; its events: {self.failed_scheduling(name)}") from None

    def failed_scheduling(self, name: str) -> list[str]:
        """Return the messages of the pod's FailedScheduling events so far."""
        events = self.items(f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")
        return [event["message"] for event in events if event["reason"] == "FailedScheduling"]

    def clear(self) -> None:
        """Remove every pod, event and node, so that tests may share one control plane."""
        now = "?gracePeriodSeconds=0"
        self.call("DELETE", f"/api/v1/namespaces/default/pods{now}")
        self.call("DELETE", f"/api/v1/nodes{now}")
        self.call("DELETE", "/api/v1/namespaces/default/events")
        wait_until(lambda: not self.pods() and not self.nodes(), "pods and nodes to be gone")


class KeptApi(Api):
    """The same over one connection that is kept, for one thread."""

    def __init__(self, address: str, ca_file: Path, token: str) -> None:
        super().__init__(address, ca_file, token)
        self._kept = http.client.HTTPSConnection(urlsplit(address).netloc, context=self._context, timeout=30)

    def _send(self, method: str, path: str, body: bytes | None, form: str) -> tuple[int, bytes]:
        headers = {**self._headers, "Content-Type": form}
        try:
            return self._answer(method, path, body, headers)
        except (http.client.HTTPException, ConnectionError):
            # The server has closed what was idle.
            self._kept.close()
            return self._answer(method, path, body, headers)

    def _answer(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        self._kept.request(method, path, body, headers)
        response = self._kept.getresponse()
        return response.status, response.read()


def _collection(manifest: Manifest) -> str:
    return "/api/v1/nodes" if manifest["kind"] == "Node" else "/api/v1/namespaces/default/pods"
