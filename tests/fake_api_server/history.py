"""The requests to the fake and their results: the place where invariants are checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
        method: GET, POST, PUT, PATCH or DELETE; WATCH for a watch.
        path: Without the query.
        query: By name, the last value.
        user: The bearer token; "" = none.
        user_agent: The client's name for itself.
        body: JSON values; None = none.
        at: Seconds of ``time.monotonic`` at its arrival.
        content_type: The content type of the body.
    """

    method: str
    path: str
    query: dict[str, str]
    user: str
    user_agent: str
    body: Any
    at: float = field(default_factory=time.monotonic)
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A request and its end.

    Attributes:
        call: The request.
        status: The answer's HTTP status; 0 = it was cut off or never given.
        done: Whether the objects were changed as requested.
        object: The object as it was after that; None when nothing changed.
    """

    call: Call
    status: int
    done: bool
    object: dict[str, Any] | None = None


class History:
    """Every request, in the order of their ends. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        with self._lock:
            self._entries.append(entry)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def all(self, method: str = "", ending: str = "") -> list[Entry]:
        """Return the requests of ``method`` whose path ends with ``ending``."""
        with self._lock:
            entries = list(self._entries)
        return [e for e in entries if method in ("", e.call.method) and e.call.path.endswith(ending)]

    def bindings(self) -> list[Entry]:
        """Return the bindings, accepted or not."""
        return self.all("POST", "/binding")

    def accepted_bindings(self) -> Iterator[tuple[str, str, str]]:
        """UID of the pod, its node, and who bound it."""
        for entry in self.bindings():
            if entry.done and entry.object is not None:
                pod = entry.object
                yield pod["metadata"]["uid"], pod["spec"]["nodeName"], entry.call.user_agent
