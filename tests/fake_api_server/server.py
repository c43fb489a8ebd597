"""The fake API server: real HTTP on the loopback, in front of our own objects."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterable, Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mooring.cluster.api import ApiServer, ClientOptions, configuration
from tests.fake_api_server.faults import Faults
from tests.fake_api_server.handler import Handler
from tests.fake_api_server.history import History
from tests.fake_api_server.kinds import DEFAULT_OFF, KINDS, Kind
from tests.fake_api_server.objects import Objects
from tests.fake_api_server.people import People
from tests.fake_api_server.store import Manifest, Store
from tests.process import Startable

_KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: fake
contexts:
- {name: fake, context: {cluster: fake, user: "USER"}}
clusters:
- {name: fake, cluster: {server: "SERVER"}}
users:
- {name: "USER", user: {CREDENTIALS}}
"""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], fake: FakeApiServer) -> None:
        self.fake = fake
        self.connections: set[socket.socket] = set()
        super().__init__(address, Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            self.connections.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away."""

    def cut(self) -> None:
        for connection in tuple(self.connections):
            self.connections.discard(connection)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class FakeApiServer(Startable):
    """A context manager; as such it serves. Its objects outlive ``stop`` and ``start``.

    Args:
        without: API versions that it doesn't have.
        bookmark_seconds: How long a watch is quiet before it gets a bookmark.
        token: The bearer token that it wants; "" = any or none.
        protobuf: Whether watches of pods are answered in protobuf for clients that prefer it.

    Attributes:
        store: The objects.
        faults: The faults to cause.
        history: The requests.
        forbidden: Plurals that clients may not see.
        people: Who shows which token, and who may read what.
    """

    def __init__(
        self,
        *,
        without: Iterable[str] = DEFAULT_OFF,
        bookmark_seconds: float = 0.5,
        token: str = "",
        protobuf: bool = True,
    ) -> None:
        self.kinds = {(kind.version, kind.plural): kind for kind in KINDS if kind.version not in set(without)}
        self.bookmark_seconds = bookmark_seconds
        self.token = token
        self.protobuf = protobuf
        self.store = Store()
        self.objects = Objects(self.store)
        self.faults = Faults()
        self.history = History()
        self.forbidden: set[str] = set()
        self.people = People()
        self.add({"kind": "Namespace", "metadata": {"name": "default"}})
        self._port = 0
        self._listener: _Listener | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listens, after a ``stop`` on the same port again."""
        self._listener = _Listener(("127.0.0.1", self._port), self)
        self._port = self._listener.server_port
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the port and every connection."""
        if self._listener is None or self._thread is None:
            return
        listener, self._listener = self._listener, None
        listener.shutdown()
        self._thread.join()
        listener.server_close()
        listener.cut()
        with self.store.changed:
            self.store.changed.notify_all()

    def cut(self) -> None:
        """Close every connection; new ones are welcome."""
        if self._listener is not None:
            self._listener.cut()

    def serves(self, listener: object) -> bool:
        """True while the connections of ``listener`` are served."""
        return self._listener is listener

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._port}"

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig file for this server; return its path."""
        credentials = f'token: "{self.token}"' if self.token else ""
        text = _KUBECONFIG.replace("SERVER", self.url).replace("USER", "tester")
        path.write_text(text.replace("CREDENTIALS", credentials))
        return path

    def client(self, **options: Any) -> ApiServer:
        """Return a client of this server; ``options`` as ``ClientOptions`` has them."""

        def load() -> Any:
            made = configuration.at(self.url)()
            if self.token:
                made.api_key["BearerToken"] = f"Bearer {self.token}"
            return made

        return ApiServer(load, ClientOptions(**options))

    def add(self, *items: Mapping[str, Any]) -> list[Manifest]:
        """Store objects as they are; return them with the fields that every object gets."""
        return [self.objects.add(self.kind_of(item["kind"]), item) for item in items]

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        """Remove an object at once, as a kubelet ends a pod."""
        known = self.kind_of(kind)
        self.store.delete(known.plural, (namespace or "default" if known.namespaced else "", name))

    def get(self, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """Return the object as it is."""
        known = self.kind_of(kind)
        return self.store.get(known.plural, (namespace or "default" if known.namespaced else "", name))

    def all(self, kind: str) -> list[Manifest]:
        """Return all objects of a kind."""
        return [json.loads(data) for data in self.store.all(self.kind_of(kind).plural)]

    def kind_of(self, kind: str) -> Kind:
        """Return how the kind is served."""
        return next(known for known in self.kinds.values() if known.kind == kind)
