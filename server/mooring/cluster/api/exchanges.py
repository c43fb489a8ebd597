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

from urllib3.exceptions import ProtocolError

from mooring.cluster.api.answers import Answered, Response, unanswered
from mooring.cluster.api.whole_answers import READ, WholeAnswer, reader_and_writer
from mooring.framework.errors import UnavailableError

log = logging.getLogger(__name__)

CONNECTIONS = 64
"""Connections at most. kube-scheduler sets its bindings no limit; an API server with its defaults works on 98
requests of ``workload-high`` at a time, the priority level of both."""

TICK_SECONDS = 0.5
"""Between two looks for requests whose time is over."""

_NOT_YET = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Line:
    """One connection; users of the socket hold ``lock``, since TLS has one state for both directions.

    Attributes:
        socket: Never blocks; None once it is closed.
        receive: Reads from it.
        send: Writes to it.
        answer: The received part of the awaited answer, or the last answer.
        awaited: Whether one is awaited.
        answered: Gets it.
        ends: When it is too late, on the monotonic clock.
    """

    __slots__ = ("answer", "answered", "awaited", "ends", "lock", "receive", "send", "socket")

    def __init__(self, connected: socket.socket) -> None:
        self.socket: socket.socket | None = connected
        self.receive, self.send = reader_and_writer(connected)
        self.lock = threading.Lock()
        self.answer = WholeAnswer()
        self.awaited = False
        self.answered: Answered = _nobody
        self.ends = 0.0


class Exchanges:
    """A few connections and the thread that takes their answers. Safe from any thread.

    Args:
        dial: Returns a new connection, or None if there can't be one; may block, and raise OSError.
    """

    def __init__(self, dial: Callable[[], socket.socket | None]) -> None:
        self._dial = dial
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
        """Open one more connection unless there are enough; return whether one may be idle. Blocks.

        Raises:
            OSError: It can't be opened.
        """
        with self._lock:
            if self._closed or len(self._lines) + self._opening >= CONNECTIONS:
                return self.ready
            self._opening += 1
        connected = None
        try:
            connected = self._dial()
        finally:
            with self._lock:
                self._opening -= 1
        if connected is not None:
            self._add(connected)
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
                line.answer.begin_again()
                line.awaited, line.answered, line.ends = True, answered, time.monotonic() + seconds
                why = _sent(line.send, message)
            if why:
                self._give_up(line, why)
            return True

    def close(self) -> None:
        """Close the idle connections now, and each other one after its answer."""
        self._closed = True
        for line in tuple(self._lines):
            with line.lock:
                if not line.awaited:
                    self._drop(line)

    def _add(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        line = _Line(connected)
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
                        self._give_up(line, "the time for it is over")
        self._selector.close()

    def _take(self, line: _Line) -> None:
        """Take in what has come; a complete answer is handed on."""
        answered: Answered = _nobody
        response = None
        with line.lock:
            answer, why = line.answer, ""
            try:
                if line.socket is None or not _received(line.receive, answer, line.awaited):
                    return
            except (OSError, ProtocolError) as error:
                why = f"{type(error).__name__}: {error}"
            else:
                headers = {} if answer.status < 300 else answer.headers
                # Whoever takes the connection from among the idle ones uses its answer again.
                response = Response(answer.status, headers, answer.body)
                answered, line.awaited = line.answered, False
                if answer.keep_alive and not self._closed:
                    self._idle.append(line)
                else:
                    self._drop(line)
        if response is None:
            self._give_up(line, why)
        else:
            _tell(answered, response)

    def _give_up(self, line: _Line, why: str) -> None:
        """Close a connection; the request that it carried has no answer."""
        with line.lock:
            waited, line.awaited = line.awaited, False
            answered = line.answered
            self._drop(line)
        if waited:
            _tell(answered, unanswered(why))

    def _drop(self, line: _Line) -> None:
        """Close the connection, whose lock is held."""
        if line.socket is None:
            return
        with self._lock:
            self._lines.discard(line)
            # Who wants to begin may have taken it just now, and finds it closed.
            with suppress(ValueError):
                self._idle.remove(line)
            self._selector.unregister(line.socket)
        line.socket.close()
        line.socket = None


def _nobody(_: Response | UnavailableError) -> None:
    pass


def _tell(answered: Answered, answer: Response | UnavailableError) -> None:
    try:
        answered(answer)
    except Exception:  # the thread takes others' answers as well
        log.exception("an answer of the API server was not taken in")


def _sent(send: Callable[[bytes], int], message: bytes) -> str:
    """Send the message, which is short, at once; return why not all of it was sent, "" = it was."""
    try:
        sent = send(message)
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return "" if sent == len(message) else f"{sent} of {len(message)} bytes could be sent"


def _received(receive: Callable[[int], bytes], answer: WholeAnswer, awaited: bool) -> bool:
    """Read what is there; return whether the answer is complete.

    Raises:
        OSError: The connection has ended.
        ProtocolError: The bytes are not an answer, or belong to no request.
    """
    while True:
        try:
            data = receive(READ)
        except _NOT_YET:
            return False
        if not awaited:
            raise ProtocolError("the connection ended, or an answer came without a request")
        answer.feed(data)
        if answer.complete:
            return True
