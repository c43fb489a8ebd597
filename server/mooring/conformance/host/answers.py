"""Checks of a host's description and of its plugins' answers."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import grpc
import numpy as np

from mooring.conformance.host.asked import NUMBER, AskedHost, AskedPlugin, HostCallError, many_of, taking
from mooring.plugin_hosts.wire import MAX_REASON_CHARACTERS, MAX_REASONS
from mooring.runtime.pure.bulk_plugin import Combinations
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.v1.verdicts_pb2 import VerdictCode

MAX_PLUGINS: Final = 64

_AT_ONCE: Final = 16
_TIMED_CALLS: Final = 20
_NO_INSTANCE: Final = 2_000_000_000
_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_OTHER: Final = "another start"


def names_itself(host: AskedHost) -> Iterator[str]:
    """Give a host_id that differs from those of other starts."""
    if not host.described.host_id:
        yield "host_id is empty"


def describes_alike(host: AskedHost) -> Iterator[str]:
    """Describe the same host and plugins as long as the process lives."""
    if host.describe() != host.described:
        yield "a second Describe has another answer"


def has_version(host: AskedHost) -> Iterator[str]:
    """Give a host_version: people see it in logs and in recordings."""
    if not host.described.host_version:
        yield "host_version is empty"


def names_plugins(host: AskedHost) -> Iterator[str]:
    """Describe 1 to 64 plugins, each with a PascalCase name of its own."""
    names = [each.name for each in host.described.plugins]
    if not 1 <= len(names) <= MAX_PLUGINS:
        yield f"{len(names)} plugins are described"
    yield from (f"{name!r} is not PascalCase" for name in names if not _NAME.fullmatch(name))
    yield from (f"{name!r} is described {times} times" for name, times in Counter(names).items() if times > 1)


def declares(host: AskedHost) -> Iterator[str]:
    """Declare points and values that mooring knows, and take the arguments of the profile."""
    yield from (f"{each.name}: there is nothing to ask" for each in host.plugins if not each.questions)


def configures_again(host: AskedHost) -> Iterator[str]:
    """Make an instance for equal arguments again, which answers like the first."""
    for plugin in host.plugins:
        made = host.configure(plugin)
        if made.instance == 0 or made.faults:
            yield f"{plugin.name}: no second instance: {' '.join(each.message for each in made.faults)}"
            continue
        asked = plugin.questions[0]
        first, again = host.answer(plugin, asked), host.answer(plugin, asked, instance=made.instance)
        yield from _difference(plugin, first, again, "another instance with equal arguments answers")


def rejects_unknown_plugins(host: AskedHost) -> Iterator[str]:
    """Make no instance of a plugin that it does not have."""
    yield from _rejected(partial(host.configure, host.plugins[0], name="NoSuchPlugin"), "Configure", None)


def survives_arguments(host: AskedHost) -> Iterator[str]:
    """Answer others after arguments that are not what the plugin expects."""
    for plugin in host.plugins:
        for wrong in ("[]", "{", '{"noSuchArgument": 1}'):
            try:
                host.configure(plugin, args_json=wrong)
            except HostCallError as error:
                if error.code in _DEAD:
                    yield f"{plugin.name}: {error}"
        host.answer(plugin, plugin.questions[0])


def rejects_other_starts(host: AskedHost) -> Iterator[str]:
    """Answer a call for another start with FAILED_PRECONDITION."""
    plugin = host.plugins[0]
    yield from _rejected(partial(host.evaluate, plugin, plugin.questions[0], host_id=_OTHER), "Evaluate")
    yield from _rejected(partial(host.configure, plugin, host_id=_OTHER), "Configure")


def rejects_unknown_instances(host: AskedHost) -> Iterator[str]:
    """Answer a call for an instance that was never made with FAILED_PRECONDITION."""
    plugin = host.plugins[0]
    for number in (0, _NO_INSTANCE):
        call = partial(host.evaluate, plugin, plugin.questions[0], instance=number)
        yield from _rejected(call, f"Evaluate of instance {number}")


def answers(host: AskedHost) -> Iterator[str]:
    """Answer about any values that a cluster may have."""
    for plugin, asked in _questions(host):
        answer = host.evaluate(plugin, asked)
        for each in answer.rejections:
            if each.code == VerdictCode.VERDICT_CODE_ERROR:
                yield f"{plugin.name} says it fails: {' '.join(each.reasons)}"


def names_question(host: AskedHost) -> Iterator[str]:
    """Repeat the number of the question and the own host_id in the answer."""
    for plugin, asked in _questions(host):
        answer = host.evaluate(plugin, asked)
        if answer.question != NUMBER:
            yield f"{plugin.name}: question {NUMBER} is answered as {answer.question}"
        if answer.host_id != host.described.host_id:
            yield f"{plugin.name}: the answer has host_id {answer.host_id!r}"


def gives_verdicts(host: AskedHost) -> Iterator[str]:
    """Give a verdict for each combination, or none at all, and only verdicts that are in the answer."""
    for plugin, asked in _questions(host):
        answer, count = host.evaluate(plugin, asked), asked.numbers.shape[1]
        if answer.verdicts and len(answer.verdicts) != count:
            yield f"{plugin.name} gives {len(answer.verdicts)} verdicts about {count} combinations"
        if answer.verdicts and max(answer.verdicts) > len(answer.rejections):
            yield f"{plugin.name} names rejection {max(answer.verdicts)} of {len(answer.rejections)}"


def gives_rejections(host: AskedHost) -> Iterator[str]:
    """Reject with one of the two codes of rejections."""
    rejecting = (
        VerdictCode.VERDICT_CODE_UNSCHEDULABLE,
        VerdictCode.VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
        VerdictCode.VERDICT_CODE_ERROR,
    )
    for plugin, asked in _questions(host):
        for each in host.evaluate(plugin, asked).rejections:
            if each.code not in rejecting:
                yield f"{plugin.name} rejects with verdict code {each.code}"


def rejects_only_as_declared(host: AskedHost) -> Iterator[str]:
    """Reject only with the point filter: without it, no plugin of other languages is called."""
    for plugin, asked in _questions(host):
        if "filter" not in plugin.rule.description.points and any(host.evaluate(plugin, asked).verdicts):
            yield f"{plugin.name} rejects, and does not declare filter"


def gives_reasons(host: AskedHost) -> Iterator[str]:
    """Give each rejection a reason, and none that is cut off."""
    for plugin, asked in _questions(host):
        for each in host.evaluate(plugin, asked).rejections:
            if not any(each.reasons):
                yield f"{plugin.name} rejects without a reason"
            longest = max(map(len, each.reasons), default=0)
            if len(each.reasons) > MAX_REASONS or longest > MAX_REASON_CHARACTERS:
                yield f"{plugin.name}: reasons beyond {MAX_REASONS} of {MAX_REASON_CHARACTERS} are cut off"


def gives_scores(host: AskedHost) -> Iterator[str]:
    """Give a score for each combination, in the field for its normalizer and in its range."""
    for plugin, asked in _questions(host):
        if plugin.rule.scores:
            host.answer(plugin, asked)
    yield from ()


def repeats(host: AskedHost) -> Iterator[str]:
    """Answer the same question the same way, also after questions about other pods."""
    for plugin in host.plugins:
        first = [host.answer(plugin, asked) for asked in plugin.questions]
        for before, asked in zip(first, plugin.questions, strict=True):
            yield from _difference(plugin, before, host.answer(plugin, asked), "the question comes again")


def answers_in_any_order(host: AskedHost) -> Iterator[str]:
    """Answer about each combination the same in any order, and alone."""
    for plugin, asked in _questions(host):
        first, count = host.answer(plugin, asked), asked.numbers.shape[1]
        turned = host.answer(plugin, taking(asked, np.arange(count)[::-1]))[::-1]
        yield from _difference(plugin, first, turned, "the combinations come in reverse order")
        alone = [host.answer(plugin, taking(asked, np.array([at])))[0] for at in range(min(count, 4))]
        yield from _difference(plugin, first[: len(alone)], alone, "it comes alone")


def answers_in_parallel(host: AskedHost) -> Iterator[str]:
    """Answer calls at the same time as one alone."""
    for plugin in host.plugins:
        asked = plugin.questions[0]
        alone = host.answer(plugin, asked)
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            found = list(threads.map(partial(host.answer, plugin), [asked] * _AT_ONCE * 2))
        if others := sum(each != alone for each in found):
            yield f"{plugin.name}: {others} of {len(found)} calls at once have another answer than one alone"


def answers_about_many(host: AskedHost) -> Iterator[str]:
    """Answer about 5,000 combinations, each time within evaluateTimeout."""
    for plugin in host.plugins:
        asked = many_of(plugin.questions[0])
        for _ in range(_TIMED_CALLS):
            host.timed(plugin, asked)
    yield from ()


def survives_broken_questions(host: AskedHost) -> Iterator[str]:
    """Answer the next question after one that can't be."""
    plugin = host.plugins[0]
    asked = plugin.questions[0]
    odd = pb.Column(texts=[9, 9, 9], dictionary=["x"])
    for columns in ([], [odd for _ in plugin.rule.columns]):
        broken = pb.EvaluateRequest(
            host_id=host.described.host_id,
            instance=plugin.rule.instance,
            question=NUMBER,
            combinations=3,
            columns=columns,
        )
        try:
            host.stub.Evaluate(broken, timeout=host.stanza.evaluate_timeout.total_seconds())
        except grpc.RpcError as error:
            if error.code() in _DEAD:
                yield f"a question that can't be is answered {error.code().name}"
    host.answer(plugin, asked)


