"""A host, and questions to its plugins from made-up clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, Final, TypeVar

import grpc
import msgspec
import numpy as np

from mooring.app.options import EngineOptions
from mooring.config.types import PluginHostStanza
from mooring.conformance.checks import CallFailedError
from mooring.framework import CycleState, Int64s, NodeView
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.plugin_check.clusters import made_up_for, pods_to_ask
from mooring.plugin_check.subject import Subject
from mooring.plugin_hosts.connection import HostConnection, check_address, open_channel
from mooring.plugin_hosts.hosts import connection_to
from mooring.plugin_hosts.rules import HostedRule, rule_class
from mooring.plugin_hosts.wire import WrongAnswerError, question, said
from mooring.runtime.profiles.registry import RegistryError, new_in_tree_registry
from mooring.runtime.pure.bulk_plugin import BulkAnswer, BulkAnswers, BulkRule, Combinations
from mooring.runtime.pure.reads import Reads
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.plugin_host.v1.plugin_host_service_pb2_grpc import PluginHostServiceStub

MANY: Final = 5000
"""Combinations of values in a long call."""

NUMBER: Final = 7_000_000_001
"""The number of a question; it needs more than 32 bits."""

_SEED: Final = 1

A = TypeVar("A")


class _Noting(BulkRule):
    """Stands for a rule, and notes its questions instead of answering them."""

    def __init__(self, rule: HostedRule) -> None:
        self.fields, self.columns = rule.fields, rule.columns
        self.noted: list[Combinations] = []

    def evaluate(self, combinations: Combinations) -> BulkAnswer:
        self.noted.append(combinations)
        count = combinations.numbers.shape[1]
        return BulkAnswer((), np.zeros(count, np.uint8), np.zeros(count, np.int64))


@dataclass(frozen=True, slots=True)
class AskedPlugin:
    """A plugin of the host, and questions about some pods of a made-up cluster."""

    rule: HostedRule
    questions: Sequence[Combinations]

    @property
    def name(self) -> str:
        """Its name."""
        return self.rule.name

    def judged(self, answer: pb.EvaluateResponse, count: int) -> BulkAnswer:
        """Return an answer about ``count`` combinations as mooring reads it. Raises CallFailedError if
        mooring would fail the decision.
        """
        rule = self.rule
        try:
            return said(answer, answer.question, count, scores=rule.scores, normalizer=rule.normalizer)
        except WrongAnswerError as error:
            raise CallFailedError(f"{self.name} {error}") from None


@dataclass
class AskedHost:
    """A host under examination. Safe from any thread, but for ``seconds``.

    Attributes:
        stanza: Its address and its times.
        args: The arguments of its plugins, by their names.
        acts: Whether Reserve may be called, for a pod that no cluster has.
        seconds: The time of each call about many combinations, by plugin.
    """

    stanza: PluginHostStanza
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    acts: bool = False
    seconds: dict[str, list[float]] = field(default_factory=dict)

    size = MANY

    def check_reachable(self) -> None:
        """Connect once. Raises InvalidArgumentError if its address is not safe, or nothing answers there."""
        check_address(self.stanza.address)
        try:
            self.describe()
        except CallFailedError as error:
            raise InvalidArgumentError.at(self.stanza.address, f"{error}; start the host first") from None

    def serves(self, part: str) -> bool:
        """Return whether a plugin has a point, or measures; "reserve" also if it may not be called."""
        plugins = self.described.plugins
        if part == "measure":
            return any(each.measurements for each in plugins)
        if part == "reserve" and not self.acts:
            return False
        return not part or any(part in each.points for each in plugins)

    @cached_property
    def stub(self) -> PluginHostServiceStub:
        """Makes single calls."""
        return PluginHostServiceStub(open_channel(self.stanza.address))

    @cached_property
    def described(self) -> pb.DescribeResponse:
        """The host's own description."""
        return self.describe()

    def describe(self) -> pb.DescribeResponse:
        """Return it again. Raises CallFailedError."""
        return self._called("Describe", self.stub.Describe, pb.DescribeRequest())

    @cached_property
    def plugins(self) -> Sequence[AskedPlugin]:
        """Its plugins, with questions. Raises CallFailedError if mooring would not take one."""
        registry = new_in_tree_registry()
        try:
            connection: HostConnection = connection_to(self.stanza)
            for each in self.described.plugins:
                registry.register(each.name, rule_class(connection, each), source="host")
            options = EngineOptions()
            return [
                _asked(
                    Subject(
                        registry[each.name].plugin_class(), self.args.get(each.name, {}), registry, options
                    )
                )
                for each in self.described.plugins
            ]
        except (MooringError, RegistryError) as error:
            raise CallFailedError(str(error)) from None

    def with_point(self, point: str) -> Iterator[AskedPlugin]:
        """Yield the plugins with a point."""
        return (each for each in self.plugins if point in each.rule.description.points)

    def evaluate(
        self, plugin: AskedPlugin, asked: Combinations, *, host_id: str = "", instance: int | None = None
    ) -> pb.EvaluateResponse:
        """Return any answer to a question. Raises CallFailedError."""
        number = plugin.rule.instance if instance is None else instance
        message = question(asked, host_id or self.described.host_id, number, NUMBER)
        return self._called(
            f"Evaluate of {plugin.name}", self.stub.Evaluate, pb.EvaluateRequest.FromString(message)
        )

    def answer(
        self, plugin: AskedPlugin, asked: Combinations, instance: int | None = None
    ) -> list[tuple[str, int]]:
        """Return for each combination why it is rejected, and its score. Raises CallFailedError."""
        answer = self.evaluate(plugin, asked, instance=instance)
        found = plugin.judged(answer, asked.numbers.shape[1])
        reasons = ["", *[f"{each.code.name}: {each.message}" for each in found.statuses]]
        return [
            (reasons[code], score)
            for code, score in zip(found.codes.tolist(), found.scores.tolist(), strict=True)
        ]

    def timed(self, plugin: AskedPlugin, asked: Combinations) -> None:
        """Ask, and note the time. Raises CallFailedError."""
        began = perf_counter()
        answer = self.evaluate(plugin, asked)
        self.seconds.setdefault(plugin.name, []).append(perf_counter() - began)
        plugin.judged(answer, asked.numbers.shape[1])

    def configure(
        self, plugin: AskedPlugin, *, host_id: str = "", name: str = "", args_json: str = ""
    ) -> pb.ConfigureResponse:
        """Have an instance made, by default as mooring does. Raises CallFailedError."""
        request = pb.ConfigureRequest(
            host_id=host_id or self.described.host_id,
            plugin=name or plugin.name,
            args_json=args_json or plugin.rule.args_json,
        )
        return self._called("Configure", self.stub.Configure, request)

    def act(self, plugin: AskedPlugin, point: str, host_id: str = "") -> pb.ActResponse:
        """Act for a pod that no cluster has. Raises CallFailedError."""
        request = pb.ActRequest(
            host_id=host_id or self.described.host_id,
            instance=plugin.rule.instance,
            point=point,
            pod=[pb.PodValue() for _ in plugin.rule.fields],
            uid="mooring-conformance",
            namespace="default",
            name="mooring-conformance",
            node="mooring-conformance-node",
        )
        return self._called(point, self.stub.Act, request)

    def measure(self, plugin: AskedPlugin, name: str, host_id: str = "") -> Mapping[str, int]:
        """Return measured values. Raises CallFailedError."""
        request = pb.MeasureRequest(
            host_id=host_id or self.described.host_id, instance=plugin.rule.instance, name=name
        )
        return self._called(f"Measure {name}", self.stub.Measure, request).values

    def _called(self, what: str, call: Callable[..., A], request: object) -> A:
        stanza = self.stanza
        time = stanza.evaluate_timeout if what.startswith("Evaluate") else stanza.act_timeout
        try:
            return call(request, timeout=time.total_seconds())
        except grpc.RpcError as error:
            raise HostCallError(what, error) from None


class HostCallError(CallFailedError):
    """A host answered with an error."""

    def __init__(self, what: str, error: Any) -> None:
        self.code: grpc.StatusCode = error.code()
        super().__init__(f"{what} is answered {self.code.name}: {str(error.details())[:200]}")


def many_of(asked: Combinations) -> Combinations:
    """Return a question with ``MANY`` combinations, some of them alike."""
    return taking(asked, np.arange(MANY) % asked.numbers.shape[1])


def taking(asked: Combinations, which: Int64s) -> Combinations:
    """Return a question about some of the combinations."""
    return msgspec.structs.replace(asked, numbers=asked.numbers[:, which])


def _asked(subject: Subject) -> AskedPlugin:
    objects = made_up_for(subject, _SEED).objects()
    core = subject.alone(objects)
    plugin: Any = subject.make(core)
    snapshot = core.state.snapshot
    rows = np.fromiter(snapshot.nodes.index.values(), np.int32)
    noting = _Noting(plugin)
    for pod in pods_to_ask(objects):
        BulkAnswers(noting, Reads()).freshly(CycleState(), pod, NodeView(snapshot, rows))
    return AskedPlugin(plugin, noting.noted)
