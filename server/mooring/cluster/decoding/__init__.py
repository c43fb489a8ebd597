"""The API's encodings to objects: JSON, protobuf, manifests. Both encodings give the same objects."""

from mooring.cluster.decoding.checks import checked
from mooring.cluster.decoding.json_objects import (
    decode_json,
    decode_kind,
    decode_pod,
    decode_sent,
    from_manifest,
    has_uid,
)
from mooring.cluster.decoding.protobuf_objects import (
    decode_kind_protobuf,
    decode_protobuf,
    has_uid_protobuf,
)

__all__ = [
    "checked",
    "decode_json",
    "decode_kind",
    "decode_kind_protobuf",
    "decode_pod",
    "decode_protobuf",
    "decode_sent",
    "from_manifest",
    "has_uid",
    "has_uid_protobuf",
]
