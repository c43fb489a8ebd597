"""Decisions of a recording are the same by the same rules; by others the answer names the reason."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mooring.app.options import EngineOptions
from mooring.app.replay import _percent, replay_of
from mooring.framework.objects import Measurement, ObjectMeta
from mooring.replay.again import Compared, Ending
from mooring.testing import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from tests.cli.commands import call, environment
from tests.recordings.recorded import REMEMBERED, record_churn, recorder_of
from tests.service.backends import Direct, configuration, profile, sent, world

RECORDED = EngineOptions(kube_version="")
EARLIER = Path(__file__).parents[1] / "testdata" / "recordings"


@pytest.fixture(scope="module")
def churned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("churned")
    record_churn(directory, 500, seed=3)
    return directory


@pytest.mark.parametrize("seed", range(3))
def test_the_same_rules_decide_the_same(seed: int, tmp_path: Path) -> None:
    record_churn(tmp_path, 200, seed=seed)
    replay = replay_of(tmp_path, RECORDED, seed=None)
    steps = [step for step in replay.steps() if isinstance(step, Compared)]
    assert len(steps) > 150
    assert {step.ending for step in steps} == {Ending.SAME}
    assert [step.total for step in steps] == [step.message.total for step in steps]
    assert not replay.tally.skipped
    assert "recorded → replayed moves 0 %" in replay.tally.sentence()


def test_a_recording_of_an_earlier_build_is_read_and_decided_the_same() -> None:
    """Written by the last build in which the messages of its entries were those of mooring.v1."""
    replay = replay_of(EARLIER, RECORDED, seed=None)
    steps = [step for step in replay.steps() if isinstance(step, Compared)]
    assert len(steps) > 30
    assert {step.ending for step in steps} == {Ending.SAME}
    assert not replay.tally.skipped


def test_another_seed_moves_ties_alone(churned: Path) -> None:
    replay = replay_of(churned, RECORDED, seed=12_345)
    for _ in replay.steps():
        pass
    assert replay.tally.endings[Ending.TIE] > 0
    assert replay.tally.differing == 0


def test_measured_values_are_those_of_the_decision(tmp_path: Path) -> None:
    file, config = tmp_path / "bandwidth.json", tmp_path / "config.yaml"
    file.write_text('{"n0": 0, "n1": 9}')  # the values of today count for nothing
    args = [{"name": "NetworkTraffic", "args": {"bandwidthFile": str(file)}}]
    document = configuration(profile("NetworkTraffic", pluginConfig=args))
    config.write_text(json.dumps(document))
    directory, name = tmp_path / "recording", f"node bandwidth: {file}"
    with (
        world(make_node("n0"), make_node("n1"), document=document, remembering=REMEMBERED) as w,
        recorder_of(w, directory),
    ):
        for at in range(9):
            values = {"n0": 5, "n1": at * 2}
            if at < 6:
                w.state.assume_object(Measurement(ObjectMeta(name=name), values))
            elif at == 6:
                w.state.forget_object(Measurement, name)  # the values are too old
            template = scheduling_pb.PodTemplate(pod=sent(make_pod(f"p{at}")))
            request = scheduling_pb.ScheduleRequest(templates=[template])
            Direct(w.backend).scheduling.Schedule(request)
    replay = replay_of(directory, EngineOptions(config=str(config), kube_version=""), seed=None)
    steps = [step for step in replay.steps() if isinstance(step, Compared)]
    assert {step.ending for step in steps} == {Ending.SAME}
    assert [step.node for step in steps[:6]] == ["n1"] * 3 + ["n0"] * 3
    assert [step.total for step in steps] == [step.message.total for step in steps]
    assert {step.total for step in steps[6:]} == {100}  # all are equal without values


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    {point}:
      {change}
"""


@pytest.mark.parametrize(
    ("point", "change", "cause"),
    [
        pytest.param(
            "score",
            "{disabled: [{name: NodeResourcesFit}], enabled: [{name: NodeResourcesFit, weight: 90}]}",
            "NodeResourcesFit's score",
            id="a weight",
        ),
        pytest.param(
            "filter", "{disabled: [{name: TaintToleration}]}", "TaintToleration's verdict", id="a filter less"
        ),
    ],
)
def test_it_is_said_what_moved_decisions(
    point: str, change: str, cause: str, churned: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(point=point, change=change))
    replay = replay_of(churned, EngineOptions(config=str(file), kube_version=""), seed=None)
    moved = [s for s in replay.steps() if isinstance(s, Compared) and s.ending is Ending.MOVED]
    assert moved
    assert replay.tally.causes.most_common(1)[0][0] == cause
    assert cause in replay.tally.sentence()
    assert all(step.node != step.message.node and step.reason for step in moved)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("--kube-version", "1.34", "--seed", "7")])
def test_the_same_bytes_come_out(arguments: Sequence[str], churned: Path, tmp_path: Path) -> None:
    written = []
    for hash_seed, threads in (("0", "1"), ("1234", "4")):
        file = tmp_path / f"{hash_seed}.jsonl"
        changed = {"PYTHONHASHSEED": hash_seed, "NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-m", "mooring", "replay", str(churned), "--to", str(file), "-o", "json"]
        ended = subprocess.run(
            [*command, *arguments], env=environment(changed), capture_output=True, check=True
        )
        written.append((ended.stdout, file.read_bytes()))
    assert written[0] == written[1]
    lines = written[0][1].splitlines()
    assert json.loads(written[0][0])["compared"] == len(lines) > 300


def test_what_comes_before_the_damage_is_decided(
    churned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = churned.glob("*.zst")
    (tmp_path / file.name).write_bytes(file.read_bytes()[:-9])
    ended = call(capsys, "replay", tmp_path)
    assert ended.code == 1
    assert "is cut off" in ended.err
    assert "recorded → replayed" in ended.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["nowhere"], "nowhere: has no recording", id="no recording"),
        pytest.param([".", "--kube-version", "1.3"], "1.3", id="no release"),
    ],
)
def test_wrong_usage(arguments: Sequence[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "replay", *arguments)
    assert ended.code in (1, 2)
    assert told in ended.err


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 343, "0 %"),
        (1, 343, "0.29 %"),
        (170, 343, "50 %"),
        (341, 343, "99.4 %"),
        (99_999, 100_000, "99.9 %"),
        (343, 343, "100 %"),
    ],
)
def test_shares_are_written_as_people_do(part: int, whole: int, said: str) -> None:
    assert _percent(part, whole) == said
