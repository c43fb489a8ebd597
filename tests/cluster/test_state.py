from typing import Any

import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.framework.node_table import CPU_ROW, PODS_ROW
from mooring.framework.objects import Pod
from mooring.framework.pod_table import UNPLACED
from mooring.framework.state import IMAGES_ALONE, RELABELLED, UNREAD
from mooring.testing.builders import make_node, make_pod
from tests.cluster.histories import classes

IMAGES = [{"names": ["app:1"], "sizeBytes": 5}]


def cpu_on(state: State, node: str) -> int:
    table = state.snapshot.nodes
    return int(table.requested[CPU_ROW, table.index[node]])


def pods_on(state: State, node: str) -> set[str]:
    snapshot = state.snapshot
    row = snapshot.nodes.index[node]
    pods = {pod.metadata.name for pod in snapshot.pods.on_row(row)}
    assert snapshot.nodes.requested[PODS_ROW, row] == len(pods)
    return pods


def loaded(*objects: object) -> State:
    state = State()
    state.replace("test", objects)  # type: ignore[arg-type] # builders give what sources give
    return state


def test_nodes_get_rows_in_name_order_at_a_full_load() -> None:
    state = loaded(make_node("c"), make_node("a"), make_node("b"))
    assert state.snapshot.nodes.index == {"a": 0, "b": 1, "c": 2}


def test_the_rows_of_all_nodes_are_one_array_until_a_node_comes_or_goes() -> None:
    state = loaded(make_node("a"), make_node("b"))
    table = state.snapshot.nodes
    before = table.rows()
    state.apply("test", [Put(make_node("a", labels={"disk": "fast"}))])
    assert table.rows() is before
    state.apply("test", [Put(make_node("c")), Remove("Node", "", "b")])
    assert (table.rows().tolist(), before.tolist()) == ([0, 2], [0, 1])
    assert state.fork().snapshot.nodes.rows().tolist() == [0, 2]


def test_a_pod_whose_node_is_unknown_waits_for_it() -> None:
    state = loaded(make_pod("p", node="n", requests={"cpu": "1"}))
    assert state.snapshot.pods.records["pod/default/p"].row == UNPLACED
    state.apply("test", [Put(make_node("n"))])
    assert pods_on(state, "n") == {"p"}
    assert cpu_on(state, "n") == 1000
    state.apply("test", [Remove("Node", "", "n")])
    assert state.snapshot.pods.records["pod/default/p"].row == UNPLACED
    assert classes(state.snapshot.pods) == {}


@pytest.mark.parametrize("way", ["assumed", "alike", "bound", "gone"])
def test_what_becomes_of_a_pod_that_waits_is_one_change(way: str) -> None:
    state = State()
    state.apply("test", [Put(make_node("n")), Put(make_pod("p"))])
    before, pod, kind = state.version, make_pod("p"), state.kind_of(make_pod("p"))
    match way:
        case "assumed":
            state.assume(pod, "n")
        case "alike":
            state.assume_alike(pod, kind, ["p"], [pod.metadata.uid], [0])
        case "bound":
            state.apply("test", [Put(make_pod("p", node="n"))])
        case _:
            state.discard(pod.metadata.uid)
    [(row, record, amount)] = state.changes_since(before) or ()
    assert record is not None
    assert record.name == "p"
    assert (row, amount) == ((UNPLACED, -1) if way == "gone" else (0, 1))


def test_an_assumed_pod_counts_until_it_is_forgotten() -> None:
    state = loaded(make_node("n"))
    state.assume(make_pod("p", requests={"cpu": "1"}), "n")
    assert cpu_on(state, "n") == 1000
    state.forget("pod/default/p")
    assert cpu_on(state, "n") == 0
    assert len(state.snapshot.pods) == 0


def test_forgetting_returns_a_delivered_pod_to_the_pending_ones() -> None:
    pod = make_pod("p")
    state = loaded(make_node("n"), pod)
    state.assume(pod, "n")
    assert list(state.snapshot.pods.pending()) == []
    state.forget(pod.metadata.uid)
    assert list(state.snapshot.pods.pending()) == [pod]


