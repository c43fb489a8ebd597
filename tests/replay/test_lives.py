"""Pods of a recording live again, through the queue, on a clock that jumps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mooring.app.options import EngineOptions
from mooring.app.replay import lives_of
from mooring.cluster.journal import Entry, NodeEntry, ObjectEntry, PodEntry
from mooring.cluster.state import State
from mooring.framework import Node, Pod
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import DeviceClass, ObjectMeta
from mooring.framework.objects.devices import DeviceClassSpec
from mooring.framework.pod_table import UNPLACED, PodRecord
from mooring.recordings.encoding import EntryEncoder
from mooring.recordings.segments import FORMAT_VERSION, SegmentWriter, segment_path
from mooring.replay.at_once import AtOnce
from mooring.replay.lives import PlayedAttempt
from mooring.testing import make_node, make_pod
from mooring_client.recording.v1 import recording_pb2 as pb
from tests.cli.commands import environment
from tests.examples import seeds

SECOND = 1_000_000
HOSTNAME, GPU = "kubernetes.io/hostname", "example.com/gpu"
START = 1_790_000_000 * SECOND
RECORDED = EngineOptions(kube_version="")

Event = tuple[float, Node | Pod | DeviceClass | str]
"""Seconds from the start, and what comes then: a node, a pod, a device class; or which pod goes, by name."""


def write(directory: Path, *events: Event) -> Path:
    """Return a recording in which this happens."""
    state, rows, pods = State(), 0, {}
    known: DeviceClass | None = None
    encoder = EntryEncoder(lambda *_: None)
    writer = SegmentWriter(segment_path(directory, 1))
    header = pb.RecordingHeader(format_version=FORMAT_VERSION, kube_version="1.37")
    writer.add(pb.RecordingEntry(time_micros=START, header=header))
    writer.add(pb.RecordingEntry(time_micros=START, checkpoint_end=pb.CheckpointEnd()))
    for version, (after, what) in enumerate(events):
        entry: Entry
        if isinstance(what, Node):
            entry, rows = NodeEntry(rows, None, what), rows + 1
        elif isinstance(what, Pod):
            record = PodRecord.of(what, state.kind_of(what), UNPLACED)
            entry, pods[what.metadata.name] = PodEntry(record.uid, None, record), record
        elif isinstance(what, DeviceClass):
            entry, known = ObjectEntry(DeviceClass, ("", what.metadata.name), known, what), what
        else:
            entry = PodEntry(pods[what].uid, pods[what], None)
        for message in encoder.change(entry, START + int(after * SECOND), version):
            writer.add(message)
    writer.close()
    return directory


def live(directory: Path, options: EngineOptions = RECORDED) -> list[PlayedAttempt]:
    lives = lives_of(directory, options, seed=0)
    return list(lives.attempts(directory))


def small(name: str, cpu: str = "2") -> Node:
    return make_node(name, allocatable={"cpu": cpu, "memory": "4Gi", "pods": "10", GPU: "4"})


def closed(name: str) -> Node:
    """Return a node that is large enough, and takes no pods."""
    return make_node(
        name, allocatable={"cpu": "4", "memory": "4Gi", "pods": "10"}, spec={"unschedulable": True}
    )


def pod(name: str, cpu: str = "1", priority: int = 0) -> Pod:
    return make_pod(name, requests={"cpu": cpu}, spec={"priority": priority})


def told(attempts: Sequence[PlayedAttempt]) -> list[tuple[str, int, str]]:
    return [(each.pod.partition("/")[2], each.number, each.node) for each in attempts]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([(0, small("n")), (1, pod("a"))], [("a", 1, "n")], id="room at once"),
        pytest.param(
            [(0, small("n")), (1, pod("a", "2")), (2, pod("b")), (60, "a")],
            [("a", 1, "n"), ("b", 1, ""), ("b", 2, "n")],
            id="room when another one goes",
        ),
        pytest.param(
            [(0, small("tiny", "100m")), (1, pod("a")), (30, small("n"))],
            [("a", 1, ""), ("a", 2, "n")],
            id="room when a node comes",
        ),
        pytest.param(
            [(0, small("n")), (1, pod("low", "2")), (2, pod("high", "2", 10))],
            [("low", 1, "n"), ("high", 1, ""), ("high", 2, "n")],
            id="room by preemption",
        ),
        pytest.param(
            [(0, small("tiny", "100m")), (1, pod("a")), (5, "a"), (9, small("n"))],
            [("a", 1, "")],
            id="gone before there is room",
        ),
    ],
)
def test_pods_get_their_nodes(
    events: Sequence[Event], expected: list[tuple[str, int, str]], tmp_path: Path
) -> None:
    assert told(live(write(tmp_path, *events))) == expected


def test_backoff_passes_on_the_clock_of_the_recording(tmp_path: Path) -> None:
    events: list[Event] = [(0, small("n")), (1, pod("big", "3"))]
    events += [(2 + 20 * at, closed(f"n{at}")) for at in range(5)]
    times = [attempt.time - START / SECOND for attempt in live(write(tmp_path, *events))]
    assert len(times) == 6
    assert times[0] == pytest.approx(1)
    # Each node that comes is a reason to try again, at once when the backoff is over.
    assert all(2 + 20 * at <= time <= 2 + 20 * at + 10 for at, time in enumerate(times[1:]))


def test_groups_are_rejected_by_name(tmp_path: Path) -> None:
    options = EngineOptions(kube_version="1.37", feature_gates={"GenericWorkload": True})
    with pytest.raises(InvalidArgumentError, match="GenericWorkload"):
        live(write(tmp_path, (0, small("n"))), options)


def changes(seed: int) -> list[Event]:
    """Return pods of some shapes that come and go, more than there is room for at times, and nodes that come.

    For a while devices may back resources that some of them request.
    """
    dice, living = Random(seed), list[str]()
    events: list[Event] = [(0, small(f"n{at}", "4")) for at in range(4)]
    for at in range(90):
        time = 1 + at * dice.choice((0.1, 0.5))
        shape = dice.choice(({}, spread(), {"priority": 5}, apart()))
        requests = {"cpu": "500m", **dice.choice(({}, {GPU: "1"}))}
        events.append((time, make_pod(f"p{at}", labels={"app": "a"}, requests=requests, spec=shape)))
        living.append(f"p{at}")
        while dice.random() < 0.45 and living:
            events.append((time + 60, living.pop(dice.randrange(len(living)))))
        if dice.random() < 0.03:
            events.append((time, small(f"more-{at}", "4")))
    events += [(10, device_class(GPU)), (20, device_class(None))]
    return sorted(events, key=itemgetter(0))


def device_class(stands_for: str | None) -> DeviceClass:
    spec = DeviceClassSpec(extended_resource_name=stands_for)
    return DeviceClass(metadata=ObjectMeta(name="class", uid="class"), spec=spec)


def spread() -> dict[str, Any]:
    selector = {"matchLabels": {"app": "a"}}
    constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": selector}]}


def apart() -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "b"}}, "topologyKey": HOSTNAME}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.mark.parametrize("seed", seeds(3))
def test_pods_placed_at_once_go_where_the_long_way_leads(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = write(tmp_path, *changes(seed))
    found = live(directory)
    monkeypatch.setattr(AtOnce, "node_of", lambda *_: "")
    assert found == live(directory)
    assert any(not attempt.node for attempt in found)


@pytest.mark.slow
def test_the_same_bytes_come_out(tmp_path: Path) -> None:
    events: list[Event] = [(0, small(f"n{at}", "8")) for at in range(6)]
    for at in range(120):
        events.append((1 + at / 7, pod(f"p{at}", str(1 + at % 3), at % 2)))
        if at % 4 == 3:
            events.append((1 + at / 7, f"p{at - 2}"))
    directory = write(tmp_path, *events)
    written = []
    for hash_seed, threads in (("0", "1"), ("77", "4")):
        file = tmp_path / f"{hash_seed}.jsonl"
        changed = {"PYTHONHASHSEED": hash_seed, "NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-m", "mooring", "replay", str(directory), "--lives", "--to", str(file)]
        ended = subprocess.run(command, env=environment(changed), capture_output=True, check=True)
        written.append((ended.stdout, file.read_bytes()))
    assert written[0] == written[1]
    assert written[0][0].startswith(b"120 pods came")
