"""Lists one kind, in pages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from mooring.cluster.api import JSON, PROTOBUF, ApiServer, Resource, Response, Stream, failure, served_version
from mooring.cluster.decoding import checked, decode_kind
from mooring.cluster.decoding.errors import MAX_OBJECT_BYTES
from mooring.cluster.decoding.known_pods import KnownPods
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.cluster.pod_parts import PodParts
from mooring.cluster.raw_objects import UNWANTED, RawObjectsOfKind
from mooring.cluster.sources.kubernetes.timers import Timers
from mooring.cluster.sources.kubernetes.wire import (
    UNREADABLE,
    GoneError,
    Identity,
    ObjectEvent,
    Page,
    decode_event,
    decode_identity,
    decode_page,
    decode_pod_event,
    decode_status,
    nonsense,
    raise_error,
)
from mooring.framework.errors import InvalidArgumentError, NotFoundError
from mooring.framework.objects import Pod
from mooring.kubernetes.v1 import pod_pb2

log = logging.getLogger(__name__)

Undecoded = bytes | ClusterObject | pod_pb2.Pod
"""An object as far as it was decoded: its JSON, before any check, or its message."""


@dataclass(slots=True)
class ListSummary:
    """A whole list without its objects.

    Attributes:
        versions: The version of every object, by key.
        position: The list's own version.
    """

    versions: dict[str, int] = field(default_factory=dict)
    position: int = 0


class Lister:
    """Reads lists of one kind. One thread lists; the rest is safe from any thread.

    Args:
        resource: The kind.
        raw_objects: Gets the objects that are read.

    Attributes:
        path: The kind's path at the server; "" before it is known.
        accept: The best media type for a watch. A pod in protobuf, which the API server already has for its
            own watches, saves it a tenth of a binding's cost; other kinds hardly differ.
    """

    def __init__(
        self,
        api: ApiServer,
        resource: Resource,
        timers: Timers,
        raw_objects: RawObjectsOfKind = UNWANTED,
    ) -> None:
        self.path = ""
        self._api = api
        self._resource = resource
        self._timers = timers
        self._raw_objects = raw_objects
        self._unreadable: set[str] = set()
        self._kind = KINDS[resource.kind]
        self._known_pods = KnownPods()
        in_protobuf = self._kind is Pod and raw_objects is UNWANTED
        self.accept = f"{PROTOBUF};stream=watch, {JSON}" if in_protobuf else JSON
        decoder: msgspec.json.Decoder[ObjectEvent[ClusterObject]] = msgspec.json.Decoder(
            ObjectEvent[self._kind]  # type: ignore[name-defined] # known at run time alone
        )
        self._decode_event = decoder.decode

    def find_path(self) -> None:
        """Find out where the server has the kind. Raises NotFoundError if it has no such kind, and
        MooringError if it doesn't say.
        """
        version = served_version(self._api, self._resource)
        if not version:
            versions = " or ".join(self._resource.versions)
            raise NotFoundError(
                f"the API server has no {self._resource.plural} in {versions}", reason="OBJECT_NOT_FOUND"
            )
        self.path = self._resource.collection(version=version)

    def read_page(self, token: str, limit: int, timeout: float) -> Page:
        """Return a page of a fresh list, or the one that ``token`` continues. Raises GoneError if the list is
        forgotten, MooringError as ``failure`` says, and UnavailableError if what came is not a list.
        """
        query = {"limit": str(limit), **({"continue": token} if token else {})}
        response = self._api.request("GET", self.path, query=query, timeout=timeout)
        if not response.ok:
            raise rejection(response, self._resource)
        try:
            return decode_page(response.body)
        except UNREADABLE as error:
            raise nonsense(error) from error

    def read_position(self) -> int:
        """Return the version that the server is at. Raises as ``read_page``."""
        return int(self.read_page("", 1, self._timers.probe_timeout).metadata.resource_version)

    def read_pages(self, stopped: Callable[[], bool]) -> Iterator[Page]:
        """Yield a fresh list; ends early when ``stopped``. Raises as ``read_page``."""
        token = ""
        while not stopped():
            page = self.read_page(token, self._timers.page_size, self._timers.list_timeout)
            yield page
            token = page.metadata.continue_
            if not token:
                return

    def read_objects(self, listing: ListSummary, stopped: Callable[[], bool]) -> Iterator[ClusterObject]:
        """Yield the objects of a fresh list that could be read, page after page; ``listing`` gets the rest.

        Ends early when ``stopped``. Raises as ``read_page``.
        """
        for page in self.read_pages(stopped):
            for data in page.items or ():
                item = self.decode_object(bytes(data))
                if item is None:
                    identity = decode_identity(data).metadata
                else:
                    identity = _identity_of(item)
                    yield item
                listing.versions[identity.key] = identity.version
            listing.position = int(page.metadata.resource_version)

    def read_events(self, stream: Stream) -> Iterator[tuple[str, Identity, Undecoded]]:
        """Yield the events of a watch in the accepted media type. Raises the errors of ``decode_event``."""
        if stream.headers.get("content-type", "").startswith(PROTOBUF):
            return map(decode_pod_event, stream.frames())
        return map(self.decode_event, stream)

    def decode_event(self, line: bytes) -> tuple[str, Identity, Undecoded]:
        """Return what a line of a watch says: the event's type, and the object for ``decode_told``.

        It is decoded in one step, unless its bytes are needed, or it has to be read twice: with nulls, an
        error's status, or an object that can't be read or is too large.

        Raises:
            GoneError: The watch is too old.
            UnavailableError: It failed in another way.
            MsgspecError: The line is not an event.
        """
        if self._raw_objects is UNWANTED and len(line) <= MAX_OBJECT_BYTES:
            try:
                event = self._decode_event(line)
            except (msgspec.ValidationError, RecursionError, UnicodeDecodeError):
                pass
            else:
                if event.type != "ERROR":
                    return event.type, _identity_of(event.object), event.object
        raw = decode_event(line)
        if raw.type == "ERROR":
            raise_error(decode_status(raw.object))
        return raw.type, decode_identity(raw.object).metadata, bytes(raw.object)

    def decode_object(self, data: bytes) -> ClusterObject | None:
        """Return the object; None when it can't be used: it counts as absent, and the log says so once."""
        try:
            item = decode_kind(data, self._kind)
        except InvalidArgumentError as error:
            self._leave_out(decode_identity(data).metadata.key, error)
            return None
        self._raw_objects.put_object(item, data)
        return item

    def decode_told(self, data: Undecoded, identity: Identity) -> ClusterObject | PodParts | None:
        """Decode the object of that identity from a watch's event, like ``decode_object``."""
        try:
            if isinstance(data, pod_pb2.Pod):
                return self._known_pods.decode(data)
            return self.decode_object(data) if isinstance(data, bytes) else checked(data)
        except InvalidArgumentError as error:
            self._leave_out(identity.key, error)
            return None

    def _leave_out(self, key: str, error: InvalidArgumentError) -> None:
        if key not in self._unreadable:
            self._unreadable.add(key)
            log.warning("%s %s can't be read and does not count: %s", self._resource.kind, key, error)


def _identity_of(item: ClusterObject) -> Identity:
    meta = item.metadata
    return Identity(meta.name, meta.namespace, meta.uid, meta.resource_version)


def rejection(response: Response, resource: Resource) -> Exception:
    """Return what a list or a watch that was rejected raises."""
    if response.status == 410:
        return GoneError(response.message)
    return failure(response, f"list {resource.plural}")
