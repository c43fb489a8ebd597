"""Plugins in a process of their own: write ``filter`` and ``score`` over named values, and serve them.

class Rack(HostedPlugin):
    pod_fields = ("metadata.annotations[example.com/rack]",)
    node_columns = ("metadata.labels[example.com/rack]",)

    def score(self, pod, node):
        wanted = pod["metadata.annotations[example.com/rack]"]
        return 100 if wanted and node["metadata.labels[example.com/rack]"] == wanted else 0

serve([Rack], "unix:/run/rack.sock").wait_for_termination()

A process can be ended, which a thread can't: the place for rules that may hang or leak.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.plugin_host.v1 import plugin_host_service_pb2_grpc as stubs
from mooring_client.v1.verdicts_pb2 import Verdict, VerdictCode

Value = str | int | None
"""A value of a pod or a node: a text, a number, or none. Objects and lists are JSON documents."""

Values = Mapping[str, Value]
"""Values by the name under which they were declared."""


class Unresolvable(str):  # a reason that is more than its text
    """The reason for a node on which removing pods does not help. A plain ``str`` rejects it as it is now."""

    __slots__ = ()


class ArgumentError(ValueError):
    """An argument is wrong; raise it in ``__init__``.

    Args:
        field: The argument's path.
        message: What is wrong with it, and what would be right.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


class HostedPlugin:
    """Base of plugins. A plugin serves the points whose methods it overrides, from any thread.

    ``filter`` and ``score`` are pure functions of their arguments: mooring asks once about each combination
    of values, and keeps the answer.

    Attributes:
        name: The plugin's name; by default that of the class.
        pod_fields: What it reads of the pod, such as ``metadata.labels[app]`` or ``requests[cpu]``.
        node_columns: What it reads of a node, such as ``metadata.labels[rack]`` or ``requested[cpu]``.
        normalizer: One of ``pb.Normalizer``; without one, scores are 0 to 100.
        measurements: What ``measure`` measures.
        args: The arguments in the profile, or None.
    """

    name: str = ""
    pod_fields: Sequence[str] = ()
    node_columns: Sequence[str] = ()
    normalizer: pb.Normalizer.ValueType = pb.NORMALIZER_UNSPECIFIED
    measurements: Sequence[pb.MeasurementDescription] = ()

    def __init__(self, args: Any) -> None:
        self.args = args

    def filter(self, pod: Values, node: Values) -> str | None:
        """Return why ``node`` can't take ``pod``; None if it can."""

    def score(self, pod: Values, node: Values) -> int:
        """Return the score of ``node``."""
        return 0

    def reserve(self, pod: pb.ActRequest) -> str | None:
        """Keep what the pod needs; return why it can't be had, or None."""

    def unreserve(self, pod: pb.ActRequest) -> None:
        """Give it back, also if it was never kept."""

    def permit(self, pod: pb.ActRequest) -> str | float | None:
        """Return why the pod must not be bound, the seconds that it has to wait, or None."""

    def pre_bind(self, pod: pb.ActRequest) -> str | None:
        """Do what has to be done before the binding; return why it can't be, or None."""

    def post_bind(self, pod: pb.ActRequest) -> None:
        """Take in that the pod is bound."""

    def measure(self, name: str) -> Mapping[str, int]:
        """Return the measured values by node."""
        return {}

    @classmethod
    def described(cls) -> pb.PluginDescription:
        """Return the plugin as mooring gets it."""
        methods = {point: getattr(cls, method) for point, method in _METHODS.items()}
        return pb.PluginDescription(
            name=cls.name or cls.__name__,
            points=[p for p, method in methods.items() if method is not getattr(HostedPlugin, _METHODS[p])],
            pod_fields=cls.pod_fields,
            node_columns=cls.node_columns,
            normalizer=cls.normalizer,
            measurements=cls.measurements,
        )


_METHODS = {
    "filter": "filter",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "postBind": "post_bind",
}


