"""Lists in pages and watches with bookmarks."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tests.fake_api_server.errors import RejectedError
from tests.fake_api_server.frames import MEDIA_TYPE, frame_of, wants_frames
from tests.fake_api_server.history import Call
from tests.fake_api_server.kinds import Kind
from tests.fake_api_server.store import Event, Manifest, Store

if TYPE_CHECKING:
    from tests.fake_api_server.handler import Handler

DEFAULT_TIMEOUT_SECONDS = 1800.0
POLL_SECONDS = 0.05


def listed(store: Store, kind: Kind, namespace: str, query: dict[str, str]) -> bytes:
    """Return a list, or the part of one that the query asks for.

    Raises:
        RejectedError: 410, ``continue`` is too old.
    """
    start, version = _place(query.get("continue", ""))
    page = store.page(kind.plural, namespace, start, int(query.get("limit") or 0), version)
    metadata: Manifest = {"resourceVersion": str(page.version)}
    if page.next_start:
        place = json.dumps({"start": page.next_start, "version": page.version})
        metadata["continue"] = base64.urlsafe_b64encode(place.encode()).decode()
        metadata["remainingItemCount"] = page.remaining
    items = page.items
    if _selects(query):
        items = [data for data in items if _selected(json.loads(data), query)]
    head = json.dumps({"kind": f"{kind.kind}List", "apiVersion": kind.version, "metadata": metadata})
    # The items of a list don't repeat its kind, with which every stored object begins.
    short = [b"{" + data.split(b",", 2)[2] for data in items]
    return head[:-1].encode() + b',"items":[' + b",".join(short) + b"]}"


def watched(handler: Handler, call: Call, kind: Kind, namespace: str) -> None:
    """Send events until the watch's time is over, or a test ends it."""
    fake = handler.fake
    seconds = float(call.query.get("timeoutSeconds") or DEFAULT_TIMEOUT_SECONDS)
    framed = fake.protobuf and wants_frames(handler.headers.get("Accept", ""), kind)
    handler.send_response(200)
    handler.send_header("Content-Type", MEDIA_TYPE if framed else "application/json")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.flush()
    end = time.monotonic() + seconds
    handler.close_connection = True
    for line in _lines(handler, call, kind, namespace, end):
        if handler.closed():
            return
        while fake.faults.silent and not handler.closed():
            time.sleep(POLL_SECONDS)
        chunk = frame_of(line) if framed else line
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        handler.wfile.flush()
    if not handler.closed():
        handler.wfile.write(b"0\r\n\r\n")
        handler.close_connection = False


def _lines(handler: Handler, call: Call, kind: Kind, namespace: str, end: float) -> Iterator[bytes]:
    fake, query = handler.fake, call.query
    bookmarks = query.get("allowWatchBookmarks") == "true"
    given = query.get("resourceVersion") or "0"
    since = int(given)
    if given == "0" or query.get("sendInitialEvents") == "true":
        with fake.store.changed:
            since, items = fake.store.version, fake.store.all(kind.plural, namespace)
        for data in items:
            yield _line("ADDED", data)
        if query.get("sendInitialEvents") == "true":
            yield _bookmark(kind, since, initial=True)
    told_at = time.monotonic()

    def over() -> bool:
        return handler.closed() or time.monotonic() >= end

    try:
        for event in fake.store.events(since, over, POLL_SECONDS):
            if event is not None:
                since = event.version
                yield from _told(handler, event, kind, namespace, query)
            if bookmarks and time.monotonic() - told_at >= fake.bookmark_seconds:
                told_at = time.monotonic()
                yield _bookmark(kind, since)
    except RejectedError as rejection:
        yield _line("ERROR", rejection.status())


def _told(
    handler: Handler, event: Event, kind: Kind, namespace: str, query: dict[str, str]
) -> Iterator[bytes]:
    if event.plural != kind.plural or namespace not in ("", event.key[0]):
        return
    type_, data = event.type, event.data
    if _selects(query):
        was = event.before is not None and _selected(json.loads(event.before), query)
        is_ = type_ != "DELETED" and _selected(json.loads(data), query)
        if not (was or is_):
            return
        type_ = "MODIFIED" if was and is_ else "ADDED" if is_ else "DELETED"
    edit = handler.fake.faults.edit
    if edit is None:
        yield _line(type_, data)
    else:
        yield from (line + b"\n" for line in edit(type_, json.loads(data)))


def event_line(type_: str, item: Manifest) -> bytes:
    """Return a line of a watch, without its end."""
    return json.dumps({"type": type_, "object": item}).encode()


def _line(type_: str, data: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (type_.encode(), data)


def _bookmark(kind: Kind, version: int, *, initial: bool = False) -> bytes:
    metadata: Manifest = {"resourceVersion": str(version)}
    if initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    item = {"kind": kind.kind, "apiVersion": kind.version, "metadata": metadata}
    return _line("BOOKMARK", json.dumps(item).encode())


def _place(token: str) -> tuple[int, int]:
    if not token:
        return 0, 0
    try:
        place = json.loads(base64.urlsafe_b64decode(token))
        return int(place["start"]), int(place["version"])
    except (ValueError, KeyError) as error:
        raise RejectedError(400, "BadRequest", "continue key is not valid") from error


def _selects(query: dict[str, str]) -> bool:
    return bool(query.get("fieldSelector") or query.get("labelSelector"))


def _selected(item: Manifest, query: dict[str, str]) -> bool:
    fields = query.get("fieldSelector", "")
    labels = query.get("labelSelector", "")
    return all(_holds(term, lambda path: _field(item, path)) for term in fields.split(",") if term) and all(
        _holds(term, lambda name: str(item["metadata"].get("labels", {}).get(name, "")))
        for term in labels.split(",")
        if term
    )


def _holds(term: str, value: Callable[[str], str]) -> bool:
    unequal = "!=" in term
    name, _, wanted = term.partition("!=" if unequal else "=")
    return (value(name) == wanted.removeprefix("=")) != unequal


def _field(item: Manifest, path: str) -> str:
    value: object = item
    for name in path.split("."):
        value = value.get(name, "") if isinstance(value, dict) else ""
    return str(value)
