"""The note of the event about a pod that has no node."""

from __future__ import annotations

import pytest

from mooring.scheduler.messages import NOTE_LIMIT, shortened


@pytest.mark.parametrize(
    ("message", "note"),
    [
        pytest.param("0/5 nodes are available.", "0/5 nodes are available.", id="short: as it is"),
        pytest.param("x" * NOTE_LIMIT, "x" * NOTE_LIMIT, id="just fits"),
        pytest.param("x" * (NOTE_LIMIT + 1), "x" * (NOTE_LIMIT - 4) + " ...", id="one byte too long"),
        pytest.param("ü" * NOTE_LIMIT, "ü" * (NOTE_LIMIT // 2 - 2) + " ...", id="bytes count, not letters"),
        pytest.param("x" + "ü" * NOTE_LIMIT, "x" + "ü" * (NOTE_LIMIT // 2 - 3) + " ...", id="no half letter"),
    ],
)
def test_the_note_of_an_event_is_cut(message: str, note: str) -> None:
    assert shortened(message, NOTE_LIMIT) == note
