"""What recording costs: processor time of the deciding thread, and of the recorder for the same decisions.

``python -m tests.recordings.cost ROUNDS`` prints the medians of the rounds for each kind of call, in
microseconds a decision.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time

import mooring.recordings.recorder as recording
from mooring.app.recording import encode_decision
from mooring.recordings.limits import RecordingLimits
from mooring.recordings.recorder import Recorded, Recorder
from mooring.service.scheduling.servicer import SchedulingServicer
from mooring.testing import make_node
from mooring.v1 import recording_pb2
from mooring.v1 import scheduling_service_pb2 as pb
from tests.decision_journal.cost import Work, batches, one_by_one
from tests.recordings.recorded import REMEMBERED
from tests.service.backends import world

NODES = 1_000
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "250"}


def measure(rounds: int, folder: Path) -> None:
    """Print what each kind of call costs; the recorder works between the calls, without its rests."""
    recording.REST_TIMES = 0.0
    nodes = (make_node(f"n{at}", allocatable=ROOM) for at in range(NODES))
    with world(*nodes, remembering=REMEMBERED) as w:
        recorded = Recorded(
            w.state,
            1 << 18,
            w.backend.decisions,
            encode_decision,
            recording_pb2.RecordingHeader,
            lambda: True,
        )
        recorder = Recorder(folder, recorded, RecordingLimits())
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
                recorder._step(flush=True)
                times.append(((decided - began) / count, (thread_time() - decided) / count))
            decide, record = (1e6 * median(column) for column in zip(*times[1:], strict=True))
            print(f"{name:15} {decide:8.2f} us, recorded in {record:8.2f} us", flush=True)


if __name__ == "__main__":
    with TemporaryDirectory() as where:
        measure(int(sys.argv[1]), Path(where))
