"""The gateway: the contract's calls that change nothing in Connect's unary JSON, explanations as columns.

Clients of the Connect protocol call it with the base URL ``.../api/v1``. Errors are Connect's: ``{"code",
"message", "details"}``. ``?process=NAME`` selects the process, by default the first one.

- ``GET api/v1/processes`` answers ``{"processes": [{"name", "address", "source", "state", "message"}]}`` with
  the state "ok" or "unreachable", and the message "" where it is ok. Commands take the source as
  ``--cluster``.
- ``POST api/v1/mooring.v1.SERVICE/METHOD`` takes the request and answers the response, both as protobuf's
  JSON: names in camelCase, 64-bit integers as strings, bytes in base64, fields with default values absent. An
  object in ``KubernetesObject.json`` may also be written out. A list has one page unless the request has a
  pageSize. ``METHODS`` are allowed. ``Connect-Timeout-Ms`` is the deadline. Schedule commits nothing outside
  a session: with a session COMMIT_MODE_RESERVE is allowed, too.
- ``GET api/v1/decisions/SEQ/columns?again=`` answers the columns of a decision (see ``columns``): those that
  were kept, else the decision is made again. One without a node is made again if it can be,
  because what was kept has no findings. ``again=1`` makes it again in any case, ``again=0`` never.
- ``POST api/v1/explain/columns`` takes an ExplainRequest as JSON and answers the columns of now.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from types import ModuleType
from typing import Any, Final, NamedTuple

import grpc.aio
from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from mooring.framework.args import FieldError
from mooring.framework.errors import (
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from mooring.service.calls.access import mode_row
from mooring.serving.access.roles import RESERVES
from mooring.serving.http.asgi import Answer
from mooring.web.answers import json_answer
from mooring.web.columns import encode
from mooring.web.processes import CALL_SECONDS, Process, Processes
from mooring_client.v1 import (
    cluster_service_pb2,
    decision_service_pb2,
    plugin_service_pb2,
    scheduling_service_pb2,
    simulation_service_pb2,
)

COLUMNS: Final = b"application/vnd.mooring.columns"

MAX_SEQ: Final = 2**64 - 1

MOST_ITEMS: Final = 100_000
"""The items of a page of a list unless a request says otherwise."""

MAX_VALUES: Final = 1 << 17
"""How many values a body may hold: each of two bytes becomes an object of more than a hundred."""


class OfferedMethod(NamedTuple):
    """A method of the contract: its gRPC path and its messages."""

    path: str
    request: type[Message]
    response: type[Message]


def _methods(module: ModuleType, service: str, *names: str) -> dict[str, OfferedMethod]:
    """Return the named methods of a service, or all, by PACKAGE.SERVICE/METHOD."""
    descriptor = module.DESCRIPTOR.services_by_name[service]
    return {
        f"{descriptor.full_name}/{method.name}": OfferedMethod(
            f"/{descriptor.full_name}/{method.name}",
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
        )
        for method in descriptor.methods
        if not method.server_streaming and (not names or method.name in names)
    }


METHODS: Final[Mapping[str, OfferedMethod]] = {
    **_methods(
        cluster_service_pb2,
        "ClusterService",
        *("GetClusterInfo", "GetObject", "ListNodes", "ListPendingPods", "ListPods"),
    ),
    **_methods(decision_service_pb2, "DecisionService"),
    **_methods(plugin_service_pb2, "PluginService"),
    **_methods(
        scheduling_service_pb2, "SchedulingService", "Explain", "Filter", "Preempt", "Schedule", "Score"
    ),
    **_methods(simulation_service_pb2, "SimulationService"),
}
"""The allowed methods, by PACKAGE.SERVICE/METHOD: those that change nothing, or only a session."""

_EXPLAIN: Final = METHODS["mooring.v1.SchedulingService/Explain"]
_EXPLAIN_AT: Final = METHODS["mooring.v1.DecisionService/ExplainAt"]
_GET_DECISION: Final = METHODS["mooring.v1.DecisionService/GetDecision"]
_SCHEDULE: Final = METHODS["mooring.v1.SchedulingService/Schedule"]


class Gateway:
    """Answers what stands below ``api/v1/``. For one event loop.

    Every method raises MooringError where the request is rejected here, and grpc.aio.AioRpcError where the
    process does.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        # One body at a time: the messages of several at once would take as many times the memory.
        self._reader = ThreadPoolExecutor(1, "page-reader")

    async def processes(self) -> Answer:
        """Say which processes there are, and which of them answer."""
        return json_answer({"processes": await self._processes.describe()})

    async def call(
        self, name: str, body: bytes, query: Mapping[str, str], seconds: float = CALL_SECONDS
    ) -> Answer:
        """Call the method PACKAGE.SERVICE/METHOD with a request as JSON, for up to ``seconds``."""
        method = _method(name)
        request = await self._request(method, body)
        if method is _SCHEDULE:
            _check_commit(request)
        if "page_size" in method.request.DESCRIPTOR.fields_by_name and not request.page_size:
            # Over HTTP an answer may be as long as it is.
            request.page_size = MOST_ITEMS
        response = await self._process(query).call(method.path, request, method.response, seconds)
        return Answer(HTTPStatus.OK, await asyncio.to_thread(_json, response))

    async def decision_columns(self, seq: str, query: Mapping[str, str]) -> Answer:
        """Answer the columns of a decision."""
        process, number, again = self._process(query), _seq(seq), query.get("again", "")
        if again not in ("", "0", "1"):
            raise InvalidArgumentError.at("again", f"{again!r} is neither 0 nor 1")
        if again != "1":
            request = decision_service_pb2.GetDecisionRequest(seq=number)
            kept = await process.call(_GET_DECISION.path, request, _GET_DECISION.response)
            if kept.HasField("explanation"):
                placed = kept.explanation.HasField("selected_position")
                again_too = None if placed or again else await _if_it_agrees(process, number)
                return again_too or await _columns(kept.explanation, made="kept", decision=kept.decision)
            if again == "0":
                raise NotFoundError(
                    f"no explanation of decision {number} was kept", reason="DECISION_NOT_FOUND"
                )
        return await _columns_again(await _explained_again(process, number))

    async def explain_columns(self, body: bytes, query: Mapping[str, str]) -> Answer:
        """Answer the columns of an explanation of now."""
        request = await self._request(_EXPLAIN, body)
        response = await self._process(query).call(_EXPLAIN.path, request, _EXPLAIN.response)
        return await _columns(response, made="now")

    async def _request(self, method: OfferedMethod, body: bytes) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._reader, read_request, method, body)

    def _process(self, query: Mapping[str, str]) -> Process:
        return self._processes.named(query.get("process", ""))


