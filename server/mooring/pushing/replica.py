"""Keeps one replica up to date: a full load, then changes by number, and a full load again after a gap."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

import grpc

from mooring.cluster.sources import Source
from mooring.pushing.batches import EventBatch
from mooring.pushing.log import PushLog
from mooring_client.errors import CallFailedError
from mooring_client.v1 import cluster_service_pb2 as pb

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 1.0
"""The longest time between two calls of a replica, from which it learns that nothing has happened."""

SILENT_SECONDS: Final = 5.0
"""A watcher whose own state is older than this is silent. One that is silent for as long is replaced."""

LONGEST_PAUSE: Final = 1.0
"""Before a call is repeated that failed in a way that passes; the first pause is a sixteenth of it."""

REJECTED_SECONDS: Final = 15.0
"""Before a call is repeated that the replica rejected, such as for a missing right."""

_PASSING: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)


class Receiver(Protocol):
    """The connection to a replica. For one thread; ends with its ``with`` block."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def push(self, request: bytes) -> pb.PushObjectsResponse:
        """Make a call of PushObjects.

        Raises:
            CallFailedError: It failed.
        """
        ...

    def describe(self) -> pb.GetClusterInfoResponse:
        """Make a call of GetClusterInfo.

        Raises:
            CallFailedError: It failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Watched:
    """The content of the replicas.

    Attributes:
        name: The name of the source at the replicas.
        source: The watcher's own source.
        log: Its changes.
    """

    name: str
    source: Source
    log: PushLog

    @property
    def silent(self) -> str:
        """Why replicas are not called; "" = they are."""
        if not self.source.synced:
            return "the first full list is not complete"
        staleness = self.source.staleness
        return f"{self.source.late} for {staleness:.0f} s" if staleness > SILENT_SECONDS else ""


class Replica:
    """Pushes to one replica, in a thread of its own, until it is stopped.

    Args:
        address: The replica's address.
        watched: Its content.
        connect: Connects to it.

    Attributes:
        address: The replica's address.
        kept: Whether this watcher keeps it; if not, another one does, or nothing has been pushed yet.
        loads: Full loads that were begun.
        error: Why the last call failed; "" if it succeeded.
    """

    def __init__(self, address: str, watched: Watched, connect: Callable[[], Receiver]) -> None:
        self.address = address
        self.kept = False
        self.loads = 0
        self.error = ""
        self._watched = watched
        self._connect = connect
        self._own = secrets.token_hex(8)
        self._sequence = 1
        self._position: int | None = None
        self._current_at = time.monotonic()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"push-{address}", daemon=True)

    @property
    def lag(self) -> float:
        """Seconds since the replica was last known to have everything, or since this watcher began."""
        return time.monotonic() - self._current_at

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the call that is under way."""
        self._stopping.set()

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def _follow(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            try:
                with self._connect() as receiver:
                    while not self._stopping.is_set():
                        self.step(receiver)
                        pause = 0.0
            except CallFailedError as error:
                self._note(str(error))
                pause = self._pause_after(error, pause)
            except Exception as error:  # the thread must outlive whatever a replica answers
                log.exception("%s: can't be pushed to", self.address)
                self._note(repr(error))
                pause, self._position = REJECTED_SECONDS, None

    def _pause_after(self, error: CallFailedError, last: float) -> float:
        if error.code in _PASSING:
            return min(max(2 * last, LONGEST_PAUSE / 16), LONGEST_PAUSE)
        self._position = None
        return REJECTED_SECONDS

    def step(self, receiver: Receiver) -> None:
        """Make the next calls: a full load, the changes that there are, or a heartbeat.

        Raises:
            CallFailedError: One failed. The next step goes on where the replica is then.
        """
        if silent := self._watched.silent:
            self._note(silent)
            self._stopping.wait(HEARTBEAT_SECONDS)
        elif self._position is None:
            self._load(receiver)
        else:
            began = time.monotonic()
            batches = self._watched.log.read_from(self._position, HEARTBEAT_SECONDS)
            if batches is None:
                self._lost("it is too far behind")
            elif self._pushed(receiver, batches):
                self._position += len(batches)
                self._current_at = batches[-1].made_at if batches else began

    def _load(self, receiver: Receiver) -> None:
        if self._kept_by_another(receiver):
            self.kept = False
            self._note("another watcher keeps it")
            self._stopping.wait(HEARTBEAT_SECONDS)
            return
        self.loads += 1
        self._sequence = 1
        self.kept = True
        position, batches = self._watched.log.full_load()
        for batch in batches:
            if self._stopping.is_set() or not self._pushed(receiver, [batch]):
                return
        self._position = position
        log.info("%s: full load %d is complete", self.address, self.loads)

    def _kept_by_another(self, receiver: Receiver) -> bool:
        name = f"push:{self._watched.name}"
        return any(
            each.name == name
            and not each.session.startswith(self._own)
            and each.silence_seconds < SILENT_SECONDS
            for each in receiver.describe().sources
        )

    def _pushed(self, receiver: Receiver, batches: Sequence[EventBatch]) -> bool:
        """Send events; False if the replica lacks some before them, and so gets a full load."""
        source = self._watched.source
        head = pb.PushObjectsRequest(
            source=self._watched.name,
            session=f"{self._own}-{self.loads}",
            first_sequence=self._sequence,
            freshness=pb.PushFreshness(staleness_seconds=source.staleness, doubt=source.doubt),
        )
        request = b"".join((head.SerializeToString(), *(batch.data for batch in batches)))
        try:
            answer = receiver.push(request)
        except CallFailedError as error:
            if error.reason != "RESYNC_REQUIRED":
                raise
            self._lost(str(error))
            return False
        self._sequence = answer.next_sequence
        self._note("")
        return True

    def _lost(self, why: str) -> None:
        """Begin again with a full load."""
        self._position = None
        self._note(why)

    def _note(self, error: str) -> None:
        if error and error != self.error and not self._stopping.is_set():
            log.warning("%s: %s", self.address, error)
        self.error = error
