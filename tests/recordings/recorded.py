"""Recordings of small clusters that change while decisions are made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from mooring.app.options import DecisionOptions
from mooring.recordings.limits import RecordingLimits
from mooring.recordings.recorder import Recorded, Recorder
from mooring.service.wire.decision_messages import write_decision
from mooring_client.recording.v1 import recording_pb2 as pb
from tests.decision_journal.churning import NODES, ask, change, node_of
from tests.service.backends import Direct, World, world

REMEMBERED = DecisionOptions(journal=64 << 20, undo=64 << 20)


@contextmanager
def recorder_of(
    w: World, directory: Path, limits: RecordingLimits | None = None, *, length: int = 1 << 16
) -> Iterator[Recorder]:
    """Record a world for the time of the block."""
    recorded = Recorded(
        state=w.state,
        journal_length=length,
        decisions=w.backend.decisions,
        write_decision=write_decision,
        header=lambda: pb.RecordingHeader(
            kube_version=w.backend.kube_version, scheduler=pb.RECORDED_SCHEDULER_MOORING
        ),
        ready=lambda: True,
    )
    recorder = Recorder(directory, recorded, limits or RecordingLimits())
    recorder.start()
    try:
        until(lambda: recorder.entries > 0)
        yield recorder
    finally:
        recorder.stop()


def record_churn(
    directory: Path,
    count: int,
    seed: int,
    limits: RecordingLimits | None = None,
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Record ``count`` decisions at least, made while the cluster changes."""
    dice = Random(seed)
    with (
        world(*(node_of(dice, at) for at in range(NODES)), remembering=REMEMBERED) as w,
        recorder_of(w, directory, limits),
    ):
        servicers = Direct(w.backend)
        assert w.backend.decisions is not None
        while w.backend.decisions.journal.last < count:
            change(dice, w)
            ask(dice, servicers, w.backend.decisions.journal.last, groups=False)
            pause()


def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    for _ in range(3_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come about")
