import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.cluster.decoding import (
    decode_json,
    decode_kind,
    decode_kind_protobuf,
    decode_pod,
    decode_protobuf,
    from_manifest,
)
from mooring.cluster.decoding.errors import MAX_OBJECT_BYTES
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import (
    Container,
    Device,
    DeviceCapacity,
    Node,
    NodeStatus,
    Object,
    ObjectMeta,
    Pod,
    PodSpec,
    ResourceSlice,
    ResourceSliceSpec,
    Service,
)
from tests.cluster.messages import each_field, fields_of, fields_set, message_of, objects
from tests.examples import examples

FIXTURES = Path(__file__).parents[1] / "testdata" / "protobuf"
KIND_OF_FILE = {kind.lower(): kind for kind in KINDS}
NAMES = sorted(file.stem for file in FIXTURES.glob("*.json"))
ALPHA = "scheduling.k8s.io/v1alpha2"
"""A bare message does not say its version, and this one's numbers are not those of the newest."""


def outcome(data: bytes, kind: str, *, json_encoded: bool, version: str = "") -> ClusterObject | str | None:
    """Return the object, or the text of the rejection: both encodings must agree on that as well."""
    try:
        return decode_json(data, kind) if json_encoded else decode_protobuf(data, kind, version)
    except InvalidArgumentError as error:
        return error.message


@pytest.mark.parametrize("name", NAMES)
def test_what_go_marshals_is_what_its_json_says(name: str) -> None:
    kind = KIND_OF_FILE[name.partition("-")[0]]
    expected = outcome((FIXTURES / f"{name}.json").read_bytes(), kind, json_encoded=True)
    version = ALPHA if "-alpha" in name else ""
    bare = (FIXTURES / f"{name}.pb").read_bytes()
    assert outcome(bare, kind, json_encoded=False, version=version) == expected
    assert outcome((FIXTURES / f"{name}.k8s.pb").read_bytes(), "", json_encoded=False) == expected


def test_fixtures_set_every_field_of_every_kind() -> None:
    loaded = (
        outcome(
            (FIXTURES / f"{name}.json").read_bytes(), KIND_OF_FILE[name.partition("-")[0]], json_encoded=True
        )
        for name in NAMES
    )
    told = {field for item in loaded if isinstance(item, Object) for field in fields_set(item)}
    assert {field for kind in KINDS.values() for field in fields_of(kind)} - told == set()


# Python 3.14 has room to read on to the end, which is missing.
DEEP_FIELD = "truncated" if sys.version_info >= (3, 14) else "nested too deeply"


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        pytest.param("", "", "empty", id="nothing"),
        pytest.param("{", "", "truncated", id="cut off"),
        pytest.param("[" * 100_000, "", "nested too deeply", id="deep list"),
        pytest.param('{"spec":' * 100_000, "", DEEP_FIELD, id="deep field"),
        pytest.param("<html>", "", "malformed", id="no JSON"),
        pytest.param('{"metadata":{"name":NaN}}', "", "malformed", id="NaN"),
        pytest.param("{}", "metadata.name", "required", id="no name"),
        pytest.param('{"metadata":{"name":7}}', "metadata.name", "got int", id="wrong type"),
        pytest.param(
            '{"metadata":{"name":"p","namespace":"a/b"}}',
            "metadata.namespace",
            "has a slash",
            id="namespace with a slash",
        ),
        pytest.param(
            '{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"ports":[{"hostPort":"x"}]}]}}',
            "spec.containers[1].ports[0].hostPort",
            "got str",
            id="path with indices",
        ),
        pytest.param(
            '{"metadata":{"name":"p"},"spec":{"nodeName":null,"containers":[{"image":3}]}}',
            "spec.containers[0].image",
            "got int",
            id="path on the slow way",
        ),
        pytest.param(
            '{"metadata":{"name":"p"},"spec":{"overhead":{"cpu":"-1"}}}',
            "spec.overhead[cpu]",
            "negative",
            id="negative quantity",
        ),
        pytest.param(
            '{"metadata":{"name":"p"},"spec":{"overhead":{"cpu":"1x"}}}',
            "spec.overhead[cpu]",
            "not a quantity",
            id="malformed quantity",
        ),
        pytest.param(
            '{"metadata":{"name":"p"},"spec":{"priority":1000000000000000000000000000000}}',
            "spec.priority",
            "<= 2147483647",
            id="absurd number",
        ),
        pytest.param(" " * (MAX_OBJECT_BYTES + 1), "", "at most", id="too large"),
    ],
)
def test_malformed_json_is_rejected_with_the_fields_path(text: str, path: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        decode_pod(text.encode())
    violation = raised.value.violations[0]
    assert violation.path == path
    assert message in violation.message


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xff\xff\xff", id="no message"),
        pytest.param(b"k8s\0\xff", id="broken envelope"),
        pytest.param(b"\x0a\x04\x0a\x02\xff\xfe", id="name is not UTF-8"),
        pytest.param(
            b"\x0a\x0f\x0a\x01p\x42\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", id="year 292 billion"
        ),
        pytest.param(b"", id="nothing"),
    ],
)
def test_malformed_protobuf_is_rejected(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError):
        decode_kind_protobuf(data, Pod)


