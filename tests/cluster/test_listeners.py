from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Change, Put, Remove
from mooring.cluster.state import State
from mooring.framework.cluster_events import ObjectChange, PodRecordChange, StateChange
from mooring.framework.errors import FailedPreconditionError
from mooring.framework.objects import Node, Pod
from mooring.testing.builders import make_node, make_pod
from tests.cluster import histories

PENDING = make_pod("p")
BOUND = make_pod("p", node="n")
FINISHED = make_pod("p", node="n", status={"phase": "Succeeded"})
NODE = make_node("n")
CORDONED = make_node("n", spec={"unschedulable": True})
NAMED = {"metadata": {"name": "s", "namespace": "default"}}
SERVICE = from_manifest({"kind": "Service", **NAMED, "spec": {"selector": {"app": "web"}}})
OTHER_SERVICE = from_manifest({"kind": "Service", **NAMED, "spec": {"selector": {"app": "db"}}})


def listening(state: State) -> list[ObjectChange]:
    heard: list[ObjectChange] = []
    state.subscribe(lambda change: heard.append(whole(change)))
    return heard


def whole(change: StateChange) -> ObjectChange:
    return change.whole() if isinstance(change, PodRecordChange) else change


def test_every_change_of_a_source_is_told_once_and_in_order() -> None:
    state = State()
    heard = listening(state)
    state.apply("test", [Put(NODE), Put(PENDING), Put(PENDING), Put(SERVICE), Put(SERVICE)])
    state.apply("test", [Put(CORDONED), Put(BOUND), Put(FINISHED), Put(OTHER_SERVICE)])
    state.apply("test", [Remove("Node", "", "n"), Remove("Node", "", "n"), Remove("Service", "default", "s")])
    assert heard == [
        ObjectChange("Node", None, NODE),
        ObjectChange("Pod", None, PENDING),
        ObjectChange("Service", None, SERVICE),
        ObjectChange("Node", NODE, CORDONED),
        ObjectChange("Pod", PENDING, BOUND),
        ObjectChange("Pod", BOUND, FINISHED),
        ObjectChange("Service", SERVICE, OTHER_SERVICE),
        ObjectChange("Node", CORDONED, None),
        ObjectChange("Service", OTHER_SERVICE, None),
    ]


def test_a_full_load_tells_what_differs_from_before() -> None:
    state = State()
    state.replace("test", [NODE, BOUND, SERVICE])
    heard = listening(state)
    state.replace("test", [NODE, BOUND, SERVICE])
    assert heard == []
    state.replace("test", [CORDONED, make_node("m")])
    assert heard == [
        ObjectChange("Pod", BOUND, None),
        ObjectChange("Service", SERVICE, None),
        ObjectChange("Node", None, make_node("m")),
        ObjectChange("Node", NODE, CORDONED),
    ]


def test_a_name_that_is_used_again_is_told_as_two_pods() -> None:
    state = State()
    old, new = make_pod("p", metadata={"uid": "1"}), make_pod("p", metadata={"uid": "2"})
    state.replace("test", [old])
    heard = listening(state)
    state.apply("test", [Put(new)])
    assert heard == [ObjectChange("Pod", old, None), ObjectChange("Pod", None, new)]


def test_what_was_only_decided_is_not_told() -> None:
    state = State()
    state.replace("test", [NODE, PENDING])
    heard = listening(state)
    state.assume(PENDING, "n")
    state.forget(PENDING.metadata.uid)
    state.assume(PENDING, "n")
    state.apply("test", [Put(BOUND)])
    state.assume(make_pod("q"), "n")
    state.apply("test", [Put(make_pod("q", node="n"))])
    assert heard == [
        ObjectChange("Pod", PENDING, BOUND),
        ObjectChange("Pod", None, make_pod("q", node="n")),
    ]


def test_a_listener_finds_the_lock_held() -> None:
    state = State()
    held: list[bool] = []
    state.subscribe(lambda _: held.append(state.lock._is_owned()))  # type: ignore[attr-defined] # CPython has it
    state.replace("test", [NODE])
    assert held == [True]


def test_a_fork_tells_nobody() -> None:
    state = State()
    heard = listening(state)
    state.fork(nodes=[NODE], pods=[PENDING])
    assert heard == []


Step = list[Change] | tuple[Node | Pod, ...] | Pod


@given(
    st.lists(
        st.one_of(
            st.lists(histories.changes(), max_size=4),
            st.lists(st.one_of(histories.nodes(), histories.pods()), max_size=4).map(tuple),
            histories.pods(),
        ),
        max_size=12,
    )
)
def test_who_listens_from_the_start_knows_what_the_source_has(steps: list[Step]) -> None:
    state = State()
    mirror: dict[tuple[str, str], object] = {}

    def note(told: StateChange) -> None:
        change = whole(told)
        item = change.new or change.old
        key = (change.kind, item.metadata.uid if change.kind == "Pod" else item.metadata.name)
        assert mirror.pop(key, None) == change.old
        if change.new is not None and not (isinstance(change.new, Pod) and change.new.finished):
            mirror[key] = change.new

    state.subscribe(note)
    for step in steps:
        if isinstance(step, list):
            state.apply("test", step)
        elif isinstance(step, tuple):
            state.replace("test", step)
        elif state.snapshot.nodes.index and not step.finished:
            try:
                state.assume(step, min(state.snapshot.nodes.index))
            except FailedPreconditionError:
                continue
    delivered = {
        ("Pod", uid): record.pod
        for uid, record in state.snapshot.pods.records.items()
        if uid not in state._delivered
    }
    delivered |= {("Pod", uid): known.pod for uid, known in state._delivered.items() if known is not None}
    nodes = {("Node", node.metadata.name): node for node in state.snapshot.nodes.nodes if node is not None}
    assert mirror == delivered | nodes
