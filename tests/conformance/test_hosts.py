"""The checks of hosts find each planted fault, by its name, and nothing in hosts that are right."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from mooring.config.types import PluginHostStanza
from mooring.conformance.checks import CheckOutcome, outcomes
from mooring.conformance.host import answers
from mooring.conformance.host.asked import AskedHost
from mooring.conformance.host.checks import CHECKS
from mooring.plugin_hosts.hosts import close_connections
from mooring_client.plugin_host.hosting import HostedPlugin, PluginHost, Values
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.v1.verdicts_pb2 import Verdict, VerdictCode
from tests.cli.commands import call
from tests.plugin_hosts.hosts import PATIENT, serving
from tests.plugin_hosts.rules import CountPerRackHosted, RackHosted, ScoreFreeHosted, UnderlayLikeHosted

Answered = Callable[[Any, grpc.ServicerContext], Any]
Spoil = Callable[[Any, grpc.ServicerContext, Answered], Any]
"""Answers a call; the right answer comes from its last argument."""

_calls = itertools.count()


class Measured(HostedPlugin):
    """Measures, and keeps places."""

    measurements = (pb.MeasurementDescription(name="load"),)

    def filter(self, pod: Values, node: Values) -> str | None:
        return None

    def measure(self, name: str) -> dict[str, int]:
        return {"n1": 5}

    def reserve(self, pod: pb.ActRequest) -> str | None:
        return None

    def unreserve(self, pod: pb.ActRequest) -> None:
        """There is nothing to give back."""


GOOD = (RackHosted, ScoreFreeHosted, CountPerRackHosted, UnderlayLikeHosted, Measured)


class Spoiled(PluginHost):
    """A host, one call of which is answered otherwise."""

    def __init__(self, name: str = "", spoil: Spoil | None = None) -> None:
        super().__init__(GOOD, "1")
        if spoil is not None:
            right = getattr(self, name)
            setattr(self, name, lambda request, context: spoil(request, context, right))


def having(**fields: Any) -> Spoil:
    """Return the right answer, with other fields; a function gets the right answer."""

    def spoil(request: Any, context: grpc.ServicerContext, right: Answered) -> Message:
        answer: Message = right(request, context)
        values = {name: each(answer) if callable(each) else each for name, each in fields.items()}
        for name in fields:
            answer.ClearField(name)
        answer.MergeFrom(type(answer)(**values))
        return answer

    return spoil


def in_place(change: Callable[[Any], object]) -> Spoil:
    """Return the right answer, changed."""

    def spoil(request: Any, context: grpc.ServicerContext, right: Answered) -> Message:
        answer: Message = right(request, context)
        change(answer)
        return answer

    return spoil


def for_any_start(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
    request.host_id = HOST_ID[0]
    return right(request, context)


def for_any_instance(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
    request.instance = 1 if request.instance in (0, 2_000_000_000) else request.instance
    return right(request, context)


def any_plugin(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
    request.plugin = "Rack" if request.plugin == "NoSuchPlugin" else request.plugin
    return right(request, context)


def gives_up(when: Callable[[Any], bool]) -> Spoil:
    """Fail as if the process were gone, if the request is such."""

    def spoil(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
        if when(request):
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        return right(request, context)

    return spoil


def crowded() -> Spoil:
    """Answer otherwise to those who come meanwhile."""
    busy = threading.Lock()

    def spoil(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
        answer = right(request, context)
        if not busy.acquire(blocking=False):
            answer.scores = bytes(len(answer.scores))
            return answer
        try:
            threading.Event().wait(0.02)
            return answer
        finally:
            busy.release()

    return spoil


def by_position(answer: pb.EvaluateResponse) -> None:
    answer.scores = bytes(at % 101 for at in range(len(answer.scores)))


def rejecting(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
    answer = right(request, context)
    return having(verdicts=b"\1" * request.combinations, rejections=LONG)(request, context, lambda *_: answer)


def second_instances(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
    """Score otherwise with an instance that is not the first of its plugin."""
    answer = right(request, context)
    if request.instance > len(GOOD) and answer.scores:
        answer.scores = bytes(50 for _ in answer.scores)
    return answer


def dies(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
    """Fail for good once a question can't be."""
    try:
        return right(request, context)
    except (ValueError, IndexError):
        context.abort(grpc.StatusCode.UNAVAILABLE, "gone")