NAMED = ObjectMeta(name="x")
SEVERAL: dict[str, Any] = dict.fromkeys(map("example.com/{}".format, "hbgcfde"), "x")
"""Quantities none of which can be used."""
DEVICE = Device(name="d", capacity={name: DeviceCapacity(value=amount) for name, amount in SEVERAL.items()})


@pytest.mark.parametrize(
    ("item", "path"),
    [
        pytest.param(
            Node(metadata=NAMED, status=NodeStatus(allocatable=SEVERAL)),
            "status.allocatable[example.com/b]",
            id="node",
        ),
        pytest.param(
            Pod(metadata=NAMED, spec=PodSpec(overhead=SEVERAL)), "spec.overhead[example.com/b]", id="pod"
        ),
        pytest.param(
            ResourceSlice(metadata=NAMED, spec=ResourceSliceSpec(devices=(DEVICE,))),
            "spec.devices[0].capacity[example.com/b].value",
            id="values that are messages",
        ),
    ],
)
def test_of_several_faulty_entries_a_rejection_names_that_of_the_first_key(item: Object, path: str) -> None:
    """A message gives the entries of a map in no order."""
    with pytest.raises(InvalidArgumentError) as raised:
        decode_protobuf(message_of(item).SerializeToString(), type(item).__name__)
    assert [fault.path for fault in raised.value.violations] == [path]


def test_null_counts_as_absent() -> None:
    nulls = {
        "apiVersion": None,
        "metadata": {"name": "p", "namespace": None, "labels": {"a": None}, "deletionTimestamp": None},
        "spec": {
            "nodeName": None,
            "schedulerName": None,
            "affinity": None,
            "containers": [None, {"name": "c", "ports": None, "resources": {"requests": {"cpu": None}}}],
        },
        "status": None,
    }
    pod = decode_pod(json.dumps(nulls).encode())
    assert pod.metadata.labels == {"a": ""}
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.spec.containers[0] == Container()
    assert pod.spec.containers[1].resources.requests == {"cpu": 0}
    assert from_manifest({**nulls, "kind": "Pod"}) == pod


def test_an_object_without_namespace_and_uid_gets_the_same_ones_each_time() -> None:
    pod = decode_pod(b'{"metadata":{"name":"p"}}')
    assert (pod.metadata.namespace, pod.metadata.uid) == ("default", "pod/default/p")
    node = decode_kind(b'{"metadata":{"name":"n"}}', Node)
    assert (node.metadata.namespace, node.metadata.uid) == ("", "node/n")
    assert decode_pod(b"{}", named=False).metadata.uid == ""


@pytest.mark.parametrize(
    ("given", "stated", "kept"),
    [
        pytest.param("Pod", "", Pod, id="given"),
        pytest.param("", "Node", Node, id="stated"),
        pytest.param("Pod", "Pod", Pod, id="both"),
        pytest.param("", "Service", Service, id="neither node nor pod"),
        pytest.param("", "Secret", type(None), id="a kind that nobody reads"),
    ],
)
def test_the_kind_is_given_or_stated(given: str, stated: str, kept: type) -> None:
    assert type(decode_json(json.dumps({"kind": stated, "metadata": {"name": "x"}}).encode(), given)) is kept


@pytest.mark.parametrize(("given", "stated"), [("Pod", "Node"), ("", "")], ids=["contradicting", "missing"])
def test_a_kind_that_is_unclear_is_rejected(given: str, stated: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        decode_json(json.dumps({"kind": stated, "metadata": {"name": "x"}}).encode(), given)
    assert raised.value.violations[0].path == "kind"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_both_encodings_say_the_same_of_every_field(kind: type[Object]) -> None:
    for item in each_field(kind):
        # Without a name it would be rejected, whatever else it says.
        name = item.metadata.name or "x"
        check_encodings(replace(item, metadata=replace(item.metadata, name=name)))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@examples(25)
@given(st.data())
def test_both_encodings_give_the_same_object_or_the_same_rejection(
    kind: type[Object], data: st.DataObject
) -> None:
    check_encodings(data.draw(objects(kind)))


def check_encodings(item: Object) -> None:
    kind = type(item).__name__
    # Go writes the entries of a map in the order of their keys.
    as_json = outcome(msgspec.json.encode(item, order="deterministic"), kind, json_encoded=True)
    message = message_of(item).SerializeToString(deterministic=True)
    if message:
        assert outcome(message, kind, json_encoded=False) == as_json
