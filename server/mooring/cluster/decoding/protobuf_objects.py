"""Protobuf, bare or in the API server's envelope, to objects."""

from __future__ import annotations

from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from mooring.cluster.decoding.errors import check_size, rejected
from mooring.cluster.decoding.json_objects import agreed_kind, reject_other_kind
from mooring.cluster.decoding.messages import object_from
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.kubernetes.v1 import (
    claim_pb2,
    device_pb2,
    group_pb2,
    meta_pb2,
    node_pb2,
    pod_pb2,
    storage_pb2,
    workload_pb2,
)

ENVELOPE = b"k8s\0"
"""The first bytes of objects that the API server stores and sends; no bare message begins like this."""

_FILES = (claim_pb2, device_pb2, group_pb2, meta_pb2, node_pb2, pod_pb2, storage_pb2, workload_pb2)

_NAMED: dict[str, Descriptor] = {
    name: message for file in _FILES for name, message in file.DESCRIPTOR.message_types_by_name.items()
}

_OTHER_NAMES = {"ResourceClaim": "DeviceResourceClaim"}
"""Messages that are not called like their kinds: a container's resources have one of that name."""

MESSAGES: dict[str, type[Message]] = {
    kind: GetMessageClass(_NAMED[_OTHER_NAMES.get(kind, kind)]) for kind in KINDS
}
"""The message of each kind, by its API name."""

OLDER_MESSAGES: dict[tuple[str, str], type[Message]] = {
    ("PodGroup", "scheduling.k8s.io/v1alpha2"): group_pb2.AlphaPodGroup,
    ("Workload", "scheduling.k8s.io/v1alpha2"): group_pb2.AlphaWorkload,
}
"""The message of a kind in an API version whose field numbers are others."""

MessageT = TypeVar("MessageT", bound=Message)
ObjectT = TypeVar("ObjectT", bound=ClusterObject)


def decode_kind_protobuf(data: bytes, kind: type[ObjectT]) -> ObjectT:
    """Return an object of this kind from protobuf, bare or in the envelope. Unknown fields are ignored.
    Raises InvalidArgumentError, with the field's path, if it is malformed, of another kind, or can't be used.
    """
    stated, data = _opened(data)
    reject_other_kind(kind, stated)
    return object_from(_parsed(MESSAGES[kind.__name__], data), kind)


def has_uid_protobuf(data: bytes, kind: type[ClusterObject]) -> bool:
    """Return whether an object in protobuf, which can be decoded, says its UID."""
    message: Any = _parsed(MESSAGES[kind.__name__], _opened(data)[1])
    return bool(message.metadata.uid)


def decode_protobuf(data: bytes, kind: str = "", api_version: str = "") -> ClusterObject | None:
    """Return an object of any kind; None when it is of a kind that the state doesn't keep.

    Bare messages don't say their ``kind`` and ``api_version``; the envelope's must agree with these, "" =
    what the envelope says, or the kind's newest version. Raises InvalidArgumentError, with the field's path,
    if it is malformed, of another or no kind, or can't be used.
    """
    stated, data = _opened(data)
    wanted = agreed_kind((kind, api_version), stated)
    if wanted is None:
        return None
    version = api_version or stated[1]
    kind_of_message = OLDER_MESSAGES.get((wanted.__name__, version), MESSAGES[wanted.__name__])
    return object_from(_parsed(kind_of_message, data), wanted)


def _opened(data: bytes) -> tuple[tuple[str, str], bytes]:
    """Return kind and API version of an envelope, "" = none, and the message in it."""
    check_size(data)
    if not data.startswith(ENVELOPE):
        return ("", ""), data
    envelope = _parsed(meta_pb2.Unknown, data[len(ENVELOPE) :])
    if envelope.content_encoding or envelope.content_type not in ("", "application/vnd.kubernetes.protobuf"):
        raise rejected(
            "", f"the envelope holds {envelope.content_encoding} {envelope.content_type}, not protobuf"
        )
    return (envelope.type_meta.kind, envelope.type_meta.api_version), envelope.raw


def _parsed(kind: type[MessageT], data: bytes) -> MessageT:
    try:
        return kind.FromString(data)
    except DecodeError:
        raise rejected("", f"{len(data)} bytes are not a {kind.DESCRIPTOR.name} in protobuf") from None
