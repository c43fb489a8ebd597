"""Pages of long lists: all pages of a list show what its first call found, which is kept for a minute."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from google.protobuf.message import Message

from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.serving.access.access import current_call
from mooring.serving.shares import Shares

Item = TypeVar("Item")
Head = TypeVar("Head")

PAGE_BYTES: Final = 2 << 20
"""The bytes of a page, or of a part of an answer, unless a caller asks for more: most clients take 4 MiB."""

MOST_ITEMS: Final = 1 << 17

MOST_LISTED: Final = 1_000

MOST_LISTS: Final = 32
"""Lists that are kept; their items are references to objects of the state."""

KEPT_SECONDS: Final = 60.0
"""How long a list is kept after its last page was read."""


@dataclass(slots=True, eq=False)
class FoundList(Generic[Head, Item]):
    """A list as it was found. It is forgotten at ``until``, on the monotonic clock."""

    head: Head
    items: Sequence[Item]
    asked: bytes = b""
    client: Hashable = None
    until: float = field(default=0.0)


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Head, Item]):
    """A page that begins at ``start``.

    Attributes:
        most: How many items it may have.
        bounded: Whether it may have ``PAGE_BYTES`` at most.
    """

    listing: FoundList[Head, Item]
    start: int
    most: int
    bounded: bool
    key: str = ""


class Pages:
    """Keeps lists for clients that read them in pages. Thread-safe.

    Attributes:
        shares: The shares of their number.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lists: dict[str, FoundList[Any, Any]] = {}
        self.shares = Shares("kept lists", MOST_LISTS)

    def page(self, request: Any, find: Callable[[], FoundList[Head, Item]]) -> ListPage[Head, Item]:
        """Return the page that ``request`` means, of the list that ``find`` returns or of one that is kept.

        Raises:
            InvalidArgumentError: The page size is too large, or the token belongs to another request.
            FailedPreconditionError: The list is forgotten (PAGE_TOKEN_STALE).
        """
        if request.page_size > MOST_ITEMS:
            raise InvalidArgumentError.at("page_size", f"{request.page_size} is more than {MOST_ITEMS}")
        most, bounded = request.page_size or MOST_ITEMS, not request.page_size
        skip = _skip(request)
        if not request.page_token:
            found = find()
            return ListPage(found, min(skip or 0, len(found.items)), most, bounded)
        key, _, digits = request.page_token.partition(".")
        if not (digits.isascii() and digits.isdecimal()):
            raise InvalidArgumentError.at("page_token", "is not one that this server has given out")
        start = int(digits) if skip is None else skip
        with self._lock:
            self._forget_old()
            listing = self._lists.get(key)
            if listing is None:
                raise FailedPreconditionError(
                    "the pages of this list are forgotten; list from the beginning", reason="PAGE_TOKEN_STALE"
                )
            listing.until = time.monotonic() + KEPT_SECONDS
        if listing.asked != _asked(request):
            raise InvalidArgumentError.at("page_token", "belongs to another request")
        return ListPage(listing, min(start, len(listing.items)), most, bounded, key)

    def next_token(self, page: ListPage[Any, Any], end: int, request: Any) -> str:
        """Return the token of the page that begins at ``end``; "" if there is nothing left."""
        if end >= len(page.listing.items):
            return ""
        key = page.key or self._keep(page.listing, request)
        return f"{key}.{end}"

    def _keep(self, listing: FoundList[Any, Any], request: Any) -> str:
        listing.asked, listing.client = _asked(request), (client := current_call().claimant)
        listing.until = time.monotonic() + KEPT_SECONDS
        key = secrets.token_hex(8)
        with self._lock:
            self._forget_old()
            while not self.shares.has_room(client):
                # A client has its own oldest list forgotten, as long as it has three quarters of all.
                most = self.shares.of(client) >= self.shares.most
                of = client if most else self.shares.greediest()
                self._drop(next(key for key, kept in self._lists.items() if kept.client == of))
            self._lists[key] = listing
            self.shares.take(client)
        return key

    def _forget_old(self) -> None:
        now = time.monotonic()
        for key in [key for key, listing in self._lists.items() if listing.until < now]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        self.shares.take(self._lists.pop(key).client, -1)


def _asked(request: Message) -> bytes:
    asked: Any = type(request)()
    asked.CopyFrom(request)
    asked.page_token, asked.page_size = "", 0
    if _skip(asked) is not None:
        asked.ClearField("skip")
    data: bytes = asked.SerializeToString(deterministic=True)
    return data


def _skip(request: Any) -> int | None:
    """Return how many items the request leaves out; None if the page begins where its token says."""
    if "skip" not in request.DESCRIPTOR.fields_by_name or not request.HasField("skip"):
        return None
    skip: int = request.skip
    return skip


def list_limit(asked: int, field: str = "limit", most: int = MOST_LISTED, default: int = 100) -> int:
    """Return how many items a call lists: the number in the request, or ``default`` if that is 0. Raises
    InvalidArgumentError if ``field`` of the request asks for more than ``most``.
    """
    if asked > most:
        raise InvalidArgumentError.at(field, f"{asked} is more than {most}")
    return asked or default


def fill(page: ListPage[Any, Item], into: Any, message_of: Callable[[Item], Message]) -> int:
    """Append messages of the page's items to a repeated field; returns where the next page begins."""
    items, end, room = page.listing.items, page.start, PAGE_BYTES
    last = min(len(items), page.start + page.most)
    while end < last:
        message = message_of(items[end])
        room -= message.ByteSize() + 6
        if page.bounded and room < 0 and end > page.start:
            break
        into.append(message)
        end += 1
    return end
