"""Protobuf, bare or in the API server's envelope, to objects."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from mooring.cluster.decoding.checks import checked
from mooring.cluster.decoding.errors import check_size, refused
from mooring.cluster.decoding.json_objects import agreed_kind
from mooring.cluster.decoding.messages import object_from
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.framework.objects import Node, Pod
from mooring.kubernetes.v1 import meta_pb2, node_pb2, pod_pb2

ENVELOPE = b"k8s\0"
"""The first bytes of what the API server stores and sends; no bare message begins like this."""

_MESSAGES: dict[str, type[Message]] = {
    "Namespace": meta_pb2.Namespace,
    "Node": node_pb2.Node,
    "Pod": pod_pb2.Pod,
    "PriorityClass": meta_pb2.PriorityClass,
}

MessageT = TypeVar("MessageT", bound=Message)


def decode_pod_protobuf(data: bytes, *, named: bool = True) -> Pod:
    """A pod from protobuf, bare or in the envelope. Unknown fields are ignored.

    Args:
        data: The bytes.
        named: False for a template, which needs no name.

    Raises:
        InvalidArgumentError: Malformed, no pod, or not usable; has the field's path.
    """
    item = decode_protobuf(data, "Pod", named=named)
    assert isinstance(item, Pod)  # noqa: S101 - for the type checker: the kind was asked for
    return item


def decode_node_protobuf(data: bytes) -> Node:
    """A node from protobuf, as ``decode_pod_protobuf``."""
    item = decode_protobuf(data, "Node")
    assert isinstance(item, Node)  # noqa: S101 - for the type checker: the kind was asked for
    return item


def decode_protobuf(data: bytes, kind: str = "", *, named: bool = True) -> ClusterObject | None:
    """An object of any kind; None when it is of a kind that the state doesn't keep.

    Args:
        data: The bytes.
        kind: The object's kind. Bare messages don't say theirs; the envelope's must agree.
        named: Whether a name is required.

    Raises:
        InvalidArgumentError: Malformed, of another or no kind, or not usable; has the field's path.
    """
    check_size(data)
    stated = ""
    if data.startswith(ENVELOPE):
        envelope = _parsed(meta_pb2.Unknown, data[len(ENVELOPE) :])
        if envelope.content_encoding or envelope.content_type not in (
            "",
            "application/vnd.kubernetes.protobuf",
        ):
            raise refused(
                "", f"the envelope holds {envelope.content_encoding} {envelope.content_type}, not protobuf"
            )
        stated, data = envelope.type_meta.kind, envelope.raw
    wanted = agreed_kind(kind, stated)
    if wanted not in KINDS:
        return None
    message = _parsed(_MESSAGES[wanted], data)
    try:
        item: ClusterObject = object_from(message, KINDS[wanted])
    except (ValueError, OverflowError) as error:
        raise refused("", f"the object can't be read: {error}") from None
    return checked(item, named=named)


def _parsed(kind: type[MessageT], data: bytes) -> MessageT:
    try:
        return kind.FromString(data)
    except DecodeError:
        raise refused("", f"{len(data)} bytes are no {kind.DESCRIPTOR.name} in protobuf") from None
