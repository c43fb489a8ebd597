"""The four ways to ask that are played."""

from __future__ import annotations

from tests.histories.in_process import InProcess
from tests.histories.in_sessions import InSessions
from tests.histories.in_threads import InThreads
from tests.histories.over_grpc import OverGrpc
from tests.histories.rounds import Form

FORMS = {
    form.id: form
    for form in (
        Form("process", "the engine's own calls", InProcess.playing, steps=60, share=3),
        Form("grpc", "a server on a channel", OverGrpc.playing, steps=40),
        Form("sessions", "sessions over a live state", InSessions.playing, steps=60),
        Form("threads", "threads while one writes", InThreads.playing, steps=12, repeats=False),
    )
}
