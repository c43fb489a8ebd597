"""Everything that can go wrong between a client and the API server, on request."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.fake_api_server.history import Call


@dataclass(frozen=True, slots=True)
class Answer:
    """Reject without doing anything; ``after`` does it first, so that the answer lies."""

    status: int
    retry_after: int | None = None
    message: str = "as the test wants it"
    after: bool = False
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection: before anything is done, or after ``after``, having sent ``at_byte`` bytes."""

    after: bool = False
    at_byte: int = 0


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait, then go on as if nothing were."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer; the request was carried out if ``after``. Ends when the fake does."""

    after: bool = False


Action = Answer | Cut | Delay | Hang


@dataclass
class _Rule:
    method: str
    path: re.Pattern[str]
    action: Action
    left: int | None
    when: Callable[[Call], bool]


Edit = Callable[[str, dict[str, Any]], Iterable[bytes]]
"""Type and object of an event to the lines that are sent instead, without their ends."""


@dataclass
class Faults:
    """The faults in force. Safe from any thread; all of them are off at the start.

    Attributes:
        edit: Replaces each event of watches; None = the event.
        silent: Watches send nothing, bookmarks included, but stay open.
    """

    edit: Edit | None = None
    silent: bool = False
    _rules: list[_Rule] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    met: int = 0

    def on(
        self,
        method: str,
        path: str,
        action: Action,
        *,
        times: int | None = None,
        when: Callable[[Call], bool] = lambda _: True,
    ) -> None:
        """Meet requests with ``action``.

        Args:
            method: ``GET``, ...; ``WATCH`` for a watch; "" = any.
            path: A regular expression that is found in the path.
            action: The effect on the requests.
            times: How often; None = until ``clear``.
            when: Which of them.
        """
        with self._lock:
            self._rules.append(_Rule(method, re.compile(path), action, times, when))

    def clear(self) -> None:
        """End all faults."""
        with self._lock:
            self._rules.clear()
        self.edit = None
        self.silent = False

    def action_for(self, call: Call) -> Answer | Cut | Hang | None:
        """The first fault that a request meets; pauses are over when this returns."""
        while True:
            with self._lock:
                rule = next((rule for rule in self._rules if self._meets(rule, call)), None)
                if rule is None:
                    return None
                self.met += 1
                if rule.left is not None:
                    rule.left -= 1
                    if not rule.left:
                        self._rules.remove(rule)
            if not isinstance(rule.action, Delay):
                return rule.action
            time.sleep(rule.action.seconds)
            if rule.left is None:
                return None

    def _meets(self, rule: _Rule, call: Call) -> bool:
        return (
            rule.method in ("", call.method) and rule.path.search(call.path) is not None and rule.when(call)
        )
