"""An extender with two tasks: to hold kube-scheduler until all pods are there, and to decide between equals.

kube-scheduler draws lots between nodes of equal totals. ``WEIGHTS`` makes each plugin's score a hundred times
as large, so that the ten points of this extender count between equals alone: a node that is not among the
best by kube-scheduler's own reckoning stays behind.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.laboratories.e2e.api import Manifest

HELD_RESOURCE = "doors.example/hold"
"""A pod that asks for it holds the scheduler."""

_HELD_SECONDS = 120.0
_PLUGINS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
"""kube-scheduler's default weights."""

WEIGHTS = [{"name": name, "weight": 100 * weight} for name, weight in _PLUGINS.items()]
_HIGHEST = 10


class Arbiter:
    """Serves on a free port of 127.0.0.1 until it is stopped.

    Attributes:
        preferred: By NAMESPACE/NAME the node that is to win among equals.
        held: Set once kube-scheduler asks about the pod that holds it, and waits for the answer.
        released: Set to let it continue.
    """

    def __init__(self) -> None:
        self.preferred: Mapping[str, str] = {}
        self.held, self.released = threading.Event(), threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.arbiter = self
        self._thread = threading.Thread(target=self._server.serve_forever, name="arbiter", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def configuration(self) -> list[dict[str, Any]]:
        """The extenders of kube-scheduler's configuration."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        common = {"urlPrefix": url, "nodeCacheCapable": True, "httpTimeout": f"{2 * _HELD_SECONDS:.0f}s"}
        managed = [{"name": HELD_RESOURCE, "ignoredByScheduler": True}]
        return [
            {**common, "filterVerb": "hold", "managedResources": managed},
            {**common, "prioritizeVerb": "prefer", "weight": 1},
        ]

    def answer(self, verb: str, asked: Manifest) -> Any:
        """Return the answer to one call."""
        if verb == "hold":
            self.held.set()
            self.released.wait(_HELD_SECONDS)
            return {"NodeNames": [], "FailedNodes": {}, "Error": ""}
        metadata = asked["Pod"]["metadata"]
        preferred = self.preferred.get(f"{metadata['namespace']}/{metadata['name']}")
        return [{"Host": name, "Score": _HIGHEST * (name == preferred)} for name in asked["NodeNames"]]


class _Server(ThreadingHTTPServer):
    arbiter: Arbiter


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.server.arbiter.answer(self.path.strip("/"), asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name for it
        """Say nothing."""
