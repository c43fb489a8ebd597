"""An extender, and its answers as kube-scheduler reads them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from mooring.config.types import ExtenderStanza
from mooring.conformance.checks import CallFailedError
from mooring.conformance.extender.sample import ExtenderSample, Json
from mooring.framework.errors import InvalidArgumentError
from mooring.http_client.answers import HttpAnswer
from mooring.http_client.origin import HttpConnection
from mooring.runtime.profiles.extender import FilterAnswer, MetaVictims
from mooring.scheduler.extender import wire
from mooring.scheduler.extender.transport import Transport, TransportError

_OK: Final = 200

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AskedExtender:
    """An extender under examination. Safe from any thread, but for ``seconds``.

    Attributes:
        sample: The pod and the nodes of the questions.
        idle: Seconds for which a connection rests before it is used again.
        seconds: The time of each call about all nodes, by verb.
    """

    stanza: ExtenderStanza
    transport: Transport
    sample: ExtenderSample
    idle: float = 6.0
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of nodes in a long call."""
        return len(self.sample.nodes)

    def serves(self, part: str) -> bool:
        """Return whether it has a verb, given as the stanza's field without ``_verb``; "" = one that asks."""
        return bool(getattr(self.stanza, f"{part}_verb") if part else self.question_verb)

    def check_reachable(self) -> None:
        """Connect once. Raises InvalidArgumentError if nothing listens there."""
        try:
            self.transport.connect(self.timeout).socket.close()
        except OSError as error:
            url = self.transport.url("")
            raise InvalidArgumentError.at(
                url, f"can't be reached: {error}; start the extender first"
            ) from None

    def question(self, names: Sequence[str] | None = None) -> Json:
        """Return the document of filter and prioritize; ``names`` are nodes of the sample, default a few."""
        asked = self.sample.few() if names is None else list(names)
        if self.stanza.node_cache_capable:
            return {"Pod": self.sample.pod, "Nodes": None, "NodeNames": asked}
        items = [self.sample.nodes[name] for name in asked]
        return {"Pod": self.sample.pod, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}

    def filter(self, question: Json | None = None) -> FilterAnswer:
        """Return the answer to filter. Raises CallFailedError if kube-scheduler would fail the pod's
        attempt.
        """
        body = self.answered(self.stanza.filter_verb, question or self.question())
        answer, error = _read(lambda: wire.read_filter(body, by_name=self.stanza.node_cache_capable))
        if error:
            raise CallFailedError(f"Error is {error!r}")
        return answer

    def scores(self, question: Json | None = None) -> list[tuple[str, int]]:
        """Return the answer to prioritize. Raises as ``filter``."""
        body = self.answered(self.stanza.prioritize_verb, question or self.question())
        return _read(lambda: wire.read_scores(body))

    def victims(self, question: Json) -> dict[str, MetaVictims]:
        """Return the answer to preempt. Raises as ``filter``."""
        body = self.answered(self.stanza.preempt_verb, question)
        return _read(lambda: wire.read_victims(body))

    def answered(self, verb: str, document: Any) -> bytes:
        """Return the body of an answer with code 200. Raises as ``filter``."""
        answer = self.post(verb, msgspec.json.encode(document))
        if answer.status != _OK:
            raise CallFailedError(
                f"{verb} is answered with code {answer.status}; kube-scheduler discards the body then"
            )
        return answer.body

    def post(self, verb: str, body: bytes) -> HttpAnswer:
        """Return any answer to a body. Raises CallFailedError if there is none within httpTimeout."""
        try:
            return self.transport.post(verb, body, self.timeout)
        except TransportError as error:
            raise CallFailedError(str(error)) from error

    def timed(self, verb: str, call: Callable[[], object]) -> None:
        """Make a call and note its time."""
        began = time.perf_counter()
        call()
        self.seconds.setdefault(verb, []).append(time.perf_counter() - began)

    def exchange(self, connection: HttpConnection, verb: str, document: Json) -> bool:
        """Ask over this connection, and return whether the extender keeps it open. Raises OSError if there
        was no answer.
        """
        connection.reader.begin_again()
        connection.socket.settimeout(self.timeout)
        connection.socket.sendall(self.transport.message(verb, msgspec.json.encode(document)))
        while not connection.reader.complete:
            connection.read()
        return connection.reader.keep_alive

    @property
    def timeout(self) -> float:
        """Return the seconds that kube-scheduler waits for an answer."""
        return self.stanza.http_timeout.total_seconds()

    @property
    def question_verb(self) -> str:
        """Return the verb of questions about transport: filter, or else prioritize."""
        return self.stanza.filter_verb or self.stanza.prioritize_verb


def fields_of(body: bytes) -> Json:
    """Return the fields of an answer, by their names in lower case; empty if it is not an object."""
    answer = msgspec.json.decode(body)
    return {name.lower(): value for name, value in answer.items()} if isinstance(answer, dict) else {}


def _read(read: Callable[[], T]) -> T:
    try:
        return read()
    except wire.AnswerError as error:
        raise CallFailedError(f"the answer can't be read as kube-scheduler reads it: {error}") from error