@pytest.mark.parametrize(
    ("delivered", "node", "assumed"),
    [
        pytest.param(make_pod("p"), "a", True, id="still pending: the assumption stays"),
        pytest.param(make_pod("p", node="a"), "a", False, id="same node: confirmed"),
        pytest.param(make_pod("p", node="b"), "b", False, id="another node: moved"),
    ],
)
def test_what_a_source_says_of_an_assumed_pod(delivered: object, node: str, assumed: bool) -> None:
    state = loaded(make_node("a"), make_node("b"))
    state.assume(make_pod("p"), "a")
    state.apply("test", [Put(delivered)])  # type: ignore[arg-type] # parametrised
    assert pods_on(state, node) == {"p"}
    assert state.snapshot.pods.records["pod/default/p"].assumed is assumed


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(make_pod("p", node="n", labels={"app": "a", "zone": "z"}), id="other labels"),
        pytest.param(
            make_pod("p", node="n", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            id="it is being deleted",
        ),
    ],
)
def test_a_pod_of_another_class_keeps_its_place_among_those_of_its_node(now: Pod) -> None:
    before, other = make_pod("p", node="n", labels={"app": "a"}), make_pod("q", node="n")
    state = loaded(make_node("n"), before, other)
    version = state.version
    state.apply("test", [Put(now)])
    pods = state.snapshot.pods
    assert list(pods.on_row(0)) == [now, other]
    assert pods.classes.numbers.keys() == {
        pods.records[uid].kind.class_key for uid in pods.classes.uids_on(0)
    }
    assert sorted(classes(pods).values(), key=str) == [{0: 1}, {0: 1}]
    assert [amount for _, _, amount in state.changes_since(version) or ()] == [-RELABELLED, RELABELLED]


def test_assuming_a_pod_that_is_elsewhere_is_rejected() -> None:
    state = loaded(make_node("a"), make_node("b"), make_pod("p", node="a"))
    state.assume(make_pod("p"), "a")
    with pytest.raises(FailedPreconditionError) as raised:
        state.assume(make_pod("p"), "b")
    assert raised.value.reason == "POD_BOUND_ELSEWHERE"
    with pytest.raises(KeyError):
        state.assume(make_pod("q"), "nowhere")


def test_a_finished_pod_leaves() -> None:
    state = loaded(make_node("n"), make_pod("p", node="n", requests={"cpu": "1"}))
    state.apply("test", [Put(make_pod("p", node="n", status={"phase": "Succeeded"}))])
    assert cpu_on(state, "n") == 0
    assert state.find_pod("default", "p") is None


def test_a_reused_name_is_another_pod() -> None:
    state = loaded(make_node("n"), make_pod("p", node="n", metadata={"uid": "1"}))
    state.apply("test", [Put(make_pod("p", metadata={"uid": "2"}))])
    assert pods_on(state, "n") == set()
    assert set(state.snapshot.pods.records) == {"2"}
    state.apply("test", [Remove("Pod", "default", "p", uid="1")])
    assert set(state.snapshot.pods.records) == {"2"}
    state.apply("test", [Remove("Pod", "default", "p", uid="2")])
    assert len(state.snapshot.pods) == 0


def test_a_finished_namesake_in_the_same_load_displaces_nobody() -> None:
    running = make_pod("p", node="n", metadata={"uid": "2"})
    finished = make_pod("p", node="n", metadata={"uid": "1"}, status={"phase": "Succeeded"})
    assert pods_on(loaded(make_node("n"), running, finished), "n") == {"p"}
    assert set(State().fork(pods=[running, finished]).snapshot.pods.records) == {"2"}


def test_sources_own_disjoint_objects_and_a_rejected_batch_changes_nothing() -> None:
    state = loaded(make_node("n"), make_pod("p"))
    version = state.version
    for taken in (make_node("n"), make_pod("p"), make_pod("p", metadata={"uid": "other"})):
        with pytest.raises(InvalidArgumentError, match="source 'test' has it"):
            state.apply("second", [Put(make_node("m")), Put(taken)])
    assert state.version == version
    assert set(state.snapshot.nodes.index) == {"n"}


