"""Lists one kind, in pages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mooring.cluster.api import ApiServer, Resource, Response, failure, served_version
from mooring.cluster.decoding import decode_kind
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.cluster.originals import UNWANTED, OriginalsOfKind
from mooring.cluster.sources.kubernetes.timers import Timers
from mooring.cluster.sources.kubernetes.wire import (
    UNREADABLE,
    GoneError,
    Identity,
    Page,
    decode_identity,
    decode_page,
    nonsense,
)
from mooring.framework.errors import InvalidArgumentError, NotFoundError

log = logging.getLogger(__name__)


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
        api: The API server.
        resource: The kind.
        timers: How long everything takes.
        originals: Gets the objects that are read.

    Attributes:
        path: Where the server has the kind; "" before that is known.
    """

    def __init__(
        self,
        api: ApiServer,
        resource: Resource,
        timers: Timers,
        originals: OriginalsOfKind = UNWANTED,
    ) -> None:
        self.path = ""
        self._api = api
        self._resource = resource
        self._timers = timers
        self._originals = originals
        self._unreadable: set[str] = set()

    def find_path(self) -> None:
        """Find out where the server has the kind.

        Raises:
            NotFoundError: It has no such kind.
            MooringError: It doesn't say.
        """
        version = served_version(self._api, self._resource)
        if not version:
            versions = " or ".join(self._resource.versions)
            raise NotFoundError(
                f"the API server has no {self._resource.plural} in {versions}", reason="OBJECT_NOT_FOUND"
            )
        self.path = self._resource.collection(version=version)

    def read_page(self, token: str, limit: int, timeout: float) -> Page:
        """Return a page of a fresh list, or the one that ``token`` continues.

        Raises:
            GoneError: The list is forgotten.
            MooringError: As ``failure`` says, or UnavailableError: what came is not a list.
        """
        query = {"limit": str(limit), **({"continue": token} if token else {})}
        response = self._api.request("GET", self.path, query=query, timeout=timeout)
        if not response.ok:
            raise rejection(response, self._resource)
        try:
            return decode_page(response.body)
        except UNREADABLE as error:
            raise nonsense(error) from error

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
                    meta = item.metadata
                    identity = Identity(meta.name, meta.namespace, meta.uid, meta.resource_version)
                    yield item
                listing.versions[identity.key] = identity.version
            listing.position = int(page.metadata.resource_version)

    def decode_object(self, data: bytes) -> ClusterObject | None:
        """Return the object; None when it can't be used: it counts as absent, and the log says so once."""
        try:
            item: ClusterObject = decode_kind(data, KINDS[self._resource.kind])
        except InvalidArgumentError as error:
            key = decode_identity(data).metadata.key
            if key not in self._unreadable:
                self._unreadable.add(key)
                log.warning("%s %s can't be read and does not count: %s", self._resource.kind, key, error)
            return None
        self._originals.put_object(item, data)
        return item


def rejection(response: Response, resource: Resource) -> Exception:
    """Return what a list or a watch that was rejected raises."""
    if response.status == 410:
        return GoneError(response.message)
    return failure(response, f"list {resource.plural}")
