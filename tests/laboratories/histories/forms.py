"""The forms of histories that are played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from tests.compiled_loops import compiled_loops
from tests.laboratories.histories.comparing import Tally
from tests.laboratories.histories.in_process import InProcess
from tests.laboratories.histories.in_sessions import InSessions
from tests.laboratories.histories.in_threads import InThreads
from tests.laboratories.histories.over_grpc import OverGrpc
from tests.laboratories.histories.reserving import Reserving
from tests.laboratories.histories.rounds import Form
from tests.laboratories.histories.stuck import Stuck


@contextmanager
def _with_compiled_loops(dice: Random, tally: Tally) -> Iterator[InProcess]:
    """As a process plays it that has decided for a while; loops are compiled for these few nodes, too."""
    with compiled_loops(), InProcess.playing(dice, tally) as history:
        yield history


FORMS = {
    form.id: form
    for form in (
        Form("process", "the engine's own calls", InProcess.playing, steps=60, share=2),
        Form("compiled", "the same, with compiled loops", _with_compiled_loops, steps=60, share=2),
        Form("stuck", "a full cluster, and nominations", Stuck.playing, steps=60, share=2),
        Form("reserving", "dry runs beside RESERVE", Reserving.playing, steps=10),
        Form("grpc", "a server on a channel", OverGrpc.playing, steps=40),
        Form("sessions", "sessions over a live state", InSessions.playing, steps=60),
        Form("threads", "threads while one writes", InThreads.playing, steps=12, repeats=False),
    )
}
