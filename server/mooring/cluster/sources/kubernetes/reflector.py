"""Follows one kind: a list in pages, then watches from where it ended, for ever.

Mirrors the promises of k8s.io/client-go/tools/cache/reflector.go; unlike there, observed changes are never
undone: neither an event nor a list takes the state back to an older version, unless etcd itself went back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence

from mooring.cluster.api import ApiServer, Resource, Stream
from mooring.cluster.kinds import Change, ClusterObject, Put, PutPod, Remove
from mooring.cluster.pod_parts import PodParts
from mooring.cluster.raw_objects import UNWANTED, RawObjectsOfKind
from mooring.cluster.sources.kubernetes.history import History
from mooring.cluster.sources.kubernetes.known import KnownObjects
from mooring.cluster.sources.kubernetes.lister import Lister, ListSummary, Undecoded, rejection
from mooring.cluster.sources.kubernetes.timers import Timers
from mooring.cluster.sources.kubernetes.wire import (
    UNREADABLE,
    GoneError,
    Identity,
    nonsense,
)
from mooring.cluster.state import State
from mooring.framework.errors import (
    MooringError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from mooring.framework.objects import Pod

log = logging.getLogger(__name__)

ANSWERS_BEHIND = 3
"""Consecutive answers older than the observed version that show that etcd went back. No request names a
version, so each answer is that of a quorum of etcd, which an API server that lags can't give."""


