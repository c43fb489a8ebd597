"""A recorded cluster at some time answers questions as one of manifests does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mooring_client import Client
from tests.cli.commands import call, serving_process
from tests.replay.test_lives import pod, small, write


@pytest.mark.parametrize(
    ("time", "nodes"),
    [
        pytest.param("", {"a", "b"}, id="at the end"),
        pytest.param("@2026-09-21T14:13:25Z", {"a"}, id="before the second node"),
        pytest.param("@2026-09-21T14:13:25", {"a"}, id="in UTC by default"),
    ],
)
def test_explain_at_a_time(
    time: str, nodes: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, (0, small("a")), (1, pod("p")), (10, small("b")))
    answer = call(capsys, "explain", "p", "--cluster", f"recording:{tmp_path}{time}", "-o", "json")
    assert answer.code == 0, answer.err
    assert set(json.loads(answer.out)["nodes"]) == nodes


def test_a_time_before_the_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, (0, small("a")), (1, pod("p")))
    answer = call(capsys, "explain", "p", "--cluster", f"recording:{tmp_path}@2026-09-01T00:00:00Z")
    assert answer.code == 1
    assert "begins at 2026-09-21T14:13:20Z; nothing is known of 2026-09-01T00:00:00Z" in answer.err


@pytest.mark.slow
def test_a_server_over_a_recording_has_sessions_of_it(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    recording.mkdir()
    write(recording, (0, small("a")), (1, pod("p")), (10, small("b")))
    flags = "--source", f"recording:{recording}@2026-09-21T14:13:25Z"
    with serving_process(tmp_path, *flags) as server:
        assert f"source=recording:{recording} synced=True nodes=1 pods=1 " in server.log.read_text()
        with Client(server.address("grpc")) as client, client.session() as session:
            (removal,) = session.plan_removal()
            assert removal.node == "a"


def test_a_time_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = call(capsys, "explain", "p", "--cluster", f"recording:{tmp_path}@noon")
    assert answer.code == 1
    assert "'noon' is not a time" in answer.err
