"""D4, D5: reservations do what their model does, whatever the order of calls."""

from __future__ import annotations

from hypothesis import settings

from tests.examples import examples

from .reservation_model import Reserving

TestReserveIdempotentAndForged = Reserving.TestCase
TestReserveIdempotentAndForged.settings = settings(examples(25), stateful_step_count=40)
