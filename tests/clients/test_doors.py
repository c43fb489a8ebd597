"""The door puts its frames between those of the connection, wherever the network cuts these."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from mooring.client_check.doors import Frames, Side

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OWN = b"\0\0\4\3\0\0\0\0\1\0\0\0\x08"
"""A frame of the door's: RST_STREAM of stream 1, CANCEL."""


class Written:
    """Takes bytes."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def frame(kind: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, 0]) + stream.to_bytes(4) + payload


FRAMES = st.lists(st.builds(frame, st.integers(0, 9), st.integers(1, 9), st.binary(max_size=20)), max_size=5)


@given(FRAMES, st.lists(st.integers(0, 120), max_size=6), st.integers(0, 6), st.booleans())
def test_a_frame_comes_between_two_others(
    frames: list[bytes], cuts: list[int], when: int, client: bool
) -> None:
    before = PREFACE if client else b""
    data, written = before + b"".join(frames), Written()
    side = Side(cast("Any", written), Frames(len(before)))
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    for at, (begin, end) in enumerate(pairwise(places)):
        if at == when:
            side.put_in(OWN)
        side.send(data[begin:end])
    if len(places) - 1 <= when:
        side.put_in(OWN)
    possible = [before + b"".join([*frames[:at], OWN, *frames[at:]]) for at in range(len(frames) + 1)]
    assert written.data in possible


def test_the_newest_call_is_that_of_the_last_headers() -> None:
    frames = Frames()
    frames.follow(frame(1, 5, b"x" * 3) + frame(0, 3, b"y") + frame(1, 7, b"") + frame(8, 0, b"zzzz"))
    assert (frames.opened, frames.between) == (7, True)