def _method(name: str) -> OfferedMethod:
    if name in METHODS:
        return METHODS[name]
    raise PermissionDeniedError(f"{name} is not offered here: only what changes nothing is")


def read_request(method: OfferedMethod, body: bytes) -> Any:
    """Return the request of a method that a body has as JSON. Raises InvalidArgumentError if it is not valid,
    too large, or a field has a number that its enum lacks.
    """
    name = method.request.DESCRIPTOR.name
    # A value is the first one, one after a comma, or the first inside brackets.
    values = 1 + sum(map(body.count, (b",", b"[", b"{")))
    if values > MAX_VALUES:
        raise InvalidArgumentError.at(name, f"has up to {values} values, more than {MAX_VALUES}")
    try:
        if b'"json"' in body:
            body = json.dumps(_with_plain_objects(json.loads(body))).encode()
        request = json_format.Parse(body or b"{}", method.request())
    except (json_format.ParseError, ValueError, RecursionError) as error:
        raise InvalidArgumentError.at(name, _fault(error)) from None
    InvalidArgumentError.raise_if_any(_unknown_numbers(request, ""))
    return request


def _fault(error: Exception) -> str:
    if not isinstance(error, json_format.ParseError):
        return "is not a JSON object in UTF-8"
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if not isinstance(cause, TypeError | AttributeError):
        return str(error)
    path = ".".join(re.findall(r"Failed to parse (\w+) field", str(error)))
    return f"{path}: the value is of another type than the field"


def _with_plain_objects(value: Any) -> Any:
    """Return a request with objects in base64, which may be written out in ``KubernetesObject.json``.

    No other field has that name.
    """
    if isinstance(value, list):
        return [_with_plain_objects(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(json.dumps(item).encode()).decode()
        if key == "json" and not isinstance(item, str | None)
        else _with_plain_objects(item)
        for key, item in value.items()
    }


def _unknown_numbers(message: Message, path: str) -> Iterator[FieldError]:
    """Find the fields with a number that their enum has no name for."""
    for field, value in message.ListFields():
        where = f"{path}{field.json_name}"
        values = value if field.is_repeated else (value,)
        if field.enum_type is not None:
            known = field.enum_type.values_by_number
            for number in set(values).difference(known):
                yield FieldError(where, f"{number} is not a {field.enum_type.name}")
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for at, inner in enumerate(values):
                yield from _unknown_numbers(inner, f"{where}[{at}]." if field.is_repeated else f"{where}.")


def _check_commit(request: scheduling_service_pb2.ScheduleRequest) -> None:
    """Raise PermissionDeniedError if a request would commit."""
    if mode_row(request) not in (("", RESERVES) if request.session else ("",)):
        mode = scheduling_service_pb2.CommitMode.Name(request.commit_mode)
        raise PermissionDeniedError(f"{mode} is not offered here: only dry runs are, and sessions")


def _seq(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 20 and 0 < int(text) <= MAX_SEQ):
        raise InvalidArgumentError.at("seq", f"{text!r} is not a decision's number")
    return int(text)


def _json(message: Message) -> bytes:
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


async def _if_it_agrees(process: Process, number: int) -> Answer | None:
    """Answer the columns of a decision that is made again; None if it can't be, or comes out otherwise."""
    try:
        made = await _explained_again(process, number)
    except grpc.aio.AioRpcError:
        return None
    return await _columns_again(made) if made.agrees else None


async def _explained_again(process: Process, number: int) -> decision_service_pb2.ExplainAtResponse:
    request = decision_service_pb2.ExplainAtRequest(seq=number, all_rejections=True)
    made: decision_service_pb2.ExplainAtResponse = await process.call(
        _EXPLAIN_AT.path, request, _EXPLAIN_AT.response
    )
    return made


async def _columns_again(made: decision_service_pb2.ExplainAtResponse) -> Answer:
    return await _columns(
        made.explanation,
        made="again",
        decision=made.decision,
        agrees=made.agrees,
        differences=list(made.differences),
    )


async def _columns(
    explanation: scheduling_service_pb2.ExplainResponse, decision: Message | None = None, **header: Any
) -> Answer:
    if decision is not None:
        header["decision"] = json_format.MessageToDict(decision)
    return Answer(HTTPStatus.OK, await asyncio.to_thread(encode, explanation, header), COLUMNS)
