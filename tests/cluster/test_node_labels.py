"""A node's labels are a mapping like any other, whatever of them is shared."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import decode_node
from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.framework.columns import MAX_LABEL_COLUMNS
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
    assert decode_node(to_json(node)) == node


def test_columns_of_any_number_of_keys_are_right_and_few_are_kept() -> None:
    state, keys = State(), [f"k{at}" for at in range(3 * MAX_LABEL_COLUMNS)]

    def put(value: str) -> None:
        state.apply("test", [Put(make_node("n0", labels=dict.fromkeys(keys, value)))])

    put("before")
    table = state.snapshot.nodes
    for at, key in enumerate((*keys, *keys[:9])):
        put(f"v{at}")
        column = table.label(key)
        assert column.values[column.ids[table.index["n0"]]] == f"v{at}"
    assert len(table.label_columns) == MAX_LABEL_COLUMNS
