"""Equal parts of decoded objects are one object, and nothing else about them differs."""

import json
from enum import StrEnum
from typing import Any

import pytest

from mooring.cluster import interning
from mooring.cluster.decoding import decode_kind, decode_pod, from_manifest
from mooring.cluster.pod_kinds import PodKinds
from mooring.framework.objects import Node, ObjectMeta, Pod
from mooring.framework.pod_requests import NEWEST_RULES
from mooring.testing.builders import node_manifest, pod_manifest

_IMAGES = [{"names": [f"registry.example/app:{number}"], "sizeBytes": number} for number in range(3)]


class _Tier(StrEnum):
    FRONT = "front"


def _node(name: str, images: list[dict[str, Any]]) -> Node:
    labels = {"kubernetes.io/hostname": name, "example.com/pool": "pool-a"}
    manifest = node_manifest(name, labels=labels, status={"images": images})
    return decode_kind(json.dumps(manifest).encode(), Node)


def _pod(number: int) -> Pod:
    manifest = pod_manifest(
        f"pod-{number}",
        labels={"app": "web"},
        node=f"node-{number}",
        requests={"cpu": "100m"},
        metadata={"annotations": {"example.com/note": "same"}, "uid": f"uid-{number}"},
        spec={
            "volumes": [{"name": f"token-{number}", "projected": {"sources": []}}],
            "tolerations": [{"operator": "Exists"}],
        },
        status={"phase": "Running", "startTime": f"2025-01-01T00:00:0{number}Z"},
    )
    return decode_pod(json.dumps(manifest).encode())


def test_pods_of_a_template_differ_only_in_what_is_their_own() -> None:
    one, other = _pod(1), _pod(2)
    kinds = PodKinds(NEWEST_RULES)
    assert kinds.of(one) is kinds.of(other)
    assert one.spec.containers is other.spec.containers
    assert one.spec.tolerations is other.spec.tolerations
    assert one.spec.volumes == other.spec.volumes == ()
    assert one.metadata.labels is other.metadata.labels
    assert one.metadata.annotations is other.metadata.annotations
    assert (one.spec.node_name, other.spec.node_name) == ("node-1", "node-2")
    assert (one.status.start_time, other.status.start_time) == (
        "2025-01-01T00:00:01Z",
        "2025-01-01T00:00:02Z",
    )
    assert (one.status.phase, other.status.phase) == ("Running", "Running")


def test_the_kind_of_a_pod_is_made_of_the_parts_known_since_it_was_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: interning.InternTable[int, object] = interning.InternTable(interning._MAX_BYTES)
    monkeypatch.setattr(interning, "_known", known)
    pending = from_manifest(pod_manifest("pending", requests={"cpu": "100m"}))
    assert isinstance(pending, Pod)
    before = list(known.parts.values())
    PodKinds(NEWEST_RULES).of(pending)
    assert list(known.parts.values()) == before


def test_nodes_share_amounts_images_and_the_texts_of_labels() -> None:
    one, other = _node("node-1", _IMAGES), _node("node-2", _IMAGES[1:])
    assert one.status.allocatable is other.status.allocatable
    assert one.status.images[1] is other.status.images[0]
    assert _node("node-3", _IMAGES).status.images is one.status.images
    keys = [list(node.metadata.labels) for node in (one, other)]
    assert all(mine is yours for mine, yours in zip(*keys, strict=True))
    pool = "example.com/pool"
    assert one.metadata.labels[pool] is other.metadata.labels[pool]
    assert one.metadata.labels["kubernetes.io/hostname"] is one.metadata.name


def test_amounts_keep_their_spelling() -> None:
    spellings: list[int | float | str] = [1, 1.0, "1"]
    nodes = [from_manifest(node_manifest("node", allocatable={"cpu": spelling})) for spelling in spellings]
    found = [node.status.allocatable["cpu"] for node in nodes if isinstance(node, Node)]
    assert [(type(amount), amount) for amount in found] == [(type(s), s) for s in spellings]


