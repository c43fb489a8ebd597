"""The first steps of `mooring serve` and `mooring scheduler` once the state is complete."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.app import warm_up as module
from mooring.app.warm_up import YOUNG_OBJECTS, warm_up
from mooring.cluster.sources.static import StaticSource
from mooring.cluster.state import State
from mooring.testing.builders import make_node
from tests.cli.commands import serving_process
from tests.process import until


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For how many nodes loops were compiled."""
    found: list[int] = []
    monkeypatch.setattr(module, "begin_compiling", found.append)
    return found


def test_it_waits_for_the_state(compiled: list[int]) -> None:
    state, done = State(), list[bool]()
    source = StaticSource(state, "test", lambda: [make_node("a"), make_node("b")])
    frozen = gc.get_freeze_count()
    warming = threading.Thread(target=lambda: done.append(warm_up(source, state, threading.Event())))
    warming.start()
    assert (warming.is_alive(), compiled) == (True, [])
    source.start()
    warming.join()
    assert (done, compiled) == ([True], [2])
    assert gc.get_freeze_count() > frozen
    assert gc.get_threshold()[0] == YOUNG_OBJECTS


def test_it_ends_when_it_is_time_to_stop(compiled: list[int]) -> None:
    state, stop = State(), threading.Event()
    stop.set()
    assert not warm_up(StaticSource(state, "test", list), state, stop)
    assert compiled == []


@pytest.mark.slow
def test_a_server_is_warmed_up_by_itself(tmp_path: Path) -> None:
    with serving_process(tmp_path) as server:
        until(lambda: "warmed up for 6 nodes" in server.log.read_text())
