"""Rules that break the promise of ``Pure``. Each line that does is marked: "# impure"."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import random
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import choice
from typing import ClassVar

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    NodeInfo,
    Pod,
    Pure,
    ScorePlugin,
    Status,
)

SEEN: dict[str, int] = {}
TICKETS = itertools.count()
LOADS = {"n0": 1}
LOCK = threading.Lock()
RANDOM = random.Random(7)

NO = Status.unschedulable("node(s) were not liked")


class Poller(threading.Thread):
    def run(self) -> None:
        LOADS["n0"] += 1


def half_past() -> bool:
    return time.localtime().tm_min >= 30  # impure


class Scoring(ScorePlugin[None], Pure):
    pass


class Clock(Scoring):
    name = "Clock"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return int(time.time() * 1e6) % 100  # impure


class Date(Scoring):
    name = "Date"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return datetime.now().microsecond % 100  # impure  # noqa: DTZ005


class Today(FilterPlugin[None], Pure):
    name = "Today"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        weekend = dt.date.today().weekday() > 4  # impure  # noqa: DTZ011
        return NO if weekend or self.late else SUCCESS

    @property
    def late(self) -> bool:
        return half_past()


class Chance(Scoring):
    name = "Chance"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return choice(range(100))  # impure


class Dice(Scoring):
    name = "Dice"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        rolls = [RANDOM.random() for _ in range(2)]  # impure
        return int(100 * max(rolls))


class Ticket(Scoring):
    name = "Ticket"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return next(TICKETS) % 100  # impure


class Unique(Scoring):
    name = "Unique"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return uuid.uuid4().int % 100  # impure


class Counter(Scoring):
    name = "Counter"
    calls = 0

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        self.calls += 1  # impure
        return self.calls % 100  # impure


class ClassCounter(Scoring):
    name = "ClassCounter"
    calls: ClassVar[int] = 0

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        type(self).calls += 1  # impure
        return ClassCounter.calls % 100  # impure


class Memory(FilterPlugin[None], Pure):
    name = "Memory"

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self.seen: set[str] = set()

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        seen = self.seen  # impure
        if node.name in seen:  # impure
            return NO
        seen.add(node.name)  # impure
        return SUCCESS


class Global(Scoring):
    name = "Global"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        SEEN[node.name] = SEEN.get(node.name, 0) + 1  # impure
        return SEEN[node.name] % 100  # impure


class Polled(Scoring):
    name = "Polled"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        with LOCK:  # impure
            return LOADS.get(node.name, 0)  # impure


class Refreshed(FilterPlugin[None], Pure):
    name = "Refreshed"
    full: frozenset[str] = frozenset()

    def refresh(self, names: frozenset[str]) -> None:
        self.full = names

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if node.name in self.full else SUCCESS  # impure


def _closed() -> type[Scoring]:
    turns: list[str] = []
    total = 0

    def note(name: str) -> Callable[[], int]:
        turns.append(name)  # impure
        return lambda: len(turns)  # impure

    class Closure(Scoring):
        name = "Closure"

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            nonlocal total
            total += note(node.name)()  # impure
            return total % 100  # impure

    return Closure


Closure = _closed()


class File(FilterPlugin[None], Pure):
    name = "File"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        with open(os.devnull) as file:  # impure  # noqa: PTH123
            return NO if file.read() else SUCCESS


class PathFile(FilterPlugin[None], Pure):
    name = "PathFile"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if Path("/nowhere").exists() else SUCCESS  # impure


class Environment(FilterPlugin[None], Pure):
    name = "Environment"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return NO if os.environ.get("CLOSED") == node.name else SUCCESS  # impure


class Address(Scoring):
    name = "Address"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return id(node) // 16 % 100  # impure


class Hash(Scoring):
    name = "Hash"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return hash(node.name) % 100  # impure


class Network(Scoring):
    name = "Network"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:9/{node.name}") as answer:  # impure
            return int(answer.read())


class OwnHandle(FilterPlugin[None], Pure):
    name = "OwnHandle"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        nodes = self.handle.snapshot().nodes  # impure
        return NO if len(nodes.names) > 1000 else SUCCESS


class Box:
    """Holds something that changes."""

    def __init__(self) -> None:
        self.last = ""

    def swap(self, name: str) -> str:
        before, self.last = self.last, name  # impure
        return before


BOX = Box()


class Boxed(Scoring):
    name = "Boxed"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if BOX.swap(node.name) < node.name else 0
