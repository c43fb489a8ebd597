"""``python -m tests.plugin_hosts.cost HOST...``: processor time of a question about 5,000 combinations.

HOST is a program that serves the rules of ``rules.py`` at the address it gets, or ``wasm:PATH``. The time is
that of this process and of the host's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from mooring.runtime.pure.bulk_plugin import Combinations
from tests.plugin_hosts.hosts import Hosted, connected
from tests.process import until
from tests.runtime.pure.engines import Rules

COMBINATIONS, QUESTIONS, ROUNDS = 5_000, 100, 7


@contextmanager
def served(host: str) -> Iterator[tuple[Hosted, int]]:
    """Connect to a host; yield its process as well, 0 for a guest."""
    if host.startswith("wasm:"):
        with connected(host) as hosted:
            yield hosted, 0
        return
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "host.sock"
        process = subprocess.Popen([host, f"unix:{socket}"])
        try:
            until(socket.exists)
            with connected(f"unix:{socket}") as hosted:
                yield hosted, process.pid
        finally:
            process.terminate()
            process.wait()


def used(process: int) -> float:
    """Return the seconds of processor time of this process and of another one."""
    if not process:
        return process_time()
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the median and the range of the rounds for each host."""
    numbers = np.random.default_rng(1).integers(1, 1 << 40, (2, COMBINATIONS))
    asked = Combinations((), numbers, (None, None))
    for host in sys.argv[1:]:
        with served(host) as (hosted, process):
            rule: Any = Rules(hosted.rule("ScoreFree")).plugin.rule
            rule.evaluate(asked)
            times, waits = [], []
            for _ in range(ROUNDS):
                began, before = perf_counter(), used(process)
                for _ in range(QUESTIONS):
                    rule.evaluate(asked)
                times.append((used(process) - before) / QUESTIONS * 1e6)
                waits.append((perf_counter() - began) / QUESTIONS * 1e6)
        found = f"{median(times):,.0f} ({min(times):,.0f} - {max(times):,.0f}) us of processor time"
        print(f"{host}: {found}, {min(waits):,.0f} us at best")


if __name__ == "__main__":
    main()
