"""A server that answers as a case says, and remembers the calls."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no types

from mooring.client_check.cases import Failing, Json, Serving
from mooring.serving.calls.errors import DETAILS_KEY
from mooring_client.calls import SERVICES
from mooring_client.v1.errors_pb2 import CallError, ErrorReason

LARGEST: Final = 256 << 20

METHODS: Final = {
    f"/{service.full_name}/{method.name}": method
    for module in SERVICES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


@dataclass(slots=True)
class Script:
    """The calls of one step, in their order. Those in ``serve`` must arrive."""

    serve: Sequence[Serving]
    _position: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)

    def take(self, method: str, at: str) -> Serving | None:
        """Return how a call that has arrived is answered; None = it must not arrive."""
        while self._position < len(self.serve):
            entry = self.serve[self._position]
            full = entry.times != "some" and self._count == entry.times
            if not full and (entry.method, entry.at) == (method, at):
                self._count += 1
                return entry
            if not full and not (entry.times == "some" and self._count):
                return None
            self._position, self._count = self._position + 1, 0
        return None

    def missing(self) -> Iterator[str]:
        """Yield a line for each call that has not arrived."""
        for number, entry in enumerate(self.serve[self._position :]):
            count = self._count if number == 0 else 0
            least = 1 if entry.times == "some" else entry.times
            if count < least:
                yield f"{entry.method} arrived {count} times, expected {least}"


class Scene:
    """The script of a step and the calls that arrived, shared by the scripted server and its leader."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._script = Script([])
        self._received: list[Json] = []
        self._over = threading.Event()
        self.cut: Callable[[int], None] = lambda _after: None
        self.reset: Callable[[str], None] = lambda _code: None

    @contextmanager
    def playing(self, serve: Sequence[Serving]) -> Iterator[list[Json]]:
        """Answer so in the block; the list grows with each call that arrives."""
        self._over, self._script, self._received = threading.Event(), Script(serve), []
        try:
            yield self._received
        finally:
            self._over.set()

    def answers(
        self, method: MethodDescriptor, at: str, request: Message, context: grpc.ServicerContext
    ) -> Iterator[Message]:
        """Yield what the script answers."""
        over = self._over
        with self._lock:
            entry = self._script.take(method.name, at)
            deadline = context.time_remaining() is not None
            self._received.append(
                {"method": method.name, "at": at, "deadline": deadline, "request": document_of(request)}
            )
        if entry is None:
            context.abort(grpc.StatusCode.INTERNAL, "the case has no such call here")
        over.wait(entry.delay)
        if entry.drop is not True and entry.drop:
            self.cut(entry.drop)
        kind = GetMessageClass(method.output_type)
        for message in entry.messages if entry.reply is None else [entry.reply]:
            yield json_format.ParseDict(message, kind())
        if entry.drop is True or entry.reset:
            # The messages have to arrive first.
            over.wait(0.5 if entry.messages else 0)
        if entry.drop is True:
            self.cut(0)
        if entry.reset:
            self.reset(entry.reset)
        if entry.drop or entry.reset or entry.hang:
            gone = threading.Event()
            if context.add_callback(gone.set):  # False: it has ended already
                gone.wait()
        if entry.fail:
            if entry.fail.reason:
                context.set_trailing_metadata(((DETAILS_KEY, details_of(entry.fail)),))
            context.abort(getattr(grpc.StatusCode, entry.fail.code), entry.fail.message)


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, scene: Scene, at: str) -> None:
        self._scene = scene
        self._at = at

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        method = METHODS.get(details.method)
        if method is None:
            return None

        def stream(request: Message, context: grpc.ServicerContext) -> Iterator[Message]:
            return self._scene.answers(method, self._at, request, context)

        def unary(request: Message, context: grpc.ServicerContext) -> Message:
            return next(stream(request, context), GetMessageClass(method.output_type)())

        decode = GetMessageClass(method.input_type).FromString

        def encode(answer: Message) -> bytes:
            return answer.SerializeToString()

        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, decode, encode)
        return grpc.unary_unary_rpc_method_handler(unary, decode, encode)


@contextmanager
def serving(scene: Scene, at: str, credentials: grpc.ServerCredentials | None) -> Iterator[int]:
    """Answer as the scene says, at a port of the loopback interface."""
    options = [("grpc.max_send_message_length", LARGEST), ("grpc.max_receive_message_length", LARGEST)]
    server = grpc.server(ThreadPoolExecutor(16), options=options)
    server.add_generic_rpc_handlers([_Handlers(scene, at)])
    address = "127.0.0.1:0"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    try:
        yield port
    finally:
        server.stop(None)


def document_of(request: Message) -> Json:
    """Return a request as protobuf JSON, with the objects in it as JSON."""
    document: Json = _readable(
        json_format.MessageToDict(
            request, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
    )
    return document


def _readable(value: Any) -> Any:
    match value:
        case {"json": str(encoded)}:
            return {"json": json.loads(base64.b64decode(encoded))}
        case dict():
            return {key: _readable(each) for key, each in value.items()}
        case list():
            return [_readable(each) for each in value]
    return value


def details_of(failing: Failing) -> bytes:
    """Return the status in the trailers of a call that failed for a reason."""
    reason = (
        failing.reason
        if isinstance(failing.reason, int)
        else ErrorReason.Value(f"ERROR_REASON_{failing.reason}")
    )
    detail = CallError(reason=cast("Any", reason), metadata=failing.metadata)
    for each in failing.fields:
        detail.field_violations.add(**each)
    status = Status(code=getattr(grpc.StatusCode, failing.code).value[0])
    status.details.add().Pack(detail)
    return bytes(status.SerializeToString())
