"""The cost of recording: processor time of the deciding thread, and of the recorder for the same decisions.

``python -m tests.recordings.cost ROUNDS`` prints the medians of the rounds for each kind of call, in
microseconds a decision. For calls over a connection the recorder's thread is read by its own clock, so that
what else the machine does is in neither.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import clock_gettime, process_time, pthread_getcpuclockid, thread_time

import mooring.recordings.recorder as recording
from mooring.recordings.limits import RecordingLimits
from mooring.recordings.recorder import Recorded, Recorder
from mooring.service.scheduling.servicer import SchedulingServicer
from mooring.service.wire.decision_messages import write_decision
from mooring.testing import make_node
from mooring_client.recording.v1 import recording_pb2
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.decision_journal.cost import CALLS_OVER_GRPC, Work, batches, one_by_one
from tests.process import until
from tests.recordings.recorded import REMEMBERED
from tests.service.backends import World, listening, world

NODES = 1_000
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "250"}


def measure_over_grpc(rounds: int, folder: Path) -> None:
    """Print what calls about one pod cost a server, and what its recorder takes meanwhile."""
    with recorded_world() as w, listening(w.backend) as address:
        recorder = _recorder(w, folder)
        recorder.start()
        until(lambda: recorder.entries > NODES)
        times: list[tuple[float, float]] = []
        for _ in range(rounds + 1):
            began, before, entries = process_time(), _thread_time(recorder), recorder.entries
            subprocess.run([sys.executable, "-m", "tests.decision_journal.cost", address], check=True)
            until(lambda: recorder.entries >= entries + CALLS_OVER_GRPC)  # noqa: B023 - called in this round
            took = _thread_time(recorder) - before
            times.append(((process_time() - began - took) / CALLS_OVER_GRPC, took / CALLS_OVER_GRPC))
        recorder.stop()
        _print("over gRPC", times[1:])


def _thread_time(recorder: Recorder) -> float:
    assert recorder._thread is not None
    return clock_gettime(pthread_getcpuclockid(recorder._thread.ident or 0))


def recorded_world() -> AbstractContextManager[World]:
    """Return nodes that take many pods, and decisions that are remembered."""
    nodes = (make_node(f"n{at}", allocatable=ROOM) for at in range(NODES))
    return world(*nodes, remembering=REMEMBERED)


def _recorder(w: World, folder: Path) -> Recorder:
    recorded = Recorded(
        w.state,
        1 << 18,
        w.backend.decisions,
        write_decision,
        recording_pb2.RecordingHeader,
        lambda: True,
    )
    return Recorder(folder, recorded, RecordingLimits())


def _print(name: str, times: list[tuple[float, float]]) -> None:
    decide, record = (1e6 * median(column) for column in zip(*times, strict=True))
    print(f"{name:15} {decide:8.2f} us, recorded in {record:8.2f} us", flush=True)


def measure(rounds: int, folder: Path) -> None:
    """Print what each kind of call costs; the recorder works between the calls, without its rests."""
    recording.REST_TIMES = 0.0
    with recorded_world() as w:
        recorder = _recorder(w, folder)
        kinds: dict[str, Work] = {
            "single": one_by_one,
            "dry-run batch": batches(pb.COMMIT_MODE_DRY_RUN, w),
            "reserved batch": batches(pb.COMMIT_MODE_RESERVE, w),
        }
        for name, work in kinds.items():
            times: list[tuple[float, float]] = []
            for _ in range(rounds + 1):
                began = thread_time()
                count = work(SchedulingServicer(w.backend))
                decided = thread_time()
                recorder._step()
                times.append(((decided - began) / count, (thread_time() - decided) / count))
            _print(name, times[1:])


if __name__ == "__main__":
    with TemporaryDirectory() as where:
        measure_over_grpc(int(sys.argv[1]), Path(where) / "served")
        measure(int(sys.argv[1]), Path(where))
