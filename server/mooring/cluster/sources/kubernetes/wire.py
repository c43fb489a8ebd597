"""Messages of lists and watches, decoded only as far as needed: objects stay bytes until they are read."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from google.protobuf.message import DecodeError

from mooring.cluster.decoding.protobuf_objects import ENVELOPE
from mooring.cluster.kinds import ClusterObject
from mooring.framework.errors import UnavailableError
from mooring.kubernetes.v1 import meta_pb2, pod_pb2

ObjectT = TypeVar("ObjectT", bound=ClusterObject)


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
    """An object with only its identity read."""

    metadata: Identity


class Event(msgspec.Struct):
    """A line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the object as bytes."""

    type: str
    object: msgspec.Raw


class ObjectEvent(msgspec.Struct, Generic[ObjectT]):
    """The same of an object that is decoded at once, but not checked."""

    type: str
    object: ObjectT


class ErrorStatus(msgspec.Struct):
    """Why a watch ends: the HTTP status, and a sentence."""

    code: int = 0
    message: str = ""


decode_page = msgspec.json.Decoder(Page).decode
decode_event = msgspec.json.Decoder(Event).decode
decode_identity = msgspec.json.Decoder(Envelope).decode
decode_status = msgspec.json.Decoder(ErrorStatus).decode

UNREADABLE = (msgspec.MsgspecError, DecodeError, UnicodeDecodeError, RecursionError, ValueError)
"""The decoder's exceptions for bytes that no API server would send."""


def decode_pod_event(frame: bytes) -> tuple[str, Identity, pod_pb2.Pod]:
    """Return the content of a frame of a watch of pods: the event's type, and the pod; a bookmark has
    only its version.

    Raises:
        GoneError: The watch is too old.
        UnavailableError: It failed in another way.
        DecodeError: The frame is not an event.
        ValueError: Likewise.
    """
    event = meta_pb2.WatchEvent.FromString(frame)
    type_, enveloped = event.type, event.object.raw
    if not enveloped.startswith(ENVELOPE):
        raise ValueError("an event without an object in the envelope")
    if type_ == "ERROR":
        status = meta_pb2.EnvelopedStatus.FromString(enveloped[len(ENVELOPE) :]).raw
        raise_error(ErrorStatus(status.code, status.message))
    pod = pod_pb2.EnvelopedPod.FromString(enveloped[len(ENVELOPE) :]).raw
    meta = pod.metadata
    identity = Identity(meta.name, meta.namespace, meta.uid, meta.resource_version)
    if type(identity.name) is not str or type(identity.namespace) is not str:
        raise ValueError("an object whose name is not UTF-8")  # protobuf hands it over as bytes
    return type_, identity, pod


def raise_error(status: ErrorStatus) -> None:
    """Raise what an ERROR event says: GoneError for 410, UnavailableError for anything else."""
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
