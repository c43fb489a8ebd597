"""What lists and watches send, decoded only as far as needed: objects stay bytes until they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from google.protobuf.message import DecodeError

from mooring.cluster.api import JSON, PROTOBUF, Stream
from mooring.cluster.decoding import decode_bare_pod, decode_kind
from mooring.cluster.decoding.protobuf_objects import ENVELOPE
from mooring.cluster.kinds import ClusterObject
from mooring.framework.errors import UnavailableError
from mooring.kubernetes.v1 import meta_pb2


class GoneError(Exception):
    """HTTP 410 in either form: the version is too old, and a fresh list is needed."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int = 0


class Page(msgspec.Struct):
    """A page of a list.

    Attributes:
        metadata: Its version, and the token of the next page.
        items: The objects, as bytes.
    """

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Identity(msgspec.Struct, rename="camel"):
    """The identity of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """Namespace, if any, and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def version(self) -> int:
        """The version as a number: the API compares them, and so may clients."""
        return int(self.resource_version)


class Envelope(msgspec.Struct):
    """An object of which only the identity is read."""

    metadata: Identity


class Event(msgspec.Struct):
    """A line or frame of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the object as bytes."""

    type: str
    object: msgspec.Raw


class ErrorStatus(msgspec.Struct):
    """Why a watch ends: the HTTP status, and a sentence."""

    code: int = 0
    message: str = ""


decode_page = msgspec.json.Decoder(Page).decode
decode_identity = msgspec.json.Decoder(Envelope).decode

UNREADABLE = (msgspec.MsgspecError, DecodeError, UnicodeDecodeError, RecursionError, ValueError)
"""What decoding raises on bytes that no API server would send."""


class Encoding(msgspec.Struct, frozen=True):
    """How a watch tells its events.

    Attributes:
        events: Gives the events of a stream, as bytes.
        decode_event: Reads one.
        decode_identity: Reads an event's object no further than its identity.
        decode_object: Reads it as one of a kind; raises InvalidArgumentError when it can't be used.
        decode_status: Reads the object of an ERROR.
    """

    events: Callable[[Stream], Iterator[bytes]]
    decode_event: Callable[[bytes], Event]
    decode_identity: Callable[[bytes], Envelope]
    decode_object: Callable[[bytes, type[ClusterObject]], ClusterObject]
    decode_status: Callable[[bytes], ErrorStatus]


def _event(data: bytes) -> Event:
    event = meta_pb2.WatchEvent.FromString(data)
    enveloped = event.object.raw
    if not enveloped.startswith(ENVELOPE):
        raise ValueError("an event without an object in the envelope")
    return Event(event.type, msgspec.Raw(meta_pb2.Unknown.FromString(enveloped[len(ENVELOPE) :]).raw))


def _identity(data: bytes) -> Envelope:
    meta = meta_pb2.PartialObjectMetadata.FromString(data).metadata
    return Envelope(Identity(meta.name, meta.namespace, meta.uid, meta.resource_version))


def _status(data: bytes) -> ErrorStatus:
    status = meta_pb2.Status.FromString(data)
    return ErrorStatus(status.code, status.message)


IN_JSON = Encoding(
    iter,
    msgspec.json.Decoder(Event).decode,
    decode_identity,
    decode_kind,
    msgspec.json.Decoder(ErrorStatus).decode,
)

IN_PROTOBUF = Encoding(Stream.frames, _event, _identity, lambda data, _: decode_bare_pod(data), _status)
"""For pods: objects of another kind are quicker to read from JSON."""

PREFERABLY_PROTOBUF = f"{PROTOBUF};stream=watch, {JSON}"


def encoding_of(stream: Stream) -> Encoding:
    """Return what the server chose."""
    return IN_PROTOBUF if stream.headers.get("Content-Type", "").startswith(PROTOBUF) else IN_JSON


def raise_error(status: ErrorStatus) -> None:
    """Raise what an ERROR event says.

    Raises:
        GoneError: 410.
        UnavailableError: Anything else.
    """
    if status.code == 410:
        raise GoneError(status.message)
    raise UnavailableError(
        f"the watch failed: {status.code}, {status.message}", reason="API_SERVER_UNAVAILABLE"
    )


def nonsense(error: Exception) -> UnavailableError:
    """Return the error for an answer that can't be read."""
    return UnavailableError(
        f"the API server sent what can't be read: {error}", reason="API_SERVER_UNAVAILABLE"
    )
