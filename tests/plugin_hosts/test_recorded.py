"""Recordings have the answers of hosts in short, and a replay names the host whose answers are others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.app.replay import Tally, _other_versions
from mooring.cluster.state import State
from mooring.plugin_hosts.hosts import close_connections, connection_to
from mooring.plugin_hosts.noted import RECORDED, answer_notes
from mooring.recordings.decoding import Decided, read_recording
from mooring.replay.again import Again, Compared, Ending
from mooring.testing import make_pod
from mooring_client.plugin_host.hosting import HostedPlugin, Values
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.recording.v1 import recording_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1.verdicts_pb2 import Verdict, VerdictCode
from tests.plugin_hosts.hosts import Hosted, Spoil, SpoiledHost, connected, hosting, serving
from tests.recordings.recorded import REMEMBERED, recorder_of
from tests.runtime.pure.engines import RACKS, Rules, nodes
from tests.service.backends import Direct, sent, world

PODS = 6


class Rack(HostedPlugin):
    """Closes one rack, and prefers another one."""

    pod_fields = ("metadata.labels[app]",)
    node_columns = ("metadata.labels[rack]",)

    def filter(self, pod: Values, node: Values) -> str | None:
        return "rack is closed" if node["metadata.labels[rack]"] == "r1" else None

    def score(self, pod: Values, node: Values) -> int:
        return 100 if node["metadata.labels[rack]"] == "r2" else 0


def recorded(hosted: Hosted, directory: Path) -> None:
    """Record decisions by the host's plugin about pods of two kinds."""
    with world(*nodes(), plugins=[hosted.rule("Rack")], remembering=REMEMBERED) as w:
        stubs = Direct(w.backend)
        with recorder_of(w, directory):
            for at in range(PODS):
                pod = make_pod(f"p{at}", labels={"app": f"a{at % 2}"})
                template = scheduling.PodTemplate(pod=sent(pod))
                stubs.scheduling.Schedule(scheduling.ScheduleRequest(templates=[template]))


def again(hosted: Hosted, directory: Path) -> tuple[set[Ending], Tally]:
    """Make the decisions again."""
    with world(plugins=[hosted.rule("Rack")]) as w:
        made = Again(w.backend.engine, w.state)
        steps = [step for step in made.decisions(directory) if isinstance(step, Compared)]
    assert len(steps) == PODS
    tally = Tally("recorded", "replayed", answering=made.answering)
    for step in steps:
        tally.add(step)
    return {step.ending for step in steps}, tally


@pytest.fixture(autouse=True)
def _noted() -> Iterator[None]:
    answer_notes.set_most(RECORDED)
    yield
    answer_notes.set_most(0)


def scoring(scores: Callable[[bytes], bytes]) -> Spoil:
    """Return what changes the scores of an answer."""

    def spoil(answer: pb.EvaluateResponse) -> None:
        answer.scores = scores(answer.scores)

    return spoil


def reasoned(answer: pb.EvaluateResponse) -> None:
    del answer.rejections[:]
    code = VerdictCode.VERDICT_CODE_UNSCHEDULABLE
    answer.rejections.append(Verdict(code=code, reasons=["rack is shut"]))


SPOILT: dict[str, tuple[Spoil, int]] = {
    "scores that choose the same nodes": (scoring(lambda all_: bytes([each and 90 for each in all_])), 2),
    "other reasons": (reasoned, 2),
}
"""Each changes one answer about each of two kinds of pods."""


def test_the_same_host_answers_the_same(tmp_path: Path) -> None:
    with hosting(tmp_path, Rack) as hosted:
        recorded(hosted, tmp_path / "recording")
        endings, tally = again(hosted, tmp_path / "recording")
    happenings = read_recording(tmp_path / "recording", State().kind_of)
    noted = [len(each.message.host_answers) for each in happenings if isinstance(each, Decided)]
    assert noted == [RACKS, RACKS, *[0] * (PODS - 2)]
    assert (endings, tally.answering.total()) == ({Ending.SAME}, 0)


@pytest.mark.parametrize("what", SPOILT)
def test_a_host_that_answers_differently_is_named(what: str, tmp_path: Path) -> None:
    spoil, count = SPOILT[what]
    with hosting(tmp_path, Rack) as hosted:
        recorded(hosted, tmp_path / "recording")
        hosted.host.spoil = spoil
        endings, tally = again(hosted, tmp_path / "recording")
    assert endings <= {Ending.SAME, Ending.TIE}
    assert f"; Rack's host gives {count} other answers" in tally.sentence()


def test_nothing_is_noted_unless_it_is_recorded(tmp_path: Path) -> None:
    answer_notes.set_most(0)
    with hosting(tmp_path, Rack) as hosted:
        Rules(hosted.rule("Rack")).decide()
    assert not answer_notes.take()


def test_a_host_of_another_version_is_named(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/host.sock"
    before: Any = recording_pb2.RecordedPluginHost(address=address, host_version="7")
    try:
        with serving(address, SpoiledHost([Rack], "8")), connected(address) as hosted:
            connection_to(hosted.connection.options)
            header = recording_pb2.RecordingHeader(plugin_hosts=[before])
            assert _other_versions(header) == [f"host {address} had version '7' and has '8'"]
    finally:
        close_connections()