class Reflector:
    """One kind of a source. ``start`` makes its thread; the rest is safe from any thread.

    Args:
        resource: The kind.
        source: Under which name.
        readers: The plugins that read the kind; none = the scheduler itself needs it.
        raw_objects: Gets the objects as the server sends them.
        history: The observations of all kinds of a source about the server's history.

    Attributes:
        resource: The kind.
        lister: Lists it.
        known: The objects delivered so far.
        synced: A list is complete, and the server still has the kind.
        unavailable: Why the server has no such kind or doesn't show it; "" = it does.
        answered: One of both is known, as it will always be from then on.
        error: The last failure; "" after a success.
        lists: Lists that were completed.
        watches: Watches that were opened.
        last_event_at: ``time.monotonic`` of the last event, bookmark or list.
        disconnected_at: Since when a change may have been missed: the end of the last watch, or the start of
            a list after it; None while a watch is open.
        writing_since: ``time.monotonic`` at which the event that is being written came; None = none is.
    """

    def __init__(
        self,
        api: ApiServer,
        resource: Resource,
        state: State,
        source: str,
        readers: Sequence[str],
        timers: Timers,
        raw_objects: RawObjectsOfKind = UNWANTED,
        history: History | None = None,
    ) -> None:
        self.resource = resource
        self.lister = Lister(api, resource, timers, raw_objects)
        self.known = KnownObjects()
        self.synced = False
        self.unavailable = ""
        self.answered = False
        self.error = ""
        self.lists = self.watches = 0
        self.last_event_at = time.monotonic()
        self.disconnected_at: float | None = self.last_event_at
        self.writing_since: float | None = None
        self._api = api
        self._state = state
        self._source = source
        self._readers = ", ".join(readers)
        self._timers = timers
        self._raw_objects = raw_objects
        self._history = history or History()
        self._rollbacks = self._history.rollbacks
        self._behind = 0
        self._list_needed = "nothing is known yet"
        self._failures = 0
        self._forgotten = False
        self._stopping = threading.Event()
        self._stream: Stream | None = None
        self._thread = threading.Thread(target=self._follow, name=f"watch-{resource.plural}", daemon=True)

    def start(self) -> None:
        """Follow the kind from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopping.set()
        self.interrupt()

    def join(self, longest: float) -> None:
        """Wait until it has, but no longer than ``longest`` seconds: a request may hang."""
        self._thread.join(longest)

    def relist(self, why: str) -> None:
        """Start over with a list, since something was lost."""
        log.warning("%s: listing again: %s", self.resource.plural, why)
        self._list_needed = why
        self.interrupt()

    def doubt(self, version: int) -> str:
        """Note that the server is at ``version``, older than the observed one; return that as a sentence."""
        why = f"the server is at version {version}, older than the observed {self.known.position}"
        if not self._history.doubts:
            log.warning("%s: %s", self.resource.plural, why)
        self._history.doubts[self.resource.kind] = why
        self.interrupt()
        return why

    def interrupt(self) -> None:
        """End the watch that is open, if one is; what is needed before the next one is done first."""
        stream = self._stream
        if stream is not None:
            stream.interrupt()

    def _follow(self) -> None:
        while not self._stopping.is_set():
            pause = self._attempt()
            self._stopping.wait(pause)

    def _attempt(self) -> float:
        """List if needed and watch, until something ends that; return the pause to make then."""
        try:
            if not (self._list_needed or self._outlived()):
                self._compare(self.lister.read_position())
            if self._list_needed or self._outlived():
                self._list()
            if not self._outlived():
                self._trust()
            self._watch()
        except GoneError as error:
            self._list_needed = f"the server forgot the rest: {error}"
            again, self._forgotten = self._forgotten, True
            pause = self._failed()
            if not again:
                # However long it was gone before: the server answers.
                return 0.0
            self._note(self._list_needed)
            return pause
        except (NotFoundError, PermissionDeniedError) as error:
            self._kind_unavailable(error)
            return self._failed(self._timers.unavailable_retry)
        except MooringError as error:
            self._note(str(error))
            return self._failed()
        except Exception:  # the thread must outlive any bytes of a server
            log.exception("%s: unexpected error, listing again", self.resource.plural)
            self._list_needed = "of a defect"
            return self._failed()
        return 0.0

    def _failed(self, longest: float | None = None) -> float:
        self._failures += 1
        return self._timers.backoff(self._failures, longest)

    def _note(self, error: str) -> None:
        if error and error != self.error and not self._behind and not self._stopping.is_set():
            log.warning("%s: %s", self.resource.plural, error)
        self.error = error

    def _kind_unavailable(self, error: MooringError) -> None:
        """Handle a kind that the server doesn't have, or no longer shows."""
        self.lister.path = ""
        self._list_needed = "the kind was not available"
        if isinstance(error, NotFoundError):
            self._state.replace(self._source, [], kind=self.resource.kind)
            self.synced = False
        if str(error) != self.unavailable:
            weakened = f"weakened by that: {self._readers}" if self._readers else "nothing works without it"
            log.warning("%s: %s; %s", self.resource.plural, error, weakened)
        self.unavailable = self.error = str(error)
        self.answered = True
        self._trust()

    def _list(self) -> None:
        why, self._list_needed = self._list_needed, ""
        discard, rollbacks, began = self._outlived(), self._history.rollbacks, time.monotonic()
        try:
            if not self.lister.path:
                self.lister.find_path()
            listing = ListSummary()
            objects = self._listed(listing)
            self._state.replace(self._source, objects, kind=self.resource.kind, discard=discard)
        except BaseException:
            self._list_needed = self._list_needed or why
            raise
        self._raw_objects.retain_objects(listing.versions)
        self.known.load_list(listing.versions, listing.position)
        self._rollbacks = rollbacks
        self.lists += 1
        self.last_event_at = time.monotonic()
        self.disconnected_at = began
        self.synced = self.answered = True
        self.unavailable = ""
        self.error = ""

    def _listed(self, listing: ListSummary) -> Iterator[ClusterObject]:
        """Yield the objects of a list, which the state takes once it is complete and not too old."""
        yield from self.lister.read_objects(listing, self._stopping.is_set)
        if self._stopping.is_set():
            raise UnavailableError("the source is stopping", reason="API_SERVER_UNAVAILABLE")
        self._compare(listing.position)

    def _compare(self, version: int) -> None:
        """Reject an answer older than the observed version, until several in a row were."""
        if version >= self.known.position or self._outlived():
            return
        why = self.doubt(version)
        # The server answers, so the pause need not be that of an outage.
        self._failures, self._behind = self._behind, self._behind + 1
        if self._behind < ANSWERS_BEHIND:
            raise UnavailableError(why, reason="API_SERVER_UNAVAILABLE")
        self._history.roll_back(self._rollbacks, why)

    def _trust(self) -> None:
        self._behind = 0
        self._history.doubts.pop(self.resource.kind, None)

    def _outlived(self) -> bool:
        """Return whether etcd went back since the last list."""
        return self._rollbacks != self._history.rollbacks

    def _watch(self) -> None:
        if self._stopping.is_set():
            return
        seconds = self._timers.watch_seconds()
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": str(self.known.position),
            "timeoutSeconds": str(seconds),
        }
        opened_at = time.monotonic()
        longest_silence = seconds + self._timers.watch_margin
        with self._api.stream(
            self.lister.path, query=query, read_timeout=longest_silence, accept=self.lister.accept
        ) as stream:
            if stream.status != 200:
                raise rejection(stream.read(), self.resource)
            self._stream = stream
            self.watches += 1
            self.disconnected_at = None
            try:
                self._read(stream)
            finally:
                self._stream = None
                self.disconnected_at = time.monotonic()
        if self.last_event_at < opened_at and time.monotonic() - opened_at < seconds / 2:
            raise UnavailableError(
                "the API server ended the watch too early", reason="API_SERVER_UNAVAILABLE"
            )

    def _read(self, stream: Stream) -> None:
        """Apply the stream's events, until it ends or a stop or new list is requested."""
        try:
            if not self._interrupted():
                for type_, identity, data in self.lister.read_events(stream):
                    self._take(type_, identity, data)
                    if self._interrupted():
                        return
        except UNREADABLE as error:
            raise nonsense(error) from error
        except UnavailableError:
            if not self._interrupted():
                raise

    def _interrupted(self) -> bool:
        needed = self._list_needed or self.resource.kind in self._history.doubts
        return self._stopping.is_set() or bool(needed)

    def _take(self, type_: str, identity: Identity, data: Undecoded) -> None:
        version = identity.version
        if type_ == "BOOKMARK":
            self.known.advance_position(version)
        elif version > self.known.position:
            self.writing_since = time.monotonic()
            try:
                self._apply(type_, data, identity, version)
            finally:
                self.writing_since = None
        self.last_event_at = time.monotonic()
        self._failures = 0
        self._forgotten = False
        self.error = ""

    def _apply(self, type_: str, data: Undecoded, identity: Identity, version: int) -> None:
        item = None if type_ == "DELETED" else self.lister.decode_told(data, identity)
        changes: list[Change | PutPod]
        if isinstance(item, PodParts):
            changes, ended = [PutPod(item)], item.template.finished
        elif item is None:
            changes, ended = [self._gone(identity)], False
        else:
            changes, ended = [Put(item)], isinstance(item, Pod) and item.finished
        if ended:
            # Nothing displaces the pod that had the name before, if its deletion was never observed.
            known = self._state.find_pod(identity.namespace, identity.name)
            if known is not None and known.metadata.uid != identity.uid:
                changes.insert(0, self._gone(identity))
        self._state.apply(self._source, changes)
        if type_ == "DELETED":
            self._raw_objects.drop_object(identity.key)
            self.known.remove_object(identity.key, version)
        else:
            self.known.put_object(identity.key, version)

    def _gone(self, identity: Identity) -> Remove:
        return Remove(self.resource.kind, identity.namespace, identity.name)
