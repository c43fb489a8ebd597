"""Finalizers are written without a change of anything else of an object."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.cluster.cluster_api import with_finalizers
from mooring.cluster.decoding.protobuf_objects import ENVELOPE
from mooring.framework.cluster_api import ObjectReference
from mooring.kubernetes.v1 import meta_pb2

STORED = sorted((Path(__file__).parents[1] / "testdata" / "protobuf").glob("resourceclaim-*.k8s.pb"))


def raw(stored: bytes) -> bytes:
    """Return the object in the envelope."""
    return meta_pb2.Unknown.FromString(stored[len(ENVELOPE) :]).raw


@pytest.mark.parametrize("file", STORED, ids=lambda file: file.name.split(".")[0])
@pytest.mark.parametrize(
    "fields", [{}, {"uid": "u", "resource_version": "7"}], ids=["any version", "one version"]
)
def test_all_else_is_as_it_is_stored(file: Path, fields: dict[str, str]) -> None:
    stored = file.read_bytes()
    target = ObjectReference("ResourceClaim", "default", "c", **fields)
    written = with_finalizers(stored, target, ["a", "b"])
    before, after = (meta_pb2.PartialObjectMetadata.FromString(raw(item)) for item in (stored, written))
    meta, known = after.metadata, before.metadata
    assert list(meta.finalizers) == ["a", "b"]
    assert meta.uid == fields.get("uid", known.uid)
    assert meta.resource_version == fields.get("resource_version", known.resource_version)
    for metadata in (meta, known):
        for name in ("finalizers", "uid", "resource_version"):
            metadata.ClearField(name)
    assert meta == known
    for item in (before, after):
        item.ClearField("metadata")
    assert before.SerializeToString() == after.SerializeToString() != b"", "spec and status, byte for byte"
