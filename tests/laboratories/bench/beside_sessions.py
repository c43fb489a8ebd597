"""The speed of live decisions while a hundred clients place pods in sessions all the time."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.synchronize import Event
from typing import TYPE_CHECKING, TypeVar

import grpc
import grpc.aio

from mooring_client.errors import failure_of
from mooring_client.v1.scheduling_service_pb2 import COMMIT_MODE_RESERVE
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_client.v1.simulation_service_pb2 import (
    CloseSessionRequest,
    MarkSessionRequest,
    OpenSessionRequest,
    RevertSessionRequest,
)
from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub
from tests.laboratories.bench.processes import processor_seconds, start_server
from tests.laboratories.bench.remote import IN_FLIGHT, schedule_request
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload
from tests.process import until

if TYPE_CHECKING:
    from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceAsyncStub
    from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceAsyncStub

Request = TypeVar("Request")
Answer = TypeVar("Answer")

SESSIONS = 100
TURNS = 4
"""Measurements of a repeat without sessions and with them, alternately."""

PAUSE_SECONDS = 0.1
"""Before a client that was rejected asks again."""

SETTLE_SECONDS = 1.0
"""From the first live call on until what sessions began before has ended."""

_OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


def workloads(size: Size) -> list[Workload]:
    """Unary calls with and without sessions."""
    return [
        Workload(
            f"sessions/Schedule/{size.nodes}Nodes/Beside{SESSIONS}Busy",
            partial(_prepare, size),
            {"% of calls/s": "- / 95", "% of calls per processor second": "- / 95"},
            note="of the same without sessions, alternately; processor time is the server's",
        )
    ]


def _prepare(size: Size, running: ExitStack) -> Repeat:
    addresses = start_server(running, size.nodes)
    context = multiprocessing.get_context("spawn")
    busy, end, at_work = context.Event(), context.Event(), context.Event()
    clients = context.Process(target=_be_clients, args=(addresses["grpc"], busy, end, at_work), daemon=True)
    clients.start()
    running.callback(clients.join)
    running.callback(busy.set)
    running.callback(end.set)
    channel = running.enter_context(grpc.insecure_channel(addresses["grpc"]))
    schedule, numbers = SchedulingServiceStub(channel).Schedule, itertools.count()

    def decide() -> None:
        schedule(schedule_request(1, next(numbers)))

    def measured() -> tuple[float, float]:
        """Calls a second and calls a processor second, read while the calls go on: the sessions have all of
        the server before and after.
        """
        with _calling(decide) as ended:
            time.sleep(SETTLE_SECONDS)
            began, calls, took = time.perf_counter(), ended(), processor_seconds(addresses["metrics"])
            time.sleep(size.seconds)
            seconds, calls = time.perf_counter() - began, ended() - calls
            took = processor_seconds(addresses["metrics"]) - took
        return calls / seconds, calls / took

    def repeat() -> Sample:
        alone, beside = [0.0, 0.0], [0.0, 0.0]
        for _ in range(TURNS):
            alone[:] = map(sum, zip(alone, measured(), strict=True))
            busy.set()
            beside[:] = map(sum, zip(beside, measured(), strict=True))
            if not at_work.is_set():
                raise RuntimeError("no client places pods in sessions")
            busy.clear()
            until(lambda: not at_work.is_set())
        return {
            "% of calls/s": 100 * beside[0] / alone[0],
            "% of calls per processor second": 100 * beside[1] / alone[1],
            "calls/s": beside[0] / TURNS,
        }

    measured()
    return repeat


@contextmanager
def _calling(decide: Callable[[], None]) -> Iterator[Callable[[], int]]:
    """Call all the time in the block; yield a function that returns the number of ended calls."""
    counts, end = [0] * IN_FLIGHT, threading.Event()

    def call(which: int) -> None:
        while not end.is_set():
            decide()
            counts[which] += 1

    with ThreadPoolExecutor(IN_FLIGHT) as threads:
        calls = [threads.submit(call, which) for which in range(IN_FLIGHT)]
        try:
            yield lambda: sum(counts)
        finally:
            end.set()
        for each in calls:
            each.result()


def _be_clients(address: str, busy: Event, end: Event, at_work: Event) -> None:
    """Place pods in a session each and take them back, while ``busy`` is set; ``at_work`` is set once some
    do.

    A thread for each would wake five times a second while its call waits, on the server's processors.
    """
    while busy.wait() and not end.is_set():
        at_work.set()
        asyncio.run(_place_together(address, busy))
        at_work.clear()


async def _place_together(address: str, busy: Event) -> None:
    await asyncio.gather(*(_be_client(number, address, busy) for number in range(SESSIONS)))


async def _be_client(number: int, address: str, busy: Event) -> None:
    async with grpc.aio.insecure_channel(address, options=_OWN_CONNECTION) as channel:
        await _place(number, SchedulingServiceStub(channel), SimulationServiceStub(channel), busy)


async def _place(
    number: int, scheduling: SchedulingServiceAsyncStub, simulation: SimulationServiceAsyncStub, busy: Event
) -> None:
    """Place a pod in a session and take it back, again and again."""
    opened = await _answered(simulation.OpenSession, OpenSessionRequest())
    session = opened.session.id
    request = schedule_request(1, number, prefix="session")
    request.session, request.commit_mode = session, COMMIT_MODE_RESERVE
    while busy.is_set():
        marked = await _answered(simulation.MarkSession, MarkSessionRequest(session=session))
        await _answered(scheduling.Schedule, request)
        revert = RevertSessionRequest(session=session, mark=marked.mark)
        await _answered(simulation.RevertSession, revert)
    await _answered(simulation.CloseSession, CloseSessionRequest(session=session))


async def _answered(call: Callable[[Request], Awaitable[Answer]], request: Request) -> Answer:
    """Call until the server has room: it works on fewer calls about sessions at once."""
    while True:
        try:
            return await call(request)
        except grpc.RpcError as error:
            if not failure_of(error, idempotent=True).repeatable:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
