"""Programs seen from outside: the accepted bindings, and the processor time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from tests.process import Process, wait_until

TICKS = os.sysconf("SC_CLK_TCK")
LONGEST_SECONDS = 600.0

Programs = Mapping[str, Sequence[Process]]
"""Running programs by role."""


class Bindings:
    """The accepted bindings that the audit log has got since this was made.

    Attributes:
        times: By pod name, when each was answered, in seconds; in the order of the log.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = log.stat().st_size if log.exists() else 0
        self.times: dict[str, float] = {}

    def count(self) -> int:
        """Read on; how many there are now."""
        if not self._log.exists():
            return 0
        with self._log.open("rb") as log:
            log.seek(self._read)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for event in map(json.loads, whole.splitlines()):
            accepted = event["responseStatus"]["code"] == 201
            if accepted and event["objectRef"].get("subresource") == "binding":
                self.times[event["objectRef"]["name"]] = datetime.fromisoformat(
                    event["stageTimestamp"]
                ).timestamp()
        return len(self.times)

    def wait(self, pods: int, pause: float = 0.01, programs: Programs = MappingProxyType({})) -> int:
        """Wait until there are ``pods``, reading every ``pause`` seconds, since reading costs time; return
        their number.

        Raises:
            RuntimeError: One of ``programs`` has ended before.
            TimeoutError: There are fewer after ten minutes.
        """

        def enough() -> bool:
            found = self.count() >= pods
            if not found:
                check_alive(programs)
            return found

        wait_until(enough, f"{pods} bindings", LONGEST_SECONDS, pause)
        return len(self.times)

    @property
    def last(self) -> float:
        """When the last was answered."""
        return max(self.times.values())


def check_alive(programs: Programs) -> None:
    """Raise RuntimeError with the end of its log if one of them has ended."""
    for processes in programs.values():
        for process in processes:
            process.check_alive()


def cpu_milliseconds(programs: Programs) -> dict[str, float]:
    """Return the processor time of each program's processes so far, in user and system mode."""
    return {
        name: 1e3 * sum(_cpu_ticks(process.pid) for process in processes) / TICKS
        for name, processes in programs.items()
    }


def _cpu_ticks(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    # The name in brackets may have blanks.
    fields = stat[stat.rindex(")") + 2 :].split()
    return int(fields[11]) + int(fields[12])
