"""HTTP: from a path to an action, with the faults in between."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.fake_api_server.errors import RejectedError
from tests.fake_api_server.faults import Answer, Cut, Hang
from tests.fake_api_server.history import Call, Entry
from tests.fake_api_server.kinds import Kind
from tests.fake_api_server.people import REVIEWS
from tests.fake_api_server.reading import listed, watched

if TYPE_CHECKING:
    from tests.fake_api_server.server import FakeApiServer


class Target:
    """The meaning of a path."""

    def __init__(self, path: str, kinds: dict[tuple[str, str], Kind]) -> None:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        core = parts[0] == "api"
        self.version = "/".join(parts[1 : 2 if core else 3])
        rest = parts[2 if core else 3 :]
        self.namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":
            self.namespace, rest = rest[1], rest[2:]
        self.plural, self.name, self.subresource = (*rest, "", "", "")[:3]
        self.kind = kinds.get((self.version, self.plural))

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Any

    @property
    def fake(self) -> FakeApiServer:
        fake: FakeApiServer = self.server.fake
        return fake

    def closed(self) -> bool:
        """True when the server stopped, or the connection was cut."""
        return not self.fake.serves(self.server) or self.connection not in self.server.connections

    def handle_one_request(self) -> None:
        self._cut_at: int | None = None
        super().handle_one_request()

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the standard library's names

    def _serve(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        watching = query.get("watch") in ("true", "1")
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = Call(
            "WATCH" if watching else self.command,
            url.path,
            query,
            self.headers.get("Authorization", "").removeprefix("Bearer "),
            self.headers.get("User-Agent", ""),
            json.loads(data) if data else None,
            content_type=self.headers.get("Content-Type", ""),
        )
        action = self.fake.faults.action_for(call)
        if isinstance(action, (Cut, Hang)) and not action.after:
            self._end(call, action)
        elif isinstance(action, Answer) and not action.after:
            self._reject(call, action)
        else:
            self._carry_out(call, action)

    def _carry_out(self, call: Call, action: Answer | Cut | Hang | None) -> None:
        changed: dict[str, Any] | None = None
        try:
            target = self._target(call)
            if call.method == "WATCH":
                self.fake.history.add(Entry(call, 200, done=True))
                watched(self, call, self._known(target), target.namespace)
                return
            status, body, changed = self._done(call, target)
        except RejectedError as rejection:
            self.fake.history.add(Entry(call, rejection.code, done=False))
            self.send(rejection.code, rejection.status(), rejection.retry_after)
            return
        if isinstance(action, Answer):
            self._reject(call, action, changed)
        elif isinstance(action, Hang) or (isinstance(action, Cut) and not action.at_byte):
            self._end(call, action, changed)
        else:
            self._cut_at = action.at_byte if action else None
            self.fake.history.add(Entry(call, 0 if action else status, done=True, object=changed))
            self.send(status, body)

    def _target(self, call: Call) -> Target:
        fake = self.fake
        if fake.token and call.user != fake.token:
            raise RejectedError(401, "Unauthorized", "Unauthorized")
        target = Target(call.path, fake.kinds)
        if target.plural in fake.forbidden:
            raise RejectedError(
                403, "Forbidden", f'{target.plural} is forbidden: User "tester" cannot do that'
            )
        return target

    def _known(self, target: Target) -> Kind:
        if target.kind is None:
            raise RejectedError(404, "NotFound", "the server could not find the requested resource")
        return target.kind

    def _done(self, call: Call, target: Target) -> tuple[int, bytes, dict[str, Any] | None]:
        """Return status and body of the answer, and the object if it changed."""
        if not target.plural:
            return 200, self._discovery(target.version), None
        if call.method == "POST" and target.plural in REVIEWS:
            answer = REVIEWS[target.plural](self.fake.people, call.body)
            return 201, json.dumps(answer).encode(), None
        kind, objects = self._known(target), self.fake.objects
        changed: dict[str, Any] | None
        if target.subresource == "binding" and call.method == "POST":
            changed = objects.bind(kind, target.key, call.body)
            success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
            return 201, json.dumps(success).encode(), changed
        match call.method:
            case "GET" if target.name:
                return 200, json.dumps(objects.read(kind, target.key)).encode(), None
            case "GET":
                return 200, listed(self.fake.store, kind, target.namespace, call.query), None
            case "POST":
                status, changed = 201, objects.create(kind, target.namespace, call.body)
            case "PUT":
                status, changed = 200, objects.update(kind, target.key, call.body)
            case "PATCH":
                strategic = "strategic" in call.content_type
                status, changed = (
                    200,
                    objects.patch(
                        kind, target.key, call.body, strategic=strategic, subresource=target.subresource
                    ),
                )
            case _:
                status, changed = 200, self._delete(call, target, kind)
        return status, json.dumps(changed).encode(), changed

    def _delete(self, call: Call, target: Target, kind: Kind) -> dict[str, Any]:
        options = dict(call.body or {})
        if "gracePeriodSeconds" in call.query:
            options["gracePeriodSeconds"] = int(call.query["gracePeriodSeconds"])
        if target.name:
            return self.fake.objects.delete(kind, target.key, options)
        for data in self.fake.store.all(kind.plural, target.namespace):
            metadata = json.loads(data)["metadata"]
            self.fake.objects.delete(kind, (metadata.get("namespace", ""), metadata["name"]), options)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    def _discovery(self, version: str) -> bytes:
        served = [kind for kind in self.fake.kinds.values() if kind.version == version]
        if not served:
            raise RejectedError(404, "NotFound", "the server could not find the requested resource")
        resources = [
            {"name": kind.plural, "kind": kind.kind, "namespaced": kind.namespaced} for kind in served
        ]
        return json.dumps(
            {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
        ).encode()

    def _reject(self, call: Call, action: Answer, changed: dict[str, Any] | None = None) -> None:
        self.fake.history.add(Entry(call, action.status, done=action.after, object=changed))
        rejection = RejectedError(action.status, "", action.message)
        self.send(action.status, action.body or rejection.status(), action.retry_after)

    def _end(self, call: Call, action: Cut | Hang, changed: dict[str, Any] | None = None) -> None:
        self.fake.history.add(Entry(call, 0, done=action.after, object=changed))
        waiting = threading.Event()
        while isinstance(action, Hang) and not self.closed():
            waiting.wait(0.05)
        self.close_connection = True

    def send(self, status: int, body: bytes, retry_after: int | None = None) -> None:
        """A whole answer, or its first bytes when it is to be cut."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        if self._cut_at is None:
            self.end_headers()
            self.wfile.write(body)
            return
        head = b"".join(self._headers_buffer) + b"\r\n"
        self._headers_buffer: list[bytes] = []
        self.wfile.write((head + body)[: self._cut_at])
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
        """Tests are quiet."""
