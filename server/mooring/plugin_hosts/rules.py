"""The plugins of a host as rules of this server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from mooring.framework import (
    CycleState,
    Handle,
    MeasurementSource,
    Normalizer,
    Pod,
    Status,
)
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.points import POINTS
from mooring.plugin_hosts.connection import HostConnection, is_guest
from mooring.plugin_hosts.noted import answer_notes
from mooring.plugin_hosts.wire import WrongAnswerError, pod_values, question, said, status
from mooring.runtime.pure.bulk_plugin import BulkAnswer, BulkRule, Combinations
from mooring.runtime.pure.declared import DeclarationError, declared_reads, node_column, pod_field
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb

HOSTED_POINTS = ("filter", "score", "reserve", "permit", "preBind", "postBind")
"""The points that a host may serve. The others compare pods, or replace a part of the scheduler."""

GUEST_POINTS = ("filter", "score")
"""Those that a guest may serve, which reaches nothing outside and keeps nothing from one call to the next."""

MAX_DECLARED = 64
"""The most fields, and the most columns, that a plugin may declare."""

_NORMALIZERS: Mapping[int, Normalizer | None] = {
    pb.NORMALIZER_UNSPECIFIED: None,
    pb.NORMALIZER_BY_MAX: Normalizer.BY_MAX,
    pb.NORMALIZER_BY_MAX_REVERSED: Normalizer.BY_MAX_REVERSED,
    pb.NORMALIZER_BY_MIN_MAX: Normalizer.BY_MIN_MAX,
}
_questions = itertools.count(1)


class HostedRule(BulkRule):
    """Base of the classes that stand for plugins of hosts. Safe from any thread.

    Attributes:
        connection: The connection to the host.
        description: The host's description of the plugin.
    """

    connection: ClassVar[HostConnection]
    description: ClassVar[pb.PluginDescription]
    normalizer: ClassVar[Normalizer | None] = None
    scores: ClassVar[bool]

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.args_json = msgspec.json.encode(args).decode()
        self.instance = 0
        self.changed = _nothing
        self.ignorable = self.connection.options.ignorable and self.scores and not self.filters
        self.adopt(self.description)
        self.connection.configure(self)

    filters: ClassVar[bool]

    @property
    def passed_over(self) -> bool:  # type: ignore[override] # it changes with the connection
        """Whether its host is down, and may be ignored."""
        return self.ignorable and bool(self.connection.down)

    def adopt(self, description: pb.PluginDescription) -> None:
        """Take what the plugin declares now; its points, normalizer and measurements can't change.

        Raises:
            InvalidArgumentError: They do, or what is declared can't be read.
        """
        for name in ("points", "normalizer", "measurements"):
            if getattr(description, name) != getattr(self.description, name):
                raise InvalidArgumentError.at(self.name, f"has other {name} now; start mooring again")
        self.fields, self.columns = declared(description)

    def begin_anew(self) -> None:
        """Forget what was answered."""
        self.changed()

    def evaluate(self, combinations: Combinations) -> BulkAnswer:
        number, count = next(_questions), combinations.numbers.shape[1]
        answer = self.connection.evaluate(
            self,
            lambda host_id, instance: question(combinations, host_id, instance, number),
            lambda answer: said(answer, number, count, scores=self.scores, normalizer=self.normalizer),
        )
        answer_notes.note(self.name, self.args_json, combinations, answer)
        return answer

    def measures(self) -> Sequence[MeasurementSource]:
        return [_source(self, each) for each in self.description.measurements]

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """As of ``ReservePlugin``."""
        return self._act("reserve", pod, node_name)[0]

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """As of ``ReservePlugin``."""
        self._act("unreserve", pod, node_name)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """As of ``PermitPlugin``."""
        return self._act("permit", pod, node_name)

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """As of ``PreBindPlugin``."""
        return self._act("preBind", pod, node_name)[0]

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """As of ``PostBindPlugin``."""
        self._act("postBind", pod, node_name)

    def _act(self, point: str, pod: Pod, node_name: str) -> tuple[Status, float]:
        meta = pod.metadata
        request = pb.ActRequest(
            point=point,
            pod=pod_values([each.value(pod) for each in self.fields]),
            uid=meta.uid,
            namespace=meta.namespace,
            name=meta.name,
            node=node_name,
        )
        answer = self.connection.act(self, request)
        try:
            return status(answer.verdict), answer.wait.ToTimedelta().total_seconds()
        except WrongAnswerError as error:
            return Status.error(f"its host {self.connection.options.address} {error}"), 0.0


def rule_class(connection: HostConnection, description: pb.PluginDescription) -> type[HostedRule]:
    """Return the class of a plugin that a host describes.

    Raises:
        InvalidArgumentError: It is described in a way that can't be.
    """
    name = description.name
    faults = [
        FieldError(f"{name}.points", f"{point!r} is unknown; known are {', '.join(HOSTED_POINTS)}")
        for point in description.points
        if point not in HOSTED_POINTS
    ]
    if not description.points:
        faults.append(FieldError(f"{name}.points", "is missing"))
    if is_guest(connection.options.address):
        faults += [
            FieldError(f"{name}.{which}", f"{what} needs a process: serve the plugin from a host instead")
            for which, what in _beyond_guests(description)
        ]
    InvalidArgumentError.raise_if_any(faults)
    declared(description)
    normalizer = _NORMALIZERS.get(description.normalizer)
    points = set(description.points)
    body = {
        "name": name,
        "connection": connection,
        "description": description,
        "filters": "filter" in points,
        "scores": "score" in points,
        "normalizer": normalizer,
    }
    bases = [POINTS[point].base for point in HOSTED_POINTS if point in points]
    return type(f"Hosted{name}", (HostedRule, *bases), body)


def _beyond_guests(description: pb.PluginDescription) -> Iterator[tuple[str, str]]:
    """Yield what is declared and no guest can do, with the field that declares it."""
    yield from (("points", repr(point)) for point in description.points if point not in GUEST_POINTS)
    yield from (("measurements", repr(each.name)) for each in description.measurements)


def declared(description: pb.PluginDescription) -> tuple[Any, Any]:
    """Return the fields and the columns of a plugin.

    Raises:
        InvalidArgumentError: One can't be read, or there are too many.
    """
    faults: list[FieldError] = []

    def read(name: str, make: Any) -> tuple[Any, ...]:
        written = getattr(description, name)
        if len(written) > MAX_DECLARED:
            faults.append(FieldError(f"{description.name}.{name}", f"has more than {MAX_DECLARED} entries"))
            return ()
        found = []
        for at, each in enumerate(written):
            try:
                found.append(make(each))
            except DeclarationError as error:
                faults.append(FieldError(f"{description.name}.{name}[{at}]", str(error)))
        return tuple(found)

    fields, columns = read("pod_fields", pod_field), read("node_columns", node_column)
    InvalidArgumentError.raise_if_any(faults)
    try:
        declared_reads(fields, columns)
    except DeclarationError as error:
        raise InvalidArgumentError.at(description.name, str(error)) from None
    return fields, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMeasurement(MeasurementSource):
    """Values that a host measures.

    Attributes:
        host: Its address.
        plugin: The plugin.
        args_json: The plugin's arguments.
        rule: Asks the host.
    """

    host: str
    plugin: str
    args_json: str
    rule: HostedRule = field(compare=False, repr=False)

    def measure(self) -> Mapping[str, int]:
        rule = self.rule
        return rule.connection.measure(rule, self.name, self.timeout.total_seconds())


def _source(rule: HostedRule, described: pb.MeasurementDescription) -> HostMeasurement:
    times: dict[str, Any] = {
        name: getattr(described, name).ToTimedelta()
        for name in ("interval", "max_age", "window")
        if described.HasField(name)
    }
    return HostMeasurement(
        name=described.name,
        host=rule.connection.options.address,
        plugin=rule.name,
        args_json=rule.args_json,
        rule=rule,
        unmeasured_as_highest=described.unmeasured_as_highest,
        **times,
    )


def _nothing() -> None:
    pass
