"""Threads that request decisions at a rate, while others read the journal, or subscribe and never read.

``python -m tests.decision_journal.sustained SECONDS RATE THREADS`` says what became of the decisions.
"""

from __future__ import annotations

import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import grpc
from google.protobuf.duration_pb2 import Duration

from mooring.app.options import DecisionOptions
from mooring.testing import make_node, make_pod
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.service.backends import listening, sent, world
from tests.service.frames import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PREFACE,
    SETTINGS,
    frame,
    headers,
)

PODS = 100
"""Pods of a call."""

BUDGET = 2 << 20
"""Bytes of the journal: a few thousand decisions, so the oldest go all the time."""

LIST = "/mooring.v1.DecisionService/ListDecisions"


@dataclass
class Told:
    """A reader's numbers of decisions, in order, and the number that it missed."""

    seen: list[int] = field(default_factory=list)
    missed: int = 0


@dataclass
class Outcome:
    """Results of a run.

    Attributes:
        decided: Decisions that were answered.
        failed: Calls that were not.
        slowest: Seconds of the slowest call.
        seconds: How long the writers took.
        reader: The decisions of a reader that follows.
        late: The decisions of a reader that began at the end.
        last: The newest decision's number.
        dropped: Decisions that were counted as not written.
        most_bytes: The journal's largest size, by its own count.
        unread: Whether the client that never reads was still connected at the end.
    """

    decided: int = 0
    failed: list[str] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0
    reader: Told = field(default_factory=Told)
    late: Told = field(default_factory=Told)
    last: int = 0
    dropped: int = 0
    most_bytes: int = 0
    unread: bool = False


class NeverReads:
    """A client that follows the decisions on many streams of a connection and takes none of the answers."""

    def __init__(self, address: str, streams: int = 16) -> None:
        host, _, port = address.rpartition(":")
        self._connection = socket.create_connection((host, int(port)))
        none = struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)
        self._connection.sendall(PREFACE + frame(SETTINGS, 0, 0, none) + frame(SETTINGS, ACK, 0))
        request = pb.ListDecisionsRequest(after_seq=0, limit=1_000, wait=Duration(seconds=15))
        message = request.SerializeToString()
        body = b"\0" + struct.pack(">I", len(message)) + message
        for stream in range(1, 2 * streams, 2):
            self._connection.sendall(frame(HEADERS, END_HEADERS, stream, headers(LIST)))
            self._connection.sendall(frame(DATA, END_STREAM, stream, body))

    @property
    def is_connected(self) -> bool:
        """Whether the server has not ended the connection."""
        try:
            self._connection.sendall(frame(SETTINGS, 0, 0))
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._connection.close()


class Reader(threading.Thread):
    """Follows the decisions, and records them."""

    def __init__(self, decisions: DecisionServiceStub, told: Told) -> None:
        super().__init__()
        self._decisions = decisions
        self._told = told
        self._until: int | None = None

    def run(self) -> None:
        after = 0
        while self._until is None or after < self._until:
            request = pb.ListDecisionsRequest(after_seq=after, limit=1_000, wait=Duration(seconds=1))
            found = self._decisions.ListDecisions(request)
            self._told.seen += [decision.seq for decision in found.decisions]
            self._told.missed += found.missed_count
            after = found.next_after_seq

    def finish(self, last: int) -> None:
        """Read up to ``last``, and end."""
        self._until = last
        self.join()


def write(scheduling: SchedulingServiceStub, calls: int, pause: float, number: int, outcome: Outcome) -> None:
    """Have ``calls`` batches decided, one each ``pause`` seconds; of a thread."""
    template = scheduling_pb.PodTemplate(pod=sent(make_pod("p", requests={"cpu": "1m"})))
    due = time.monotonic()
    for call in range(calls):
        names = [f"p{number}-{call}-{at}" for at in range(PODS)]
        columns = scheduling_pb.PodColumns(template_indices=[0] * PODS, names=names, uids=names)
        request = scheduling_pb.ScheduleRequest(templates=[template], pods=columns)
        began = time.monotonic()
        try:
            scheduling.Schedule(request)
        except grpc.RpcError as error:
            outcome.failed.append(str(error))
        else:
            outcome.decided += PODS
        outcome.slowest = max(outcome.slowest, time.monotonic() - began)
        due += pause
        time.sleep(max(0.0, due - time.monotonic()))


def sustain(threads: int, calls: int, pause: float = 0.0) -> Outcome:
    """Make ``calls`` calls in every thread, and a last one that is larger than the journal."""
    outcome = Outcome()
    nodes = [make_node(f"n{at}", allocatable={"cpu": "64", "pods": "10000"}) for at in range(20)]
    with ExitStack() as stack:
        w = stack.enter_context(world(*nodes, remembering=DecisionOptions(journal=BUDGET)))
        address = stack.enter_context(listening(w.backend))
        scheduling, decisions = stack.enter_context(_stubs(address))
        assert w.backend.decisions is not None
        journal = w.backend.decisions.journal
        silent = NeverReads(address)
        stack.callback(silent.close)
        reader, late = Reader(decisions, outcome.reader), Reader(decisions, outcome.late)
        reader.start()
        mine = [(scheduling, calls, pause, number, outcome) for number in range(threads)]
        writers = [threading.Thread(target=write, args=args) for args in mine]
        began = time.monotonic()
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            outcome.most_bytes = max(outcome.most_bytes, journal.size)
            time.sleep(0.05)
        for writer in writers:
            writer.join()
        outcome.seconds = time.monotonic() - began
        late.start()
        for each in (reader, late):
            each.finish(journal.last)
        _overflow(scheduling, outcome)
        outcome.last, outcome.dropped, outcome.unread = journal.last, journal.dropped, silent.is_connected
    return outcome


def _overflow(scheduling: SchedulingServiceStub, outcome: Outcome) -> None:
    """Have a batch decided that the journal can't hold."""
    count = BUDGET // 400
    names = [f"large-{at}" for at in range(count)]
    columns = scheduling_pb.PodColumns(template_indices=[0] * count, names=names, uids=names)
    template = scheduling_pb.PodTemplate(pod=sent(make_pod("p", requests={"cpu": "1m"})))
    scheduling.Schedule(scheduling_pb.ScheduleRequest(templates=[template], pods=columns))
    outcome.decided += count


@contextmanager
def _stubs(address: str) -> Iterator[tuple[SchedulingServiceStub, DecisionServiceStub]]:
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(address, options) as one, grpc.insecure_channel(address, options) as other:
        yield SchedulingServiceStub(one), DecisionServiceStub(other)


def _main(seconds: float, rate: float, threads: int) -> None:
    pause = threads * PODS / rate
    calls = int(seconds / pause)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = sustain(threads, calls, pause)
    asked = threads * calls * PODS
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{asked} decisions in {found.seconds:.1f} s: {asked / found.seconds:,.0f}/s")
    print(f"calls that failed: {len(found.failed)}; the slowest took {found.slowest * 1e3:.0f} ms")
    for who, told in (("who follows", found.reader), ("who begins at the end", found.late)):
        print(f"{who} was told {len(told.seen)}, and that {told.missed} were missed")
    print(f"decided {found.decided} = {found.last} written + {found.dropped} dropped")
    print(f"journal: {found.most_bytes >> 10} of {BUDGET >> 10} KiB at most; process {grown >> 10} MiB more")
    print(f"who never reads is still there: {found.unread}")


if __name__ == "__main__":
    _main(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