def test_a_full_load_touches_only_what_changed() -> None:
    nodes = [make_node(name) for name in "abc"]
    state = loaded(*nodes)
    version, epoch = state.version, state.snapshot.nodes.epoch
    state.replace("test", nodes)
    assert (state.version, state.snapshot.nodes.epoch) == (version, epoch)
    state.replace("test", [nodes[0], make_node("b", labels={"x": "y"}), nodes[2]])
    assert state.changes_since(version) == [(1, None, 0)]
    assert state.snapshot.nodes.epoch == epoch


def test_a_full_load_of_one_kind_leaves_the_others() -> None:
    state = loaded(make_node("a"), make_node("b"), make_pod("p", node="a"))
    state.replace("test", [make_node("a")], kind="Node")
    assert set(state.snapshot.nodes.index) == {"a"}
    assert pods_on(state, "a") == {"p"}
    state.replace("test", [], kind="Pod")
    assert len(state.snapshot.pods) == 0
    assert set(state.snapshot.nodes.index) == {"a"}


@pytest.mark.parametrize(
    ("fields", "change", "row_is_new"),
    [
        pytest.param({}, UNREAD, False, id="heartbeat"),
        pytest.param({"status": {"images": IMAGES}}, IMAGES_ALONE, True, id="images"),
        pytest.param({"status": {"images": IMAGES}, "labels": {"x": "y"}}, 0, True, id="images-and-labels"),
        pytest.param({"spec": {"unschedulable": True}}, 0, True, id="cordoned"),
    ],
)
def test_what_changed_of_a_node_is_told(fields: dict[str, Any], change: int, row_is_new: bool) -> None:
    state = loaded(make_node("n", metadata={"resourceVersion": "1"}))
    before, row_version = state.version, int(state.snapshot.nodes.row_version[0])
    state.apply("test", [Put(make_node("n", metadata={"resourceVersion": "2"}, **fields))])
    assert state.changes_since(before) == [(0, None, change)]
    assert (state.snapshot.nodes.row_version[0] != row_version) == row_is_new


def test_a_log_that_is_too_short_says_so() -> None:
    state = State(log_length=2)
    state.replace("test", [make_node("a"), make_node("b")])
    assert state.changes_since(state.version - 2) is not None
    state.apply("test", [Put(make_node("a", labels={"x": "y"}))])
    assert state.changes_since(state.version - 3) is None
    assert state.changes_since(state.version + 1) is None


def test_an_images_size_is_that_of_the_first_node_that_listed_it() -> None:
    def listing(node: str, size: int) -> Put:
        return Put(make_node(node, status={"images": [{"names": ["app:1"], "sizeBytes": size}]}))

    state = State()
    state.apply("test", [listing("a", 5), listing("b", 7)])
    table = state.snapshot.nodes
    use = table.images["app:1"]
    assert (use.size, sorted(use.sets)) == (5, sorted(table.image_set[:2].tolist()))
    state.apply("test", [listing("a", 6)])
    assert state.snapshot.nodes.images["app:1"].size == 5
    state.apply("test", [Remove("Node", "", "a"), listing("b", 8)])
    assert state.snapshot.nodes.images["app:1"].size == 8
    state.apply("test", [Remove("Node", "", "b")])
    assert state.snapshot.nodes.images == {}


def test_after_a_full_load_readers_look_at_every_row() -> None:
    state = State(log_length=8)
    state.replace("test", [make_node(f"node-{number}") for number in range(9)])
    assert state.changes_since(0) is None
    assert state.changes_since(state.version) == ()
    before = state.version
    state.apply("test", [Put(make_node("node-9"))])
    assert state.changes_since(before) == [(state.snapshot.nodes.index["node-9"], None, 0)]
    assert state.changes_since(before - 1) is None
