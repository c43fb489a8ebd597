"""Everything that goes wrong between a source and its API server, at random from a seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.cluster.following import QUICK, Following, node, pod
from tests.fake_api_server import Answer, Cut, Delay, FakeApiServer, Hang, event_line

TIMERS = replace(
    QUICK,
    list_timeout=1,
    watch_shortest=1,
    watch_longest=2,
    watch_margin=0.5,
    probe=0.05,
    probe_timeout=0.5,
    compare=0.5,
)
"""Everything happens often, and nothing hangs for long."""

PATHS = ("/nodes$", "/pods$", "/services$")
GARBAGE = (b"", b"{", b"\xff", b"null", b"<html>", b'{"type":"MODIFIED","object":{}}')


class Chaos:
    """Changes a cluster and breaks its API server.

    Args:
        live: Who has to live with it.
        seed: The same seed makes the same choices.

    Attributes:
        changes: Objects that were made, changed or removed.
        faults: Things that were broken.
    """

    def __init__(self, live: Following, seed: int) -> None:
        self.changes = 0
        self.faults = 0
        self._live = live
        self._fake: FakeApiServer = live.fake
        self._dice = random.Random(seed)

    def run(self, steps: int) -> None:
        """Make ``steps`` steps, then heal everything."""
        for _ in range(steps):
            if self._dice.random() < 0.2:
                self.faults += 1
                self._dice.choice(self._breaks())()
            else:
                self.changes += 1
                self._change()
            time.sleep(self._dice.random() * 0.02)
        self._fake.faults.clear()

    def _change(self) -> None:
        dice, name = self._dice, f"x{self._dice.randrange(12)}"
        match dice.randrange(6):
            case 0:
                self._fake.add(node(name, labels={"round": str(self.changes)}))
            case 1:
                self._fake.remove("Node", name)
            case 2 | 3:
                phase = dice.choice(("Pending", "Running", "Running", "Succeeded"))
                self._fake.add(pod(name, node=dice.choice(("", "x1", "x2")), status={"phase": phase}))
            case 4:
                self._fake.remove("Pod", name)
            case _:
                self._fake.add({"kind": "Service", "metadata": {"name": name}})

    def _breaks(self) -> list[Callable[[], None]]:
        faults, path = self._fake.faults, self._dice.choice(PATHS)
        count = self._dice.randrange(1, 4)
        answer = Answer(self._dice.choice((410, 429, 500, 503, 504, 403)), retry_after=0)
        cut = Cut(after=True, at_byte=self._dice.randrange(1, 600))
        return [
            self._fake.cut,
            self._fake.store.compact,
            self._restart,
            faults.clear,
            lambda: faults.on("GET", path, answer, times=count),
            lambda: faults.on("WATCH", path, answer, times=count),
            lambda: faults.on("GET", path, cut, times=count),
            lambda: faults.on("GET", path, Hang(), times=1),
            lambda: faults.on("", path, Delay(0.1), times=count),
            lambda: setattr(faults, "edit", self._edited),
            lambda: setattr(faults, "silent", True),
        ]

    def _restart(self) -> None:
        self._fake.stop()
        time.sleep(self._dice.random() * 0.1)
        self._fake.start()

    def _edited(self, type_: str, item: dict[str, Any]) -> list[bytes]:
        """Loses, doubles, garbles or merges the event, or lets it be."""
        line = event_line(type_, item)
        return self._dice.choice(
            (
                [line],
                [],
                [line, line],
                [self._dice.choice(GARBAGE)],
                [line[: len(line) // 2]],
                [event_line("MODIFIED", item)] if type_ == "ADDED" else [],
            )
        )
