"""An API server of our own for tests: what it does is held against the real one by the contract suite."""

from tests.fake_api_server.faults import Answer, Cut, Delay, Faults, Hang
from tests.fake_api_server.history import Call, Entry, History
from tests.fake_api_server.reading import event_line
from tests.fake_api_server.server import FakeApiServer

__all__ = [
    "Answer",
    "Call",
    "Cut",
    "Delay",
    "Entry",
    "FakeApiServer",
    "Faults",
    "Hang",
    "History",
    "event_line",
]
