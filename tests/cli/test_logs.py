"""Lines of the log: none waits for another thread's, none is lost."""

from __future__ import annotations

import io
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mooring.cli.logs import SharedWriter


class Slow(io.StringIO):
    """A stream whose first write takes until ``go_on`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.go_on = threading.Event()

    def write(self, text: str) -> int:
        self.entered.set()
        assert self.go_on.wait(10)
        return super().write(text)


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("test", logging.INFO, __file__, 1, text, None, None)


def test_who_comes_while_another_one_writes_leaves_the_line_to_that_one() -> None:
    stream = Slow()
    writer = SharedWriter(stream)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(writer.handle, record("first"))
        assert stream.entered.wait(10)
        writer.handle(record("second"))
        writer.handle(record("third"))
        assert stream.getvalue() == ""
        stream.go_on.set()
        first.result(10)
    assert stream.getvalue() == "first\nsecond\nthird\n"


def test_every_line_of_every_thread_is_written_once_and_in_its_order() -> None:
    stream = io.StringIO()
    writer = SharedWriter(stream)

    def talk(thread: int) -> None:
        for number in range(500):
            writer.handle(record(f"{thread} {number}"))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(talk, range(8)))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 8 * 500
    for thread in range(8):
        said = [line for line in lines if line.startswith(f"{thread} ")]
        assert said == [f"{thread} {number}" for number in range(500)]


def test_a_stream_that_breaks_stops_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    writer = SharedWriter(stream)
    stream.close()
    writer.handle(record("lost"))
    writer.handle(record("lost, too"))
    assert capsys.readouterr().err.count("I/O operation on closed file") == 2