class PluginHost(stubs.PluginHostServiceServicer):
    """Serves plugins. Safe from any thread.

    Args:
        plugins: Their classes.
        version: The version of their code.
    """

    def __init__(self, plugins: Sequence[type[HostedPlugin]], version: str = "") -> None:
        self.host_id = uuid.uuid4().hex
        self._version = version
        self._kinds = {kind.described().name: kind for kind in plugins}
        self._instances: list[HostedPlugin] = []
        self._lock = threading.Lock()

    def Describe(  # noqa: N802 - the name of the call
        self, request: pb.DescribeRequest, context: grpc.ServicerContext
    ) -> pb.DescribeResponse:
        """As of the contract."""
        described = [kind.described() for kind in self._kinds.values()]
        return pb.DescribeResponse(host_id=self.host_id, host_version=self._version, plugins=described)

    def Configure(  # noqa: N802 - the name of the call
        self, request: pb.ConfigureRequest, context: grpc.ServicerContext
    ) -> pb.ConfigureResponse:
        """As of the contract."""
        self._expect(request.host_id == self.host_id and request.plugin in self._kinds, context)
        try:
            made = self._kinds[request.plugin](json.loads(request.args_json))
        except ArgumentError as error:
            fault = pb.ConfigureResponse.ArgumentFault(field=error.field, message=error.message)
            return pb.ConfigureResponse(faults=[fault])
        with self._lock:
            self._instances.append(made)
            return pb.ConfigureResponse(instance=len(self._instances))

    def Evaluate(  # noqa: N802 - the name of the call
        self, request: pb.EvaluateRequest, context: grpc.ServicerContext
    ) -> pb.EvaluateResponse:
        """As of the contract."""
        plugin = self._instance(request, context)
        kind = type(plugin)
        answer = pb.EvaluateResponse(host_id=self.host_id, question=request.question)
        pod = dict(zip(kind.pod_fields, map(_value, request.pod), strict=True))
        reasons: dict[str, int] = {}
        verdicts, scores = bytearray(), []
        for node in _nodes(kind.node_columns, request):
            why = plugin.filter(pod, node)
            verdicts.append(0 if why is None else reasons.setdefault(why, len(reasons) + 1))
            scores.append(plugin.score(pod, node) if why is None else 0)
        answer.rejections.extend(map(_rejection, reasons))
        answer.verdicts = bytes(verdicts) if reasons else b""
        if kind.normalizer == pb.NORMALIZER_UNSPECIFIED:
            answer.scores = bytes(scores)
        else:
            answer.raw_scores.extend(scores)
        return answer

    def Measure(  # noqa: N802 - the name of the call
        self, request: pb.MeasureRequest, context: grpc.ServicerContext
    ) -> pb.MeasureResponse:
        """As of the contract."""
        return pb.MeasureResponse(values=self._instance(request, context).measure(request.name))

    def Act(  # noqa: N802 - the name of the call
        self, request: pb.ActRequest, context: grpc.ServicerContext
    ) -> pb.ActResponse:
        """As of the contract."""
        plugin = self._instance(request, context)
        method = _METHODS.get(request.point, request.point)
        said = getattr(plugin, method)(request)
        answer = pb.ActResponse(verdict=Verdict(code=VerdictCode.VERDICT_CODE_SUCCESS))
        if isinstance(said, str):
            answer.verdict.CopyFrom(_rejection(said))
        elif said is not None:
            answer.verdict.code = VerdictCode.VERDICT_CODE_WAIT
            answer.wait.FromMilliseconds(int(said * 1000))
        return answer

    def _instance(self, request: Any, context: grpc.ServicerContext) -> HostedPlugin:
        known = request.host_id == self.host_id and 0 < request.instance <= len(self._instances)
        self._expect(known, context)
        found: HostedPlugin = self._instances[request.instance - 1]
        return found

    def _expect(self, known: bool, context: grpc.ServicerContext) -> None:
        if not known:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "another start of the host is meant")


def serve(
    plugins: Sequence[type[HostedPlugin]], address: str, *, version: str = "", threads: int = 4
) -> grpc.Server:
    """Serve ``plugins`` on ``unix:PATH`` or a loopback address, and return the server that does.

    A socket that is there is replaced; only its user may write to the new one.
    """
    server = grpc.server(ThreadPoolExecutor(threads))
    stubs.add_PluginHostServiceServicer_to_server(PluginHost(plugins, version), server)
    path = address.removeprefix("unix:").removeprefix("//") if address.startswith("unix:") else ""
    if path:
        Path(path).unlink(missing_ok=True)
    server.add_insecure_port(address)
    if path:
        Path(path).chmod(0o600)
    server.start()
    return server


def _value(value: pb.PodValue) -> Value:
    kind = value.WhichOneof("value")
    return None if kind is None else getattr(value, kind)


def _nodes(names: Sequence[str], request: pb.EvaluateRequest) -> Iterator[Values]:
    """Yield each combination of values."""
    columns = [list(_column(column)) for column in request.columns]
    for at in range(request.combinations):
        yield {name: column[at] for name, column in zip(names, columns, strict=True)}


def _column(column: pb.Column) -> Iterator[Value]:
    if column.texts:
        yield from ((column.dictionary[at - 1] if at else None) for at in column.texts)
    elif column.absent:
        yield from (None if gone else n for n, gone in zip(column.numbers, column.absent, strict=True))
    else:
        yield from column.numbers


def _rejection(why: str) -> Verdict:
    code = VerdictCode.VERDICT_CODE_UNSCHEDULABLE
    if isinstance(why, Unresolvable):
        code = VerdictCode.VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE
    return Verdict(code=code, reasons=[str(why)])
