"""Watches of pods in protobuf, as the real one has them: made from the lines of those in JSON."""

from __future__ import annotations

import json

import msgspec

from mooring.cluster.decoding.protobuf_objects import ENVELOPE
from mooring.framework.objects import Pod
from mooring.kubernetes.v1.meta_pb2 import RawExtension, Status, TypeMeta, Unknown, WatchEvent
from tests.cluster.messages import message_of
from tests.fake_api_server.kinds import Kind

MEDIA_TYPE = "application/vnd.kubernetes.protobuf;stream=watch"


def wants_frames(accept: str, kind: Kind) -> bool:
    """Return whether a watch with this Accept header is answered in protobuf; only pods are."""
    return accept.startswith(MEDIA_TYPE) and kind.kind == "Pod"


def frame_of(line: bytes) -> bytes:
    """Return the frame that says what ``line`` does; one that says nothing is a frame that says nothing."""
    try:
        event = json.loads(line)
        type_, item = event["type"], event["object"]
        kind, raw = ("Status", _status(item)) if type_ == "ERROR" else ("Pod", _pod(item))
    except (ValueError, KeyError, TypeError):
        return _framed(line)
    enveloped = (
        ENVELOPE + Unknown(type_meta=TypeMeta(api_version="v1", kind=kind), raw=raw).SerializeToString()
    )
    return _framed(WatchEvent(type=type_, object=RawExtension(raw=enveloped)).SerializeToString())


def _pod(item: object) -> bytes:
    return message_of(msgspec.convert(item, Pod)).SerializeToString()


def _status(item: dict[str, object]) -> bytes:
    return Status(
        code=int(str(item.get("code", 0))), message=str(item.get("message", ""))
    ).SerializeToString()


def _framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
