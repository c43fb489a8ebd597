"""Pods that come to the state in parts."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.cluster.interning import same_template
from mooring.cluster.kinds import Change, Put, PutPod
from mooring.cluster.pod_parts import PodParts
from mooring.cluster.state import State
from mooring.framework import Pod
from mooring.framework.cluster_events import StateChange
from mooring.framework.errors import InvalidArgumentError
from mooring.testing import make_node
from tests.cluster.messages import objects
from tests.examples import examples

NAMES = st.sampled_from(["a", "b"])


def told(changes: Iterable[Change | PutPod]) -> tuple[list[object], list[StateChange], list[str]]:
    """Return a state's pods after these changes, the notifications about them, and the rejected ones."""
    state, heard, rejected = State(), list[StateChange](), list[str]()
    state.replace("test", [make_node("a"), make_node("b")])
    state.subscribe(heard.append)
    for change in changes:
        try:
            state.apply("test", [change])
        except InvalidArgumentError as error:
            rejected.append(error.message)
    written = state.changes_since(0)
    records = sorted(state.snapshot.pods.records.items())
    return [records, state.version, [(row, kind) for row, _, kind in written or ()]], heard, rejected


def in_parts(pod: Pod, *, shared: bool) -> PodParts:
    """Return the pod in parts; its template may be shared with other pods."""
    parts = PodParts.of(pod)
    return replace(parts, template=same_template(parts.template)) if shared else parts


@examples(100)
@given(st.lists(st.tuples(objects(Pod), NAMES, st.sampled_from(["", "a", "b"]), st.booleans()), max_size=4))
def test_in_parts_they_are_what_they_are_as_a_whole(found: list[tuple[Pod, str, str, bool]]) -> None:
    pods = [
        replace(
            pod,
            metadata=replace(pod.metadata, name=name, uid=f"uid-{name}"),
            spec=replace(pod.spec, node_name=node),
        )
        for pod, name, node, _ in found
    ]
    # Each a second time, when its kind is known.
    pods, shared = pods * 2, [shared for *_, shared in found] * 2
    parts = [in_parts(pod, shared=each) for pod, each in zip(pods, shared, strict=True)]
    assert [each.pod for each in parts] == pods
    assert told(map(PutPod, parts)) == told(map(Put, pods))
