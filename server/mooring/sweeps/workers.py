"""The workers of a sweep's runs: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import logging
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

from mooring.config import ConfigError
from mooring.framework.errors import MooringError, not_installed
from mooring.runtime.profiles.registry import RegistryError
from mooring.sweeps.plan import Figures, Run, SweepPlan, place

TRIES = 3
"""How often a run is begun whose worker dies."""

Ended = tuple[Run, Figures | str]
"""A run with its figures, or with why there are none."""


class Workers(Protocol):
    """Work on runs, many at a time."""

    def work(self, sweep: SweepPlan, runs: Sequence[Run]) -> Iterator[Ended]:
        """Yield each run once it has ended, in any order. A worker that dies costs only its own run."""
        ...


class LocalWorkers:
    """Implements ``Workers`` with processes of this machine; each works on one run at a time. ``count`` is 1
    or more.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._own = threading.local()

    def work(self, sweep: SweepPlan, runs: Sequence[Run]) -> Iterator[Ended]:
        pools: list[ProcessPoolExecutor] = []
        with ThreadPoolExecutor(self._count) as threads:
            ends = [threads.submit(self._placed, sweep, run, pools) for run in runs]
            try:
                yield from (end.result() for end in as_completed(ends))
            finally:
                for end in ends:
                    end.cancel()
                for pool in pools:
                    pool.shutdown(wait=False, cancel_futures=True)

    def _placed(self, sweep: SweepPlan, run: Run, pools: list[ProcessPoolExecutor]) -> Ended:
        """Have this thread's own process place a run; a new one, if it dies."""
        for _ in range(TRIES):
            pool: ProcessPoolExecutor | None = getattr(self._own, "pool", None)
            if pool is None:
                pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
                self._own.pool = pool
                pools.append(pool)
            try:
                return run, pool.submit(placed_or_why, sweep, run).result()
            except BrokenProcessPool:
                self._own.pool = None
        return run, f"its worker died {TRIES} times"


class RayWorkers:
    """Implements ``Workers`` with a Ray cluster, whose machines have mooring and the files of the sweep.

    Args:
        address: As ``ray.init`` takes it: ``ray://HOST:PORT``, or ``auto``.

    Raises:
        FailedPreconditionError: Ray is not installed.
    """

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError as error:
            raise not_installed("ray", "ray") from error
        self._ray = ray
        self._address = address

    def work(self, sweep: SweepPlan, runs: Sequence[Run]) -> Iterator[Ended]:
        ray = self._ray
        with ray.init(self._address, log_to_driver=False, logging_level=logging.CRITICAL):
            remote = ray.remote(num_cpus=1, max_retries=TRIES - 1)(placed_or_why)
            shared = ray.put(sweep)
            waiting = {remote.remote(shared, run): run for run in runs}
            while waiting:
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                run = waiting.pop(done)
                try:
                    yield run, ray.get(done)
                except ray.exceptions.RayError as error:
                    yield run, f"its worker died {TRIES} times: {type(error).__name__}"


def placed_or_why(sweep: SweepPlan, run: Run) -> Figures | str:
    """Return the figures of a run, or why there are none."""
    try:
        return place(sweep, run)
    except (MooringError, ConfigError, RegistryError, OSError) as error:
        return str(error)
