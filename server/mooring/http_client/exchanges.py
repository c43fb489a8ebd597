"""Requests whose answers one thread takes, so that a request which is answered late keeps no thread waiting.

Each connection carries one request at a time: what happens to a connection leaves one outcome unknown.
"""

from __future__ import annotations

import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from mooring.http_client.answers import AnswerReader, HttpAnswer, ProtocolError
from mooring.http_client.origin import READ_BYTES, Origin

log = logging.getLogger(__name__)

CONNECTIONS = 64
"""Connections at most. kube-scheduler sets its bindings no limit; an API server with its defaults works on 98
requests of ``workload-high`` at a time, the priority level of both."""

CONNECT_SECONDS = 5.0
"""For each step of opening a connection that no request waits for."""

TICK_SECONDS = 0.5
"""Between two looks for requests whose time is over."""

Answered = Callable[[HttpAnswer | OSError], None]
"""Called with an answer, or with why there is none, by the thread that takes it; must not block."""

_NOT_YET = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Line:
    """One connection; ``lock`` is held by the thread that uses it, since TLS has one state for both ways.

    Attributes:
        socket: Never blocks; None once it is closed.
        reader: Reads the answer that is awaited.
        awaited: Whether one is awaited.
        answered: Gets it.
        ends: When it is too late, on the monotonic clock.
    """

    def __init__(self, connected: socket.socket, reader: AnswerReader) -> None:
        self.socket: socket.socket | None = connected
        self.reader = reader
        self.lock = threading.Lock()
        self.awaited = False
        self.answered: Answered = _ignore
        self.ends = 0.0


class Exchanges:
    """A few connections to one origin and the thread that takes their answers. Safe from any thread."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._idle: list[_Line] = []
        self._lines: set[_Line] = set()
        self._opening = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def ready(self) -> bool:
        """Whether a request can be begun now."""
        return bool(self._idle)

    def open(self) -> bool:
        """Open one more connection unless there are enough; return whether one may be idle. Blocks. Raises
        OSError if it can't be opened.
        """
        with self._lock:
            if self._closed or len(self._lines) + self._opening >= CONNECTIONS:
                return self.ready
            self._opening += 1
        try:
            connection = self._origin.connect(CONNECT_SECONDS)
        finally:
            with self._lock:
                self._opening -= 1
        if isinstance(connection.socket, socket.socket):
            self._add(connection.socket, connection.reader)
        else:
            # TLS inside the TLS to a proxy can't be waited for together with others.
            connection.socket.close()
        return self.ready

    def begin(self, message: bytes, before: Callable[[], None], seconds: float, answered: Answered) -> bool:
        """Send a request over an idle connection; without one return False.

        Args:
            message: All of the request.
            before: Called right before it is sent; what it raises is raised, and nothing is sent.
            seconds: How long to wait for the answer.
            answered: Called once.
        """
        while True:
            try:
                line = self._idle.pop()
            except IndexError:
                return False
            with line.lock:
                if line.socket is None:
                    continue
                try:
                    before()
                except BaseException:
                    self._idle.append(line)
                    raise
                line.reader.begin_again()
                line.awaited, line.answered, line.ends = True, answered, time.monotonic() + seconds
                failure = _send(line.socket, message)
            if failure is not None:
                self._give_up(line, failure)
            return True

    def close(self) -> None:
        """Close the idle connections now, and each other one after its answer."""
        self._closed = True
        for line in tuple(self._lines):
            with line.lock:
                if not line.awaited:
                    self._drop(line)

    def _add(self, connected: socket.socket, reader: AnswerReader) -> None:
        connected.setblocking(False)
        line = _Line(connected, reader)
        with self._lock:
            self._lines.add(line)
            self._selector.register(connected, selectors.EVENT_READ, line)
            self._idle.append(line)
            if self._thread is None:
                self._thread = threading.Thread(target=self._take_answers, name="answers", daemon=True)
                self._thread.start()
        if self._closed:
            self.close()

    def _take_answers(self) -> None:
        look_at = time.monotonic() + TICK_SECONDS
        while self._lines or not self._closed:
            for key, _ in self._selector.select(TICK_SECONDS):
                self._take(key.data)
            if (now := time.monotonic()) >= look_at:
                look_at = now + TICK_SECONDS
                for line in tuple(self._lines):
                    if line.awaited and now > line.ends:
                        self._give_up(line, TimeoutError("the time for it is over"))
        self._selector.close()

    def _take(self, line: _Line) -> None:
        """Read what has come, and pass a complete answer on."""
        with line.lock:
            answer: HttpAnswer | OSError
            reader, answered = line.reader, line.answered
            try:
                if line.socket is None or not _receive(line.socket, reader, line.awaited):
                    return
            except OSError as error:
                answer = error
            else:
                # The next request of the connection uses its reader again.
                answer = HttpAnswer(reader.status, reader.headers, reader.take_body())
                line.awaited = False
                if reader.keep_alive and not self._closed:
                    self._idle.append(line)
                else:
                    self._drop(line)
        if isinstance(answer, OSError):
            self._give_up(line, answer)
        else:
            _pass_on(answered, answer)

    def _give_up(self, line: _Line, failure: OSError) -> None:
        """Close a connection; the request that it carried has no answer."""
        with line.lock:
            waited, line.awaited = line.awaited, False
            answered = line.answered
            self._drop(line)
        if waited:
            _pass_on(answered, failure)

    def _drop(self, line: _Line) -> None:
        """Close the connection, whose lock is held."""
        if line.socket is None:
            return
        with self._lock:
            self._lines.discard(line)
            # A thread that is about to begin a request may have just taken it, and finds it closed.
            with suppress(ValueError):
                self._idle.remove(line)
            self._selector.unregister(line.socket)
        line.socket.close()
        line.socket = None


def _ignore(_: HttpAnswer | OSError) -> None:
    pass


def _pass_on(answered: Answered, answer: HttpAnswer | OSError) -> None:
    try:
        answered(answer)
    except Exception:  # the thread takes others' answers as well
        log.exception("an answer was received and could not be processed")


def _send(connected: socket.socket, message: bytes) -> OSError | None:
    """Send the message, which is short, at once; return why not all of it was sent, None = it was."""
    try:
        sent = connected.send(message)
    except OSError as error:
        return error
    return None if sent == len(message) else OSError(f"{sent} of {len(message)} bytes could be sent")


def _receive(connected: socket.socket, reader: AnswerReader, awaited: bool) -> bool:
    """Read the available bytes; return whether the answer is complete. OSError: it can't be."""
    while True:
        try:
            data = connected.recv(READ_BYTES)
        except _NOT_YET:
            return False
        if not awaited:
            raise ProtocolError("the connection ended, or an answer came without a request")
        reader.feed(data)
        if reader.complete:
            return True
