"""The heap against a sorted list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mooring.scheduler.queue.heap import EntityHeap
from mooring.scheduler.queue.queued_pod import QueuedPod
from mooring.testing import make_pod

PODS = [make_pod(f"p{number}") for number in range(12)]


@given(st.lists(st.tuples(st.sampled_from(["put", "remove", "pop"]), st.integers(0, 11), st.integers(0, 99))))
def test_the_first_is_always_on_top(steps: list[tuple[str, int, int]]) -> None:
    heap = EntityHeap(lambda item: (item.queued_at, item.uid))
    model: dict[str, QueuedPod] = {}
    for kind, number, queued_at in steps:
        uid = PODS[number].metadata.uid
        if kind == "put":
            item = model.setdefault(uid, QueuedPod(PODS[number], queued_at=0.0))
            item.queued_at = float(queued_at)
            heap.put(item)
        elif kind == "remove":
            assert heap.remove(uid) is model.pop(uid, None)
        else:
            first = min(model.values(), key=lambda item: (item.queued_at, item.uid), default=None)
            assert heap.pop() is first
            if first is not None:
                del model[first.uid]
        assert {item.uid for item in heap} == model.keys()
        assert all(heap.get(uid) is item for uid, item in model.items())


def test_what_was_put_again_and_again_leaves_little_behind() -> None:
    heap = EntityHeap(lambda item: item.queued_at)
    item = QueuedPod(PODS[0], queued_at=0.0)
    for _ in range(10_000):
        heap.put(item)
    assert len(heap._heap) < 100
    assert heap.pop() is item
    assert heap.pop() is None
