"""The API's encodings to objects: JSON, protobuf, manifests. Both encodings give the same objects."""

from mooring.cluster.decoding.json_objects import decode_json, decode_node, decode_pod, from_manifest

__all__ = ["decode_json", "decode_node", "decode_pod", "from_manifest"]
