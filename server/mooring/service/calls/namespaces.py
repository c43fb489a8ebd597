"""The namespaces whose pods a request names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from google.protobuf.message import Message

from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError
from mooring_client.v1.objects_pb2 import PodSource

PodDecoder = Callable[[str, bytes, str], Pod]
"""Decodes a pod of an encoding, "json" or "protobuf", for an error at a path."""

NAMED: Final = {"namespace", "namespaces"}
"""The fields that hold namespaces, in every message."""


def no_pod(_encoding: str, _data: bytes, path: str) -> Pod:
    """Decode nothing: pods in requests count as being of every namespace."""
    raise InvalidArgumentError.at(path, "is not read here")


def namespaces_of(request: Message, decode: PodDecoder) -> frozenset[str]:
    """Return the namespaces that a request names; none, or "" among them = it is about all.

    A pod that can't be decoded counts as all; the servicer reports its fault.
    """
    return frozenset(_found(request, decode))


def _found(message: Message, decode: PodDecoder) -> Iterator[str]:
    if isinstance(message, PodSource) and message.HasField("object"):
        yield _decoded(message, decode)
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            inner: Iterable[Message] = value if field.is_repeated else (value,)
            if not field.message_type.GetOptions().map_entry:
                for each in inner:
                    yield from _found(each, decode)
        elif field.name in NAMED:
            yield from value if field.is_repeated else (value,)


def _decoded(source: PodSource, decode: PodDecoder) -> str:
    encoding = source.object.WhichOneof("encoding")
    if encoding is None:
        return ""
    try:
        return decode(encoding, getattr(source.object, encoding), "").metadata.namespace
    except InvalidArgumentError:
        return ""
