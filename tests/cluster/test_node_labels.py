"""A node's labels are a mapping like any other, whatever of them is shared."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import decode_kind
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework.columns import MAX_LABEL_COLUMNS
from mooring.framework.objects import Node
from mooring.testing.builders import make_node, to_json

_TEXTS = st.sampled_from(("a", "b", "node", "other"))
_LABELS = st.dictionaries(_TEXTS, _TEXTS)


@given(_LABELS, _LABELS, _TEXTS)
def test_they_are_those_of_the_manifest(labels: dict[str, str], other: dict[str, str], key: str) -> None:
    expected = {"kubernetes.io/hostname": "node"} | labels
    node = make_node("node", labels=labels)
    found = node.metadata.labels
    assert found == expected
    assert expected == found
    assert (dict(found), len(found), sorted(found)) == (expected, len(expected), sorted(expected))
    assert (found.get(key), key in found) == (expected.get(key), key in expected)
    same = make_node("node", labels=other).metadata.labels == found
    assert same == ({"kubernetes.io/hostname": "node"} | other == expected)
    assert copy.deepcopy(found) == found


def test_nodes_that_differ_in_their_names_alone_share_the_other_labels() -> None:
    one, other = (make_node(name, labels={"pool": "a"}).metadata.labels for name in ("node-1", "node-2"))
    assert one != other
    assert one["pool"] is other["pool"]
    assert {**one, "kubernetes.io/hostname": "node-2"} == other


def test_they_are_written_as_any_labels() -> None:
    node = make_node("node", labels={"pool": "a"})
    assert decode_kind(to_json(node), Node) == node


def test_columns_of_any_number_of_keys_are_right_and_few_are_kept() -> None:
    state, keys = State(), [f"k{at}" for at in range(3 * MAX_LABEL_COLUMNS)]

    def put(value: str) -> None:
        state.apply("test", [Put(make_node("n0", labels=dict.fromkeys(keys, value)))])

    put("before")
    table = state.snapshot.nodes
    for at, key in enumerate((*keys, *keys[:9])):
        put("ab"[at % 2])
        column = table.label(key)
        assert column.values[column.ids[table.index["n0"]]] == "ab"[at % 2]
    assert len(table.label_columns) == MAX_LABEL_COLUMNS


def test_a_key_that_no_node_has_takes_no_column() -> None:
    state = State()
    state.apply(
        "test", [Put(make_node("n0", labels={"pool": "a"})), Put(make_node("n1", labels={"pool": "b"}))]
    )
    table = state.snapshot.nodes
    assert [table.label(key).ids.any() for key in ("pool", "named by a pod")] == [True, False]
    assert list(table.label_columns) == ["pool"]


def test_the_keys_that_nodes_have_are_known_while_nodes_come_change_and_go() -> None:
    state = State()

    def keys() -> set[str]:
        return set(state.snapshot.nodes.label_keys - {"kubernetes.io/hostname"})

    state.apply("test", [Put(make_node(name, labels={"pool": "a"})) for name in ("n0", "n1")])
    fork = state.fork()
    assert keys() == {"pool"}
    state.apply("test", [Put(make_node("n0", labels={"zone": "a"}))])
    assert keys() == {"pool", "zone"}
    state.apply("test", [Remove("Node", "", "n1")])
    assert keys() == {"zone"}
    state.apply("test", [Remove("Node", "", "n0")])
    assert keys() == set()
    fork.apply("test", [Put(make_node("n2", labels={"rack": "1"}))])
    assert fork.snapshot.nodes.label_keys == {"kubernetes.io/hostname", "pool", "rack"}
