"""The HTTP side of the adapter: one bare ASGI callable.

Routes: ``/VERB`` and ``/profiles/NAME/VERB``, both also under the path prefix; ``/healthz``, ``/livez``,
``/readyz``, ``/metrics``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, TypeVar

import grpc
import msgspec

from mooring.framework.errors import ResourceExhaustedError, UnauthenticatedError
from mooring.serving.access.access import Access, CurrentCall, asking_client, work_on
from mooring.serving.access.roles import VERBS as RIGHTS
from mooring.serving.calls.memory import MemoryBudget, Share, body_budget_bytes
from mooring.serving.http.asgi import (
    OK,
    PLAIN_TEXT,
    Answer,
    BodyTooLargeError,
    HttpApp,
    Receive,
    Scope,
    connection_of,
    read_body,
)
from mooring.serving.http.hosts import Hosts
from mooring.tracing.spans import Entered, Span, Tracer
from mooring_extender import translate, wire
from mooring_extender.calls import NodeQueryClient
from mooring_extender.client import Client, ClientFactory
from mooring_extender.failures import VERBS, CallError, answer_failure, reject, shortened
from mooring_extender.metrics import CONTENT_TYPE, Metrics
from mooring_extender.questions import REMEMBERED_BYTES, Question, Questions
from mooring_extender.score_prefetch import ScorePrefetch
from mooring_extender.scores import priorities

log = logging.getLogger(__name__)

DEADLINE_SHARE: Final = 0.75
_OPERATIONS: Final = ("/healthz", "/livez", "/readyz", "/metrics")
READINESS_TIMEOUT_SECONDS: Final = 1.0
READINESS_SECONDS: Final = 1.0
"""How long an answer of /readyz is reused, so that frequent probes don't all reach mooring."""
LARGE_BODY_BYTES: Final = 2**20
_BROWSERS: Final = frozenset(
    {b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest", b"sec-fetch-user"}
)
"""Headers that only browsers send (Fetch Metadata of the W3C)."""
_READERS: Final = 2

Document = TypeVar("Document")


@dataclass(frozen=True, slots=True)
class Options:
    """How the adapter answers."""

    profile: str = ""
    """The profile of requests whose path names none. Default: the first in mooring's configuration file."""
    path_prefix: str = ""
    """A path under which every verb is served too, such as ``/api/scheduler``. Default: none."""
    http_timeout: float = 2.0
    """kube-scheduler's httpTimeout in seconds. Calls to mooring end after 75 % of it, so that the reason of a
    failure still reaches kube-scheduler."""
    max_body_bytes: int = 64 * 2**20
    """The largest request body. 5,000 node objects take 31 to 59 MB, 5,000 node names 0.2 MB."""
    body_budget_bytes: int = field(default_factory=body_budget_bytes)
    """How much all bodies together may take, from their arrival to their answer; 256 KiB of each are free."""
    access: Access = field(default_factory=Access)
    """Who may call the bind verb. Default: everybody."""
    hosts: Hosts = field(default_factory=lambda: Hosts(()))
    """By which names it may be called. Default: the address that a call comes to, and those of loopback."""


class _Call(msgspec.Struct, frozen=True):
    """One call: what came, for which profile (empty: the default one), until when (monotonic seconds)."""

    body: bytes
    profile: str
    deadline: float

    def seconds_left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise CallError(grpc.StatusCode.DEADLINE_EXCEEDED, "the body took all the time to arrive")
        return left


class ExtenderApp(HttpApp):
    """The ASGI callable. ``make_client`` is called when the server starts, in its event loop."""

    def __init__(self, make_client: ClientFactory, options: Options, tracer: Tracer | None = None) -> None:
        super().__init__()
        self._make_client = make_client
        self._tracer = tracer
        self._options = options
        self._prefix = "/" + options.path_prefix.strip("/") if options.path_prefix.strip("/") else ""
        self._call_seconds = DEADLINE_SHARE * options.http_timeout
        self._metrics = Metrics()
        self._first_profile = ""
        self._readiness: asyncio.Task[Answer] | None = None
        self._readiness_until = 0.0
        self._budget = MemoryBudget(options.body_budget_bytes)
        self._readers = ThreadPoolExecutor(_READERS, "mooring-extender-reader")
        self._questions = Questions()
        self._prefetch = ScorePrefetch()
        self._client: Client
        self._calls: NodeQueryClient
        self._verbs: dict[str, Callable[[_Call], Awaitable[bytes]]] = {
            "filter": self._filter,
            "prioritize": self._prioritize,
            "bind": self._bind,
            "preempt": self._preempt,
        }

    async def _start(self) -> None:
        self._client = self._make_client()
        self._calls = NodeQueryClient(self._client)

    async def _stop(self) -> None:
        await self._calls.close()
        await self._client.close()
        self._readers.shutdown(wait=False)

    async def _respond(self, scope: Scope, receive: Receive) -> Answer:
        path = scope["path"]
        route = self._route(path)
        if route is None:
            return await self._operate(scope)
        verb, profile = route
        rejection = self._unidentified(scope) or self._rejection(scope, verb)
        began = scope["state"]["began"]
        with Entered(self._span(verb, scope)) as span:
            answer = rejection or await self._decide(verb, profile, scope, receive, began)
            if span is not None:
                span.set_attributes({"http.response.status_code": int(answer.status), "url.path": path})
        self._metrics.answered(verb, answer, time.monotonic() - began)
        return answer

    def _unidentified(self, scope: Scope) -> Answer | None:
        """Find out who calls; return the answer to a client that was revoked."""
        access = self._options.access
        try:
            work_on(CurrentCall(access.client(connection_of(scope), ()), access))
        except UnauthenticatedError as error:
            access.denied("extender", connection_of(scope), error.message)
            return reject(HTTPStatus.UNAUTHORIZED, error.message)
        return None

    def _span(self, verb: str, scope: Scope) -> Span | None:
        """Begin to trace a call, if it is one of those that are traced."""
        if self._tracer is None:
            return None
        traceparent = dict(scope["headers"]).get(b"traceparent", b"")
        if not self._options.access.knows(asking_client()):
            traceparent = b""
        return self._tracer.begin_call(f"POST /{verb}", traceparent.decode("latin-1"))

    def _route(self, path: str) -> tuple[str, str] | None:
        """Return the verb and the profile that a path names; the profile may be empty."""
        relative = path.removeprefix(self._prefix) if path.startswith(self._prefix + "/") else path
        match relative.removesuffix("/").split("/"):
            case ["", verb] if verb in VERBS:
                return verb, ""
            case ["", "profiles", profile, verb] if profile and verb in VERBS:
                return verb, profile
        return None

    def _rejection(self, scope: Scope, verb: str) -> Answer | None:
        """Return the answer to a request that can be rejected before its body is read."""
        method, headers = scope["method"], dict(scope["headers"])
        if method != "POST":
            text = f"method {method} is not allowed here: extender calls are POST"
            return reject(HTTPStatus.METHOD_NOT_ALLOWED, text, (b"allow", b"POST"))
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding not in {b"", b"identity"}:
            text = f"Content-Encoding {encoding.decode('latin-1')} is not supported: send the body as it is"
            return reject(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text)
        if int(headers.get(b"content-length", b"0")) > self._options.max_body_bytes:
            return self._too_large()
        if wrong := self._of_a_page(scope, headers):
            return wrong
        access = self._options.access
        # The namespace is in the body: mooring decides then.
        if access.authorizer.by_namespace:
            return None
        text = access.rejection(verb, RIGHTS[verb], asking_client())
        return reject(HTTPStatus.FORBIDDEN, text) if text else None

    def _of_a_page(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Answer | None:
        """Return the answer to a request that another site's page may have made a browser send.

        A browser sends these headers. Without asking first, it sends only a few types of bodies, and JSON is
        not one of them.
        """
        if wrong := self._misdirected(scope, headers):
            return wrong
        if not _BROWSERS.isdisjoint(headers):
            text = "a call with Origin or Sec-Fetch-Site is a browser's, and only programs may call"
            return reject(HTTPStatus.FORBIDDEN, text)
        form = headers.get(b"content-type", b"").decode("latin-1")
        if form.partition(";")[0].strip().lower() != "application/json":
            text = f"Content-Type {form!r} is not supported: send application/json"
            return reject(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text)
        return None

    def _misdirected(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Answer | None:
        """Return the answer to a request for another host, or for none."""
        host = headers.get(b"host", b"")
        wrong = self._options.hosts.rejection(host, (scope["server"] or ("",))[0])
        status = HTTPStatus.MISDIRECTED_REQUEST if host else HTTPStatus.BAD_REQUEST
        return reject(status, wrong) if wrong else None

    def _too_large(self) -> Answer:
        text = f"the body is larger than {self._options.max_body_bytes} bytes (--max-body-bytes)"
        return reject(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)

    async def _decide(self, verb: str, profile: str, scope: Scope, receive: Receive, began: float) -> Answer:
        share = Share(self._budget, lambda: connection_of(scope).key)
        try:
            body = await read_body(receive, self._options.max_body_bytes, share)
            return await self._answer(verb, _Call(body, profile, began + self._call_seconds))
        except BodyTooLargeError:
            return self._too_large()
        except ResourceExhaustedError as error:
            return reject(HTTPStatus.SERVICE_UNAVAILABLE, error.message)
        finally:
            share.end()

    async def _answer(self, verb: str, call: _Call) -> Answer:
        try:
            return Answer(HTTPStatus.OK, await self._verbs[verb](call))
        except (wire.MalformedBodyError, wire.ArgumentsError, CallError) as error:
            # mooring may have been restarted with another configuration.
            self._first_profile = ""
            log.warning("%s failed: %s", verb, shortened(error))
            return answer_failure(verb, error)
        except Exception as error:
            log.exception("%s failed: a defect of mooring-extender", verb)
            return answer_failure(verb, error)

    async def _read(self, reader: Callable[[bytes], Document], body: bytes) -> Document:
        """Read a body; a large one in another thread, so that other calls go on."""
        if len(body) <= LARGE_BODY_BYTES:
            return reader(body)
        return await asyncio.get_running_loop().run_in_executor(self._readers, reader, body)

    async def _profile(self, call: _Call) -> str:
        """Return the profile to use; mooring's first one is looked up once."""
        named = call.profile or self._options.profile or self._first_profile
        if not named:
            profiles = (await self._client.profiles(call.seconds_left())).profiles
            named = self._first_profile = profiles[0].name if profiles else ""
        return named

    async def _filter(self, call: _Call) -> bytes:
        asked: Question = await self._read(self._questions.read, call.body)
        profile = await self._profile(call)
        self._prefetch.forget(asked.pod)
        scores_wanted = asked.items is None and self._prefetch.wanted(_own(profile))
        request = translate.filter_request(asked.pod, profile, scores=scores_wanted)
        response = await self._calls.filter(request, asked, call.seconds_left)
        answer = translate.filtered(asked, response)
        if asked.items is None and answer.passed is not None:
            # kube-scheduler asks prioritize about them next.
            self._questions.remember(answer.passed)
            scores = translate.scores_along(answer.passed, response)
            if scores is not None and len(call.body) <= REMEMBERED_BYTES:
                self._prefetch.expect(_own(profile), asked.pod, scores)
        self._metrics.filtered(answer.resolvable, answer.unresolvable)
        return answer.body

    async def _prioritize(self, call: _Call) -> bytes:
        profile = await self._profile(call)
        prefetched = self._prefetch.take(_own(profile), call.body)
        if prefetched is not None:
            return priorities(prefetched)
        asked: Question = await self._read(self._questions.read, call.body)
        request = translate.score_request(asked.pod, profile)
        response = await self._calls.score(request, asked, call.seconds_left)
        self._prefetch.want(_own(profile))
        return translate.host_priorities(asked, response)

    async def _bind(self, call: _Call) -> bytes:
        args = await self._read(wire.read_binding_args, call.body)
        request = translate.bind_request(args, await self._profile(call))
        if client := asking_client().name:
            # mooring's own line knows the adapter alone.
            pod, node = request.pod, request.node
            log.info(
                "bind client=%s pod=%s/%s uid=%s node=%s",
                client,
                pod.namespace,
                pod.name,
                pod.uid,
                node,
            )
        response = await self._client.bind(request, call.seconds_left())
        return msgspec.json.encode(translate.bind_result(response))

    async def _preempt(self, call: _Call) -> bytes:
        args = await self._read(wire.read_preemption_args, call.body)
        request = translate.preempt_request(args, await self._profile(call))
        response = await self._client.preempt(request, call.seconds_left())
        return msgspec.json.encode(translate.preempt_result(response))

    async def _operate(self, scope: Scope) -> Answer:
        """Answer the paths for operators; there are no others."""
        method, path = scope["method"], scope["path"]
        if path not in _OPERATIONS:
            verbs = f"/{{{','.join(VERBS)}}}"
            text = f"no such path: there are {verbs}, /profiles/NAME{verbs}, {', '.join(_OPERATIONS)}"
            return reject(HTTPStatus.NOT_FOUND, text)
        if method not in {"GET", "HEAD"}:
            text = f"{path} is read with GET"
            return reject(HTTPStatus.METHOD_NOT_ALLOWED, text, (b"allow", b"GET, HEAD"))
        if path == "/metrics":
            return self._misdirected(scope, dict(scope["headers"])) or Answer(
                HTTPStatus.OK, self._metrics.render(), CONTENT_TYPE
            )
        if path == "/readyz":
            return await self._ready()
        return OK

    async def _ready(self) -> Answer:
        """Return mooring's readiness within the last second; concurrent callers share one call."""
        if self._withdrawn:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"stopping", PLAIN_TEXT)
        now = time.monotonic()
        if self._readiness is None or now >= self._readiness_until:
            self._readiness = asyncio.create_task(self._ask_readiness())
            self._readiness_until = now + READINESS_SECONDS
        return await asyncio.shield(self._readiness)

    async def _ask_readiness(self) -> Answer:
        """Ready means that mooring answers and that its cluster state is complete."""
        try:
            synced = (await self._client.cluster_info(READINESS_TIMEOUT_SECONDS)).synced
        except CallError as error:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"mooring: {shortened(error)}".encode(), PLAIN_TEXT)
        if not synced:
            text = b"mooring: its cluster state is not complete yet"
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, text, PLAIN_TEXT)
        return OK


def _own(profile: str) -> str:
    """Return the key under which scores of a profile are kept for the client that calls."""
    return f"{profile} {asking_client().name}"