def survives_lost_callers(host: AskedHost) -> Iterator[str]:
    """Answer others when a caller gives up."""
    plugin = host.plugins[0]
    for milliseconds in range(_AT_ONCE):
        call = host.stub.Evaluate.future(pb.EvaluateRequest())
        # Some give up before the host has the question, and some after.
        time.sleep(milliseconds / 1000)
        call.cancel()
    host.answer(plugin, plugin.questions[0])
    yield from ()


def measures(host: AskedHost) -> Iterator[str]:
    """Measure whole numbers from 0, in time."""
    for plugin in host.plugins:
        for each in plugin.rule.description.measurements:
            low = [name for name, value in host.measure(plugin, each.name).items() if value < 0]
            yield from (f"{each.name} of {name!r} is below 0" for name in low)


def measures_for_this_start(host: AskedHost) -> Iterator[str]:
    """Answer Measure for another start with FAILED_PRECONDITION."""
    for plugin in host.plugins:
        for each in plugin.rule.description.measurements:
            yield from _rejected(partial(host.measure, plugin, each.name, host_id=_OTHER), "Measure")


def reserves_again(host: AskedHost) -> Iterator[str]:
    """Reserve for the same pod and node twice as once, and give back what was never kept."""
    for plugin in host.with_point("reserve"):
        host.act(plugin, "unreserve")
        try:
            first, second = host.act(plugin, "reserve"), host.act(plugin, "reserve")
            if first.verdict.code != second.verdict.code:
                yield f"{plugin.name}: verdict code {first.verdict.code}, then {second.verdict.code}"
        finally:
            host.act(plugin, "unreserve")
            host.act(plugin, "unreserve")


def acts_for_this_start(host: AskedHost) -> Iterator[str]:
    """Answer Act for another start with FAILED_PRECONDITION, and do nothing."""
    for plugin in host.with_point("reserve"):
        yield from _rejected(partial(host.act, plugin, "reserve", host_id=_OTHER), "Act")


_DEAD: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
"""Codes by which a host is not there, or hangs."""


def _questions(host: AskedHost) -> Iterator[tuple[AskedPlugin, Combinations]]:
    return ((plugin, asked) for plugin in host.plugins for asked in plugin.questions)


def _rejected(
    call: Callable[[], object], what: str, code: grpc.StatusCode | None = grpc.StatusCode.FAILED_PRECONDITION
) -> Iterator[str]:
    """Yield a fault unless a call fails, with ``code`` if there is one."""
    try:
        call()
    except HostCallError as error:
        if error.code in _DEAD if code is None else error.code is not code:
            yield str(error)
    else:
        yield f"{what} succeeds"


def _difference(
    plugin: AskedPlugin, first: Sequence[tuple[str, int]], other: Sequence[tuple[str, int]], when: str
) -> Iterator[str]:
    for before, after in zip(first, other, strict=True):
        if before != after:
            yield f"{plugin.name} says {before} at first, and {after} if {when}"
