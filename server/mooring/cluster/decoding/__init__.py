"""The API's encodings to objects: JSON, protobuf, manifests. Both encodings give the same objects."""

from mooring.cluster.decoding.checks import checked
from mooring.cluster.decoding.json_objects import (
    decode_json,
    decode_kind,
    decode_pod,
    from_manifest,
)
from mooring.cluster.decoding.protobuf_objects import (
    decode_kind_protobuf,
    decode_protobuf,
)

__all__ = [
    "checked",
    "decode_json",
    "decode_kind",
    "decode_kind_protobuf",
    "decode_pod",
    "decode_protobuf",
    "from_manifest",
]