def once_lost() -> Spoil:
    """Fail for good after an empty question, which the caller takes back."""
    lost: list[bool] = []

    def spoil(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
        if not request.host_id or lost:
            lost.append(True)
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        return right(request, context)

    return spoil


def second_reserve_fails() -> Spoil:
    kept: set[str] = set()

    def spoil(request: Any, context: grpc.ServicerContext, right: Answered) -> Any:
        answer = right(request, context)
        if request.point == "reserve" and request.uid in kept:
            answer.verdict.code = VerdictCode.VERDICT_CODE_UNSCHEDULABLE
        kept.add(request.uid) if request.point == "reserve" else kept.discard(request.uid)
        return answer

    return spoil


def points(answer: pb.DescribeResponse) -> list[pb.PluginDescription]:
    return [*answer.plugins, pb.PluginDescription(name="Binds", points=["bind"])]


WAITS = [Verdict(code=VerdictCode.VERDICT_CODE_WAIT)] * 3
LONG = [Verdict(code=VerdictCode.VERDICT_CODE_UNSCHEDULABLE, reasons=["x" * 501])] * 3
SILENT = [Verdict(code=VerdictCode.VERDICT_CODE_UNSCHEDULABLE)] * 3
FAILS = [Verdict(code=VerdictCode.VERDICT_CODE_ERROR, reasons=["no licence"])]
HOST_ID = ["the same"]

PLANTED: list[tuple[str, str, Spoil]] = [
    ("describe-host-id", "Describe", having(host_id="")),
    ("describe-repeats", "Describe", having(host_id=lambda _: f"start {next(_calls)}")),
    ("describe-repeats", "Describe", in_place(lambda answer: answer.plugins.pop(next(_calls) % 2))),
    ("describe-version", "Describe", having(host_version="")),
    ("describe-plugins", "Describe", having(plugins=[])),
    ("describe-plugins", "Describe", having(plugins=lambda answer: [*answer.plugins] * 2)),
    ("describe-declaration", "Describe", having(plugins=points)),
    ("configure-again", "Evaluate", second_instances),
    ("configure-unknown-plugin", "Configure", any_plugin),
    ("configure-arguments", "Configure", gives_up(lambda request: request.args_json == "[]")),
    ("other-start", "Evaluate", for_any_start),
    ("other-start", "Configure", for_any_start),
    ("unknown-instance", "Evaluate", for_any_instance),
    ("evaluate-answers", "Evaluate", having(rejections=FAILS)),
    ("evaluate-answers", "Evaluate", gives_up(lambda request: request.combinations > 1)),
    ("evaluate-question", "Evaluate", having(question=1)),
    ("evaluate-question", "Evaluate", having(host_id="another")),
    ("evaluate-verdicts", "Evaluate", having(verdicts=b"\1")),
    ("evaluate-verdicts", "Evaluate", having(rejections=[])),
    ("evaluate-codes", "Evaluate", having(rejections=WAITS)),
    ("evaluate-undeclared", "Evaluate", rejecting),
    ("evaluate-reasons", "Evaluate", having(rejections=LONG)),
    ("evaluate-reasons", "Evaluate", having(rejections=SILENT)),
    ("evaluate-scores", "Evaluate", having(scores=b"")),
    ("evaluate-scores", "Evaluate", having(scores=lambda answer: bytes(101 for _ in answer.scores))),
    ("evaluate-scores", "Evaluate", having(raw_scores=lambda answer: [1 << 50 for _ in answer.raw_scores])),
    ("evaluate-repeats", "Evaluate", having(scores=lambda it: bytes(next(_calls) % 101 for _ in it.scores))),
    ("evaluate-order", "Evaluate", in_place(by_position)),
    ("evaluate-parallel", "Evaluate", crowded()),
    ("evaluate-many", "Evaluate", gives_up(lambda request: request.combinations > 1000)),
    ("broken-questions", "Evaluate", dies),
    ("lost-callers", "Evaluate", once_lost()),
    ("measure-answers", "Measure", having(values={"n1": -1})),
    ("measure-other-start", "Measure", for_any_start),
    ("reserve-again", "Act", second_reserve_fails()),
    ("act-other-start", "Act", for_any_start),
]  # fmt: skip


@contextmanager
def asked(folder: Path, host: PluginHost) -> Iterator[AskedHost]:
    address = f"unix:{folder}/host.sock"
    host.host_id = HOST_ID[0]
    try:
        with serving(address, host):
            yield AskedHost(PluginHostStanza(address, evaluate_timeout=PATIENT), acts=True)
    finally:
        close_connections()


def wrong(played: Iterable[CheckOutcome]) -> dict[str, list[str]]:
    return {outcome.name: outcome.faults for outcome in played if outcome.faults}


def test_a_right_host_passes(tmp_path: Path) -> None:
    with asked(tmp_path, Spoiled()) as host:
        played = list(outcomes(CHECKS, host))
    assert wrong(played) == {}
    assert {outcome.result for outcome in played} == {"passed"}
    assert host.seconds.keys() == {each.described().name for each in GOOD}


@pytest.mark.parametrize(
    ("check", "method", "spoil"), PLANTED, ids=[f"{at}-{each[0]}" for at, each in enumerate(PLANTED)]
)
def test_each_planted_fault_is_found(
    check: str, method: str, spoil: Spoil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_TIMED_CALLS", 1)
    with asked(tmp_path, Spoiled(method, spoil)) as host:
        assert check in wrong(outcomes(CHECKS, host, check))


def test_each_check_has_a_planted_fault() -> None:
    assert {check for check, _, _ in PLANTED} == {check.name for check in CHECKS}


def test_what_depends_on_a_fault_is_skipped(tmp_path: Path) -> None:
    with asked(tmp_path, Spoiled("Describe", having(host_id=""))) as host:
        results = {outcome.name: outcome.result for outcome in outcomes(CHECKS, host)}
    assert results["describe-host-id"] == "failed"
    assert {result for name, result in results.items() if not name.startswith("describe")} == {"skipped"}


def test_nothing_is_reserved_unless_it_is_asked_for(tmp_path: Path) -> None:
    with asked(tmp_path, Spoiled("Act", gives_up(lambda _: True))) as host:
        host.acts = False
        results = {outcome.name: outcome.result for outcome in outcomes(CHECKS, host, "reserve")}
    assert results == {"reserve-again": "skipped"}


def test_the_command_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.xml"
    command = [
        "conformance",
        "host",
        f"unix:{tmp_path}/host.sock",
        "--evaluate-timeout",
        "20s",
        "--case",
        "describe",
    ]
    with asked(tmp_path, Spoiled("Describe", having(host_version=""))):
        shown = call(capsys, *command, "--junit", report)
        found = call(capsys, *command, "-o", "json")
    assert shown.code == found.code == 0
    assert "host_version is empty" in shown.out
    checks = {each["name"]: each["result"] for each in json.loads(found.out)["checks"]}
    assert checks["describe-version"] == "advised"
    assert 'tests="5"' in report.read_text()


def test_a_host_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = call(capsys, "conformance", "host", f"unix:{tmp_path}/none.sock")
    assert failed.code != 0
    assert "none.sock" in failed.err
    assert "start the host first" in failed.err
