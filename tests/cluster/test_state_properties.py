import copy

from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_table import UNPLACED
from tests.cluster.histories import changes, content, nodes, pods, rebuilt

Step = Put | Remove | list[Node | Pod] | tuple[Pod, str] | str


def steps() -> st.SearchStrategy[Step]:
    """Return a change, a full load, an assumption, or taking one back."""
    return st.one_of(
        changes(),
        changes(),
        st.lists(st.one_of(nodes(), pods()), max_size=6),
        st.tuples(pods(), st.sampled_from("abcd")),
        st.sampled_from(("p1", "q1", "r2")),
    )


def run(state: State, history: list[Step]) -> None:
    for step in history:
        if isinstance(step, Put | Remove):
            state.apply("test", [step])
        elif isinstance(step, list):
            state.replace("test", step)
        elif isinstance(step, str):
            state.forget(step)
        else:
            pod, node = step
            record = state.snapshot.pods.get(pod.metadata.uid)
            if node in state.snapshot.nodes.index and not (record and record.pod.spec.node_name):
                state.assume(pod, node)


@given(st.lists(steps(), max_size=25))
def test_any_history_leads_to_the_state_that_its_last_objects_give(history: list[Step]) -> None:
    state = State()
    run(state, history)
    assert content(state) == content(rebuilt(state))


@given(st.lists(steps(), max_size=25), st.lists(steps(), max_size=10))
def test_counts_that_are_kept_are_those_of_a_walk(history: list[Step], on_fork: list[Step]) -> None:
    state = State()
    run(state, history)
    fork = state.fork()
    run(fork, on_fork)
    for each in (state, fork):
        pods = each.snapshot.pods
        assert pods.pending_count == sum(1 for _ in pods.pending())
        assert pods.assumed_count == sum(record.assumed for record in pods.records.values())


@given(
    st.lists(steps(), max_size=15),
    st.lists(steps(), max_size=10),
    st.lists(steps(), max_size=10),
    st.booleans(),
)
def test_a_fork_and_its_origin_never_show_in_each_other(
    history: list[Step], on_origin: list[Step], on_fork: list[Step], fork_first: bool
) -> None:
    state = State()
    run(state, history)
    fork = state.fork()
    before = copy.deepcopy(content(state))
    assert content(fork) == before
    if fork_first:
        run(fork, on_fork)
        assert content(state) == before
        run(state, on_origin)
    else:
        run(state, on_origin)
        assert content(fork) == before
        run(fork, on_fork)
    alone = State()
    run(alone, [*history, *on_origin])
    assert content(state) == content(alone)


@given(st.lists(steps(), max_size=10), st.lists(nodes(), max_size=3), st.lists(pods(("x", "y")), max_size=3))
def test_a_forks_nodes_and_pods_are_there_on_top_of_the_rest(
    history: list[Step], extra_nodes: list[Node], extra_pods: list[Pod]
) -> None:
    state = State()
    run(state, history)
    fork = state.fork(extra_nodes, extra_pods)
    same = rebuilt(state)
    same.apply("test", [*map(Put, extra_nodes), *map(Put, extra_pods)])
    assert content(fork) == content(same)


@given(st.lists(steps(), max_size=12), st.lists(steps(), min_size=1, max_size=6))
def test_every_row_that_changed_is_in_the_log(history: list[Step], later: list[Step]) -> None:
    state = State()
    run(state, history)
    version, before = state.version, content(state)
    run(state, later)
    logged = state.changes_since(version)
    assert logged is not None
    assert len(logged) == state.version - version
    touched = {state.snapshot.nodes.names[row] for row, _, _ in logged if row != UNPLACED}
    after = content(state)
    changed = {
        name
        for name in before["nodes"].keys() & after["nodes"].keys()
        if before["nodes"][name] != after["nodes"][name]
    } | (after["nodes"].keys() - before["nodes"].keys())
    assert changed <= touched
    assert (state.version == version) <= (before == after)


@given(st.lists(steps(), max_size=20))
def test_pods_that_a_source_has_are_found_by_their_names(history: list[Step]) -> None:
    state = State()
    run(state, history)
    held = {uid for uid in state.snapshot.pods.records if state._delivered.get(uid, uid) is not None}
    found = {
        record.uid
        for record in state.snapshot.pods.records.values()
        if (pod := state.find_pod(record.namespace, record.name)) is not None
        and pod.metadata.uid == record.uid
    }
    assert found == held