@pytest.mark.parametrize(
    "value", [pytest.param("\ud800", id="no UTF-8"), pytest.param(_Tier.FRONT, id="an enumeration's member")]
)
def test_texts_that_are_out_of_the_ordinary_stay_as_they_are(value: str) -> None:
    pod = interning.shared(
        Pod(metadata=ObjectMeta(name="pod", labels={"example.com/tier": value})), lambda _: None
    )
    assert pod.metadata.labels["example.com/tier"] is value


def test_only_so_many_parts_are_known_and_sharing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 32
    monkeypatch.setattr(interning, "_MAX_BYTES", most * interning._PART_BYTES)
    monkeypatch.setattr(interning, "_known", interning.InternTable(interning._MAX_BYTES))
    nodes = []
    for number in range(50):
        image = {"names": [f"registry.example/app:{number}"], "sizeBytes": number}
        nodes.append(_node(f"node-{number}", [image]))
        assert len(interning._known.parts) <= most
    assert 1 < len({id(node.status.allocatable) for node in nodes}) < len(nodes) // 2


def test_labels_of_their_own_leave_nothing_behind_and_common_ones_are_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: interning.InternTable[int, object] = interning.InternTable(interning._MAX_BYTES)
    monkeypatch.setattr(interning, "_known", known)
    monkeypatch.setattr(interning, "_values", interning.SeenLately())
    count = 2 * interning._LATELY
    pods = [
        decode_pod(
            json.dumps(pod_manifest("pod", labels={"app": "web-app", "name": f"pod-{number}"})).encode()
        )
        for number in range(count)
    ]
    parts_of_all = 10
    assert len(known.parts) <= count + parts_of_all
    assert len({id(pod.metadata.labels["app"]) for pod in pods}) < count // 100


def test_pods_that_ask_for_something_else_share_their_labels() -> None:
    pods = [
        decode_pod(json.dumps(pod_manifest("pod", labels={"app": "web"}, requests={"cpu": cpu})).encode())
        for cpu in ("100m", "200m")
    ]
    one, other = (PodKinds(NEWEST_RULES).of(pod) for pod in pods)
    assert one is not other
    assert pods[0].metadata.labels is pods[1].metadata.labels


def test_a_label_that_is_the_pods_name_is_that_very_text() -> None:
    manifest = pod_manifest("web-7", labels={"app": "web", "statefulset.kubernetes.io/pod-name": "web-7"})
    pod = decode_pod(json.dumps(manifest).encode())
    assert pod.metadata.labels == manifest["metadata"]["labels"]
    assert pod.metadata.labels["statefulset.kubernetes.io/pod-name"] is pod.metadata.name


def test_long_labels_are_not_remembered() -> None:
    lately: interning.SeenLately[str] = interning.SeenLately()
    one, other = ("x" * (interning._LONGEST + 1) for _ in range(2))
    assert lately.one(one, 1, len(one)) is one
    assert lately.one(other, 1, len(other)) is other


def test_large_parts_are_known_for_as_long_as_their_bytes_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "_MAX_BYTES", 100_000)
    monkeypatch.setattr(interning, "_known", interning.InternTable(interning._MAX_BYTES))
    for number in range(50):
        interning.shared(
            Pod(metadata=ObjectMeta(annotations={f"note-{number}": "x" * 10_000})), lambda _: None
        )
        assert sum(len(interning._encode(part)) for part in interning._known.parts.values()) < 100_000


def test_a_template_longer_than_any_usual_one_goes_with_its_pods() -> None:
    known: interning.InternTable[str, str] = interning.InternTable(1 << 30)
    known.keep("usual", "part", interning._LARGEST_BYTES)
    known.keep("larger", "part", interning._LARGEST_BYTES + 1)
    assert known.parts.keys() == {"usual"}


def test_pods_share_a_large_template_while_one_has_it() -> None:
    note = "x" * (interning._LARGEST_BYTES + 1)
    kinds = PodKinds(NEWEST_RULES)
    one, other = (
        kinds.of(decode_pod(json.dumps(pod_manifest(name, metadata={"annotations": {"n": note}})).encode()))
        for name in ("a", "b")
    )
    assert one.base.template is other.base.template
