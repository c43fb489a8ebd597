"""Pods from messages: what the JSON says, and in full once for each template."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.cluster.decoding import decode_json, known_pods
from mooring.cluster.decoding.known_pods import KnownPods
from mooring.cluster.decoding.messages import object_from
from mooring.cluster.kinds import ClusterObject
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Pod
from mooring.kubernetes.v1 import meta_pb2, pod_pb2, volume_pb2
from tests.cluster.messages import each_field, message_of, objects
from tests.examples import examples

OWN_PARTS = ("name", "uid", "resource_version", "creation_timestamp", "labels")
FIXTURES = Path(__file__).parents[1] / "testdata" / "protobuf"
NAMES = sorted(file.stem for file in FIXTURES.glob("pod*.json") if file.stem.partition("-")[0] == "pod")


def of_message(pods: KnownPods, data: bytes) -> ClusterObject | str:
    """Return the pod, or the text of the rejection."""
    try:
        return pods.decode(pod_pb2.Pod.FromString(data)).pod
    except InvalidArgumentError as error:
        return error.message


def of_json(data: bytes) -> ClusterObject | str | None:
    """Return the same from JSON."""
    try:
        return decode_json(data, "Pod")
    except InvalidArgumentError as error:
        return error.message


def check(pods: KnownPods, pod: Pod) -> None:
    # Go writes the entries of a map in the order of their keys.
    expected = of_json(msgspec.json.encode(pod, order="deterministic"))
    assert of_message(pods, message_of(pod).SerializeToString()) == expected


def of_same_template(item: Pod, other: Pod) -> Pod:
    """Return ``item`` with ``other``'s own fields."""
    own = {name: getattr(other.metadata, name) for name in OWN_PARTS}
    return Pod(
        replace(item.metadata, **own),
        replace(item.spec, node_name=other.spec.node_name),
        replace(item.status, start_time=other.status.start_time),
    )


@examples(100)
@given(objects(Pod), st.lists(objects(Pod), min_size=1, max_size=3))
def test_a_pod_whose_template_is_known_is_what_its_json_says(item: Pod, others: list[Pod]) -> None:
    pods = KnownPods()
    for other in (item, *others):
        check(pods, of_same_template(item, other))


def test_each_field_is_read() -> None:
    pods = KnownPods()
    for pod in each_field(Pod):
        # Without a name it would be rejected, whatever else it says.
        named = replace(pod, metadata=replace(pod.metadata, name=pod.metadata.name or "x", uid="u"))
        check(pods, named)
        check(pods, named)


@pytest.mark.parametrize("name", NAMES)
def test_what_go_marshals_is_what_its_json_says(name: str) -> None:
    expected = of_json((FIXTURES / f"{name}.json").read_bytes())
    assert of_message(KnownPods(), (FIXTURES / f"{name}.pb").read_bytes()) == expected


def volume(name: str) -> pod_pb2.Pod:
    """Return a pod with the volume of a token, as its message has it: of a kind that nothing here reads."""
    source = volume_pb2.VolumeSource.FromString(b"\xd2\x01\x00")
    return pod_pb2.Pod(spec=pod_pb2.PodSpec(volumes=[volume_pb2.Volume(name=name, volume_source=source)]))


def condition(at: int) -> pod_pb2.Pod:
    """Return a pod with a condition since then, which nothing here reads."""
    told = pod_pb2.PodCondition(type="Ready", status="True", last_transition_time=meta_pb2.Time(seconds=at))
    return pod_pb2.Pod(status=pod_pb2.PodStatus(conditions=[told]))


def running(at: int) -> pod_pb2.Pod:
    """Return a pod with a container that runs since then, which nothing here reads."""
    state = pod_pb2.ContainerState(
        running=pod_pb2.ContainerStateRunning(started_at=meta_pb2.Time(seconds=at))
    )
    started = pod_pb2.ContainerStatus(name="main", state=state)
    return pod_pb2.Pod(status=pod_pb2.PodStatus(container_statuses=[started]))


@pytest.mark.parametrize(
    ("one", "other", "read"),
    [
        pytest.param(pod_pb2.Pod(), pod_pb2.Pod(), 1, id="who it is"),
        pytest.param(volume("token-a"), volume("token-b"), 1, id="volumes that nothing reads"),
        pytest.param(condition(1), condition(2), 1, id="since when it is so"),
        pytest.param(running(1), running(2), 1, id="since when it runs"),
        pytest.param(pod_pb2.Pod(spec=pod_pb2.PodSpec(priority=1)), pod_pb2.Pod(), 2, id="another template"),
    ],
)
def test_a_pod_is_read_in_full_once_for_a_template(
    one: pod_pb2.Pod, other: pod_pb2.Pod, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = []

    def reading(message: pod_pb2.Pod, kind: type[Pod], *, named: bool = True) -> Pod:
        full.append(message)
        return object_from(message, kind, named=named)

    monkeypatch.setattr(known_pods, "object_from", reading)
    pods = KnownPods()
    for name, message in (("a", one), ("b", other)):
        message.metadata.MergeFrom(meta_pb2.ObjectMeta(name=name, uid=name, labels={"app": name}))
        expected = object_from(message, Pod)
        assert pods.decode(message).pod == expected
    assert len(full) == read


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x0a\x06\x0a\x01\xff\x2a\x01u", id="name"),
        pytest.param(b"\x0a\x0d\x0a\x01a\x2a\x01u\x5a\x05\x0a\x00\x12\x01\xff", id="label"),
        pytest.param(
            b"\x0a\x16\x0a\x01a\x2a\x01u\x5a\x06\x0a\x01k\x12\x01v\x5a\x06\x0a\x01\xff\x12\x01v",
            id="a label's key",
        ),
        pytest.param(b"\x0a\x06\x0a\x01a\x2a\x01u\x12\x03\x52\x01\xff", id="node"),
        pytest.param(
            b"\x0a\x12\x0a\x01a\x2a\x01u\x42\x0a\x08" + b"\xff" * 8 + b"\x7f", id="a time without a year"
        ),
    ],
)
def test_of_a_known_template_too_what_cant_be_used_is_rejected(data: bytes) -> None:
    pods, like = KnownPods(), meta_pb2.ObjectMeta(name="a", uid="u")
    assert pods.decode(pod_pb2.Pod(metadata=like)).own.name == "a"
    with pytest.raises(InvalidArgumentError):
        pods.decode(pod_pb2.Pod.FromString(data))


def test_templates_are_forgotten_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_pods, "_MAX_BYTES", 2048)
    pods = KnownPods()
    for priority in range(100):
        message = pod_pb2.Pod(
            metadata=meta_pb2.ObjectMeta(name="a", uid="u"), spec=pod_pb2.PodSpec(priority=priority)
        )
        assert pods.decode(message).template.spec.priority == priority
    assert len(pods._templates.parts) < 10
