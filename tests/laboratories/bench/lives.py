"""Pods of a recording that live again: they come, get a node and go, 50,000 of them at once."""

from __future__ import annotations

import itertools
import random
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from mooring.app.options import EngineOptions
from mooring.app.replay import lives_of
from mooring.cluster.decoding import from_manifest
from mooring.cluster.journal import Entry, PodEntry
from mooring.cluster.state import State
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_table import UNPLACED, PodRecord
from mooring.recordings.encoding import EntryEncoder
from mooring.recordings.segments import FORMAT_VERSION, SegmentWriter, segment_path
from mooring_client.recording.v1 import recording_pb2 as pb
from tests.laboratories.bench.cluster import node, node_name
from tests.laboratories.bench.variety import DEPLOYMENTS, deployed
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload

METRIC = "lives/s"

START = 1_790_000_000_000_000
"""When the recording begins, in microseconds since 1970."""

PAUSE = 10_000
"""Microseconds between two pods that come."""


def workloads(size: Size) -> list[Workload]:
    """Return the workloads of ``mooring replay --lives``, by processor time."""
    return [
        Workload(
            f"replay/Lives/{size.nodes}Nodes/{DEPLOYMENTS}Templates",
            partial(_prepare, size.nodes, 2 * size.running),
            {METRIC: "5.6k / 17k"},
            note="processor time; half go while others come; a tenth spread, a tenth anti-affinity",
        )
    ]


def _prepare(nodes: int, lives: int, running: ExitStack) -> Repeat:
    folder = Path(running.enter_context(TemporaryDirectory())) / "recording"
    write_lives(folder, nodes, lives, lives // 2)
    return lambda: _repeat(folder)


def _repeat(folder: Path) -> Sample:
    played = lives_of(folder, EngineOptions(kube_version=""), seed=0)
    began = time.thread_time()
    for _ in played.attempts(folder):
        pass
    return {METRIC: played.bound / (time.thread_time() - began)}


def write_lives(directory: Path, nodes: int, lives: int, at_once: int) -> Path:
    """Write a recording of ``lives`` pods of 50 Deployments; ``at_once`` of them live at the same time."""
    encoder = EntryEncoder(lambda *_: None)
    directory.mkdir(parents=True)
    writer = SegmentWriter(segment_path(directory, 1))
    header = pb.RecordingHeader(format_version=FORMAT_VERSION, kube_version="1.37")
    writer.add(pb.RecordingEntry(time_micros=START, header=header))
    for row in range(nodes):
        item = from_manifest(node(row))
        assert isinstance(item, Node)
        writer.add(encoder.node(item, row, START, 0))
    writer.add(pb.RecordingEntry(time_micros=START, checkpoint_end=pb.CheckpointEnd()))
    for version, (at, entry) in enumerate(_entries(nodes, lives, at_once)):
        for message in encoder.change(entry, at, version):
            writer.add(message)
    writer.close()
    return directory


def _entries(nodes: int, lives: int, at_once: int) -> Iterator[tuple[int, Entry]]:
    """Yield the events and their times: each pod waits, is assumed, bound and started, and goes in
    the end.
    """
    living: deque[PodRecord] = deque()
    dice = random.Random(lives)
    weights = list(itertools.accumulate(1 / (which + 1) for which in range(DEPLOYMENTS)))
    state = State()
    kinds = []
    for which in range(DEPLOYMENTS):
        made = from_manifest(deployed(0, nodes, which=which))
        assert isinstance(made, Pod)
        status = replace(made.status, phase="Pending")
        waiting = replace(made, status=status)
        running = replace(made, status=replace(status, phase="Running"))
        kinds.append((state.kind_of(waiting), state.kind_of(running)))
    for number in range(lives):
        time = START + (number + 1) * PAUSE
        waits, runs = dice.choices(kinds, cum_weights=weights)[0]
        uid, row = f"{number:08x}-3f0c-4e0e-9a55-6f1d2b7c8e90", number % nodes
        pending = PodRecord(
            waits, UNPLACED, False, f"pod-{number}", uid, "", str(number), "2026-09-21T14:13:20Z", None
        )
        name = node_name(row)
        assumed = replace(pending, row=row, node_name=name, assumed=True)
        bound = replace(assumed, assumed=False, resource_version=f"{number}1")
        started = replace(bound, kind=runs, resource_version=f"{number}2", start_time="2026-09-21T14:13:21Z")
        steps = [None, pending, assumed, bound, started]
        for at, (old, new) in enumerate(itertools.pairwise(steps)):
            yield time + at * PAUSE // 8, PodEntry(uid, old, new)
        living.append(started)
        if len(living) > at_once:
            gone = living.popleft()
            yield time + PAUSE // 2, PodEntry(gone.uid, gone, None)
