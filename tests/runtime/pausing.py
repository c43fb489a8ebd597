"""Holds a thread at the entry of a function until the test lets it go: races, played in one order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 20.0
"""Seconds after which a test gives up: nothing that works takes as long."""


class Pause:
    """A place where the thread of one name waits, the first time that it comes there.

    Attributes:
        reached: Set once the thread is there.
    """

    def __init__(self, thread: str) -> None:
        self.reached = threading.Event()
        self._thread = thread
        self._goes_on = threading.Event()

    def enter(self) -> None:
        """Wait, if this is the thread and it hasn't waited yet."""
        if threading.current_thread().name == self._thread and not self.reached.is_set():
            self.reached.set()
            self._goes_on.wait(PATIENCE)

    def wait(self) -> None:
        """Until the thread is there."""
        assert self.reached.wait(PATIENCE), f"thread {self._thread} never came here"

    def go_on(self) -> None:
        """Let the thread go on."""
        self._goes_on.set()


@contextmanager
def pause(owner: type, *methods: str, thread: str) -> Iterator[Pause]:
    """Hold the thread called ``thread`` at the entry of the first of the ``methods`` that it calls."""
    place, plain = Pause(thread), {name: getattr(owner, name) for name in methods}

    def held(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            place.enter()
            return function(*arguments, **options)

        return call

    for name, function in plain.items():
        setattr(owner, name, held(function))
    try:
        yield place
    finally:
        place.go_on()
        for name, function in plain.items():
            setattr(owner, name, function)


class Running(threading.Thread):
    """A call in a thread of its own."""

    def __init__(self, name: str, call: Callable[[], Any]) -> None:
        super().__init__(name=name, daemon=True)
        self._call = call
        self._found: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._found = self._call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._error = error

    def result(self) -> Any:
        """Return the call's result, or raise its error."""
        self.join(PATIENCE)
        assert not self.is_alive()
        if self._error is not None:
            raise self._error
        return self._found
