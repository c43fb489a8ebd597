"""Checks of everything around the answers: connections, broken calls, calls at once, and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any, Final

import msgspec

from mooring.conformance.checks import CallFailedError
from mooring.conformance.extender.asked import AskedExtender, fields_of
from mooring.conformance.extender.sample import Json

_AT_ONCE: Final = 16
_TIMED_CALLS: Final = 20
_OK: Final = 200


def survives_broken_bodies(extender: AskedExtender) -> Iterator[str]:
    """Reject a body that is empty, cut off or not JSON, and answer the next one."""
    whole = msgspec.json.encode(extender.question())
    broken = {
        "an empty body": b"",
        "a body that is cut off": whole[: len(whole) // 2],
        "a body that is not JSON": b"\xff\x00 not JSON",
        "a list": b"[]",
    }
    for said, body in broken.items():
        try:
            answer = extender.post(extender.question_verb, body)
        except CallFailedError as fault:
            yield f"{said} has no answer: {fault}"
            continue
        if answer.status == _OK and _is_success(answer.body):
            yield f"{said} is answered as if there were nothing wrong: {answer.body[:60]!r}"
    extender.answered(extender.question_verb, extender.question())


def survives_lost_callers(extender: AskedExtender) -> Iterator[str]:
    """Answer others when a caller hangs up in the middle of its body or before the answer."""
    message = extender.transport.message(extender.question_verb, msgspec.json.encode(extender.question()))
    for sent in (message[: len(message) // 2], message):
        for _ in range(_AT_ONCE):
            with suppress(OSError), closing(extender.transport.connect(extender.timeout).socket) as lost:
                lost.sendall(sent)
    extender.answered(extender.question_verb, extender.question())
    yield from ()


def rejects_unknown_paths(extender: AskedExtender) -> Iterator[str]:
    """Reject an unknown path: a misspelt verb would pass for an answer."""
    verb = "mooring-conformance-no-such-verb"
    if extender.post(verb, msgspec.json.encode(extender.question())).status == _OK:
        yield f"/{verb} is answered with code 200"


def keeps_connections(extender: AskedExtender) -> Iterator[str]:
    """Keep connections: kube-scheduler reuses one for 90 s, and sends no call twice."""
    verb, question = extender.question_verb, extender.question([])
    connection = extender.transport.connect(extender.timeout)
    with closing(connection.socket):
        for rest in (0.0, extender.idle):
            if not extender.exchange(connection, verb, question):
                yield "the connection ends after an answer"
                return
            time.sleep(rest)
        try:
            extender.exchange(connection, verb, question)
        except OSError:
            closed = f"a connection that rests for {extender.idle:g} s is closed"
            yield f"{closed}; kube-scheduler's call over it fails then"


def answers_in_parallel(extender: AskedExtender) -> Iterator[str]:
    """Answer calls at the same time as one alone."""
    ask = _asking(extender, extender.question())
    alone = ask()
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        calls = [threads.submit(ask) for _ in range(_AT_ONCE * 2)]
    others = sum(call.result() != alone for call in calls)
    if others:
        yield f"{others} of {len(calls)} calls at once have another answer than one alone"


def answers_about_all(extender: AskedExtender) -> Iterator[str]:
    """Answer about all nodes, each time within httpTimeout."""
    stanza, question = extender.stanza, extender.question(list(extender.sample.nodes))
    calls: dict[str, Callable[[], Any]] = {}
    if stanza.filter_verb:
        calls[stanza.filter_verb] = lambda: extender.filter(question)
    if stanza.prioritize_verb:
        calls[stanza.prioritize_verb] = lambda: extender.scores(question)
    for verb, call in calls.items():
        try:
            for _ in range(_TIMED_CALLS):
                extender.timed(verb, call)
        except CallFailedError as fault:
            yield f"{verb} of {len(extender.sample.nodes):,} nodes: {fault}"


def _asking(extender: AskedExtender, question: Json) -> Callable[[], object]:
    if extender.stanza.filter_verb:
        return lambda: sorted(extender.filter(question).node_names)
    return lambda: sorted(extender.scores(question))


def _is_success(body: bytes) -> bool:
    """Return whether kube-scheduler would take it for an answer that keeps nodes, or for scores."""
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return not body
    if isinstance(answer, list):
        return bool(answer)
    fields = fields_of(body)
    return not fields.get("error") and bool(fields.get("nodenames") or fields.get("nodes"))
