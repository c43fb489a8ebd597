"""Row G1: hours of mixed load. Memory, threads and descriptors stay as they are.

``python -m tests.laboratories.soak.slopes --minutes 60`` plays one slice, adds it to a ledger, and prints the
slope over all of them. A slice measures its last two thirds: caches fill before.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import msgspec

from mooring.framework import CycleState, FilterPlugin, NodeView, Pod, Verdicts
from mooring_client.v1 import decision_service_pb2 as decisions
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1 import simulation_service_pb2 as simulation
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub
from tests.cli.commands import Started, serving_process
from tests.laboratories import long_runs
from tests.laboratories.soak.rounds import Round, Row

LEDGER = long_runs.LEDGERS / "soak" / "slopes.jsonl"
MB = 1e6
MOST_AN_HOUR = 1.0
"""MB by which the process may grow in an hour."""
MOST_IN_A_ROUND = 48.0
"""MB by which it may grow in a round of the soak, whose caches are still being filled."""
SPARE = 8
"""Threads and descriptors that come and go."""
PAUSE = 0.02
FAULT_SECONDS = 60.0


class Slice(msgspec.Struct, frozen=True):
    """The result of a measurement.

    Attributes:
        seconds: How long.
        slope: MB an hour by which memory grew.
        grown: MB by which it grew.
        threads: Threads that came on top.
        descriptors: Descriptors that came on top.
        calls: Calls that were answered.
    """

    seconds: float
    slope: float
    grown: float
    threads: int
    descriptors: int
    calls: int


class Leaking(FilterPlugin[None]):
    """Keeps 100 kB of each decision; for the row's own test."""

    name = "Leaking"
    kept: list[bytearray] = []  # noqa: RUF012 - kept for ever

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        self.kept.append(bytearray(b"x" * 100_000))
        return Verdicts.passed(len(nodes))


class Load:
    """Callers that ask, simulate and read.

    Attributes:
        calls: How many calls were answered.
    """

    def __init__(self, address: str) -> None:
        self.calls = 0
        self._address = address
        self._over = threading.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Call in the block."""
        threads = [threading.Thread(target=self._call, args=(at,)) for at in range(3)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _call(self, caller: int) -> None:
        with grpc.insecure_channel(self._address) as channel:
            scheduling, sessions = SchedulingServiceStub(channel), SimulationServiceStub(channel)
            journal, at = DecisionServiceStub(channel), 0
            while not self._over.wait(PAUSE):
                at += 1
                pod = {"metadata": {"name": f"p-{caller}-{at % 500}", "uid": f"u-{caller}-{at}"}}
                source = PodSource(object=KubernetesObject(json=json.dumps(pod).encode()))
                try:
                    scheduling.Schedule(
                        pb.ScheduleRequest(templates=[pb.PodTemplate(pod=source)]), timeout=60
                    )
                    if at % 10 == caller:
                        opened = sessions.OpenSession(simulation.OpenSessionRequest(), timeout=60).session.id
                        sessions.CloseSession(simulation.CloseSessionRequest(session=opened), timeout=60)
                        journal.ListDecisions(decisions.ListDecisionsRequest(limit=20), timeout=60)
                except grpc.RpcError as error:
                    if error.code() not in (
                        grpc.StatusCode.UNAVAILABLE,
                        grpc.StatusCode.RESOURCE_EXHAUSTED,
                    ):
                        raise
                self.calls += 1


def held(started: Started) -> tuple[float, int, int]:
    """Return the MB, threads and descriptors that a process has."""
    process = Path(f"/proc/{started.process.pid}")
    threads, descriptors = (len(list((process / name).iterdir())) for name in ("task", "fd"))
    return started.memory() / MB, threads, descriptors


def measured(seconds: float, *flags: str, twins: Mapping[str, str] | None = None) -> Slice:
    """Play for this time, and measure the last two thirds of it."""
    with tempfile.TemporaryDirectory() as name, serving_process(Path(name), *flags, twins=twins) as started:
        load = Load(started.address("grpc"))
        with load.at_work():
            time.sleep(seconds / 3)
            began = time.monotonic()
            samples = [(0.0, *held(started))]
            while (passed := time.monotonic() - began) < seconds * 2 / 3:
                if int(passed / FAULT_SECONDS) > int(samples[-1][0] / FAULT_SECONDS):
                    started.process.send_signal(signal.SIGSTOP)
                    time.sleep(1.0)
                    started.process.send_signal(signal.SIGCONT)
                time.sleep(min(5.0, seconds / 20))
                samples.append((passed, *held(started)))
        assert started.process.poll() is None, "the server has ended"
    at, memory, threads, descriptors = zip(*samples, strict=True)
    slope = statistics.linear_regression(at, memory).slope * 3600
    return Slice(
        round(at[-1], 1),
        round(slope, 3),
        round(memory[-1] - memory[0], 3),
        min(threads[-3:]) - threads[0],
        min(descriptors[-3:]) - descriptors[0],
        load.calls,
    )


def check(slice_: Slice, most_grown: float) -> None:
    """Check that nothing piles up."""
    assert slice_.grown <= most_grown, f"{slice_.grown} MB more in {slice_.seconds} s"
    assert slice_.threads <= SPARE, f"{slice_.threads} more threads"
    assert slice_.descriptors <= SPARE, f"{slice_.descriptors} more descriptors"


def load_soak(round_: Round) -> None:
    """A short slice: what leaks much is found, and the command of this module finds the rest."""
    slice_ = measured(float(round_.some(30, 60)))
    round_.inputs += slice_.calls
    check(slice_, MOST_IN_A_ROUND)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play a slice, and print the slope of all.

    Returns:
        0; 1 if the slope of all is too steep, or something piles up in this one.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.soak.slopes", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="of the slice (60)")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="JSON lines that are gone on from")
    args = parser.parse_args(arguments)
    long_runs.append(args.ledger, now := measured(args.minutes * 60))
    ever = long_runs.read(args.ledger, Slice)
    hours = sum(each.seconds for each in ever) / 3600
    slope = sum(each.slope * each.seconds for each in ever) / 3600 / hours
    print(
        f"now {now.slope} MB/h, {now.threads:+} threads, {now.descriptors:+} descriptors, {now.calls} calls"
    )
    print(f"ever {slope:.3f} MB/h in {hours:.2f} h; {MOST_AN_HOUR} MB/h may be")
    check(now, MOST_IN_A_ROUND)
    return int(slope > MOST_AN_HOUR)


ROWS = (Row("G1", "soak", load_soak),)


if __name__ == "__main__":
    raise SystemExit(main())
