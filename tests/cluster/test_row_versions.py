"""Each write to a part of a row that Filter may read changes the row's version.

Verdicts are kept for as long as ``as_of_now`` says the same of pods like one and of the row. So every method
of the state that writes is called here, and what can be read of each row is compared before and after.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.cluster import table_writer
from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework import NodeTable, Pod
from mooring.framework.objects import PersistentVolumeClaim
from mooring.framework.pod_table import UNPLACED, PodRecord, PodTable
from mooring.framework.row_versions import as_of_now
from mooring.framework.view import Snapshot
from mooring.testing import make_node, make_pod
from tests.cluster.histories import NODE_NAMES, POD_NAMES, changes, checked_counts, nodes, pods
from tests.examples import examples

Read = Callable[[Snapshot, int], object]

OF_A_ROW: dict[str, Read] = {
    "row_epoch": lambda tables, row: int(tables.nodes.row_epoch[row]),
    "names": lambda tables, row: tables.nodes.names[row],
    "index": lambda tables, row: tables.nodes.index.get(tables.nodes.names[row]),
    "nodes": lambda tables, row: _node(tables.nodes, row),
    "alive": lambda tables, row: bool(tables.nodes.alive[row]),
    "allocatable": lambda tables, row: _amounts(tables.nodes, "allocatable", row),
    "requested": lambda tables, row: _amounts(tables.nodes, "requested", row),
    "non_zero_requested": lambda tables, row: tables.nodes.non_zero_requested[:, row].tolist(),
    "unschedulable": lambda tables, row: bool(tables.nodes.unschedulable[row]),
    "taint_set": lambda tables, row: tables.nodes.taint_sets[tables.nodes.taint_set[row]],
    "volumes_version": lambda tables, row: int(tables.nodes.volumes_version[row]),
    "storage_version": lambda tables, row: int(tables.nodes.storage_version[row]),
    "ports": lambda tables, row: {
        port: dict(by_row[row]) for port, by_row in tables.nodes.ports.items() if row in by_row
    },
    "image_set": lambda tables, row: int(tables.nodes.image_set[row]),
    "label_columns": lambda tables, row: {
        key: column.values[column.ids[row]] for key, column in tables.nodes.label_columns.items()
    },
    "records": lambda tables, row: [_record(record) for record in tables.pods.records_on(row)],
    "with_storage": lambda tables, row: list(tables.pods.with_storage.get(row, ())),
    "classes": lambda tables, row: list(tables.pods.classes.uids_on(row)),
    "affinities": lambda tables, row: {
        key: count
        for key, affinity in tables.pods.affinities.items()
        if (count := checked_counts(affinity).get(row))
    },
    "nominated": lambda tables, row: [
        _record(tables.pods.records[uid])
        for uid in tables.pods.nominated.get(tables.nodes.names[row] or "nothing", ())
    ],
}
"""Reads of one row, by the attribute of the node table or the pod table that has it."""

OF_ALL = {
    *("lock", "epoch", "first_epoch", "resource_index", "taint_sets", "volume_changes", "row_version"),
    *("image_set_nodes", "images", "version_but_images", "label_keys", "_rows"),
    *("claim_users", "ephemeral_users", "priorities", "selected_keys", "groups"),
    *("pending_count", "assumed_count"),
}
"""The attributes that are not about one row. A plugin that reads them declares that it reads other nodes, and
its verdicts are not cached.
"""


def _node(table: NodeTable, row: int) -> object:
    node = table.nodes[row]
    return node and replace(node, metadata=replace(node.metadata, resource_version=""))


def _amounts(table: NodeTable, column: str, row: int) -> dict[str, int]:
    amounts = getattr(table, column)[:, row].tolist()
    return {name: amounts[at] for name, at in table.resource_index.items() if amounts[at]}


def _record(record: PodRecord) -> tuple[Pod, bool]:
    return record.pod, record.assumed


class Watched:
    """A state, and the values of its rows after the last step."""

    def __init__(self) -> None:
        self.state = State()
        self._pods = 0
        self.state.apply("test", map(Put, (make_node(name) for name in NODE_NAMES[:3])))
        for key in ("zone", "kubernetes.io/hostname"):
            self.state.snapshot.nodes.label(key)
        self.look()

    def look(self) -> None:
        """Read every row, and the verdicts for pods like one."""
        tables = self.state.snapshot
        self.rows = [
            {name: read(tables, row) for name, read in OF_A_ROW.items()}
            for row in range(tables.nodes.capacity)
        ]
        self.as_of = as_of_now(make_pod("asking"), tables)

    def check(self) -> None:
        """Whatever reads differently has a sign of it."""
        rows, as_of = self.rows, self.as_of
        self.look()
        if self.as_of.like != as_of.like:
            return
        for row, (before, now) in enumerate(zip(rows, self.rows, strict=False)):
            if self.as_of.versions[row] == as_of.versions[row]:
                assert now == before

    def uid(self, at: int) -> str:
        """Return one of the pods that are there, or of none."""
        known = sorted(self.state.snapshot.pods.records)
        return known[at % len(known)] if known else "nobody"

    def node(self, at: int) -> str:
        """Return one of the nodes that are there."""
        known = sorted(self.state.snapshot.nodes.index)
        return known[at % len(known)] if known else ""

    def waits(self, uid: str) -> bool:
        """Return whether the pod is there, without a node."""
        record = self.state.snapshot.pods.get(uid)
        return record is not None and not record.node_name

    def new_name(self) -> str:
        """Return a name that no pod has had."""
        self._pods += 1
        return f"new-{self._pods}"


Step = Callable[[Watched], None]
NUMBERS = st.integers(0, 9)


def claim(volume: str) -> PersistentVolumeClaim:
    manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "data"},
        "spec": {"volumeName": volume} if volume else {},
    }
    item = from_manifest(manifest)
    assert isinstance(item, PersistentVolumeClaim)
    return item


CLAIMS = st.builds(claim, st.sampled_from(("", "v", "w")))
NOMINATED = st.builds(
    lambda name, node, priority, cpu: make_pod(
        name,
        metadata={"uid": f"{name}1"},
        requests={"cpu": cpu},
        spec={"priority": priority},
        status={"nominatedNodeName": node},
    ),
    st.sampled_from(POD_NAMES),
    st.sampled_from(("", *NODE_NAMES)),
    st.sampled_from((0, 10)),
    st.sampled_from(("1", "2")),
)
CHANGES = st.one_of(
    changes(),
    st.builds(Put, NOMINATED),
    st.builds(Put, NOMINATED),
    st.builds(Put, CLAIMS),
    st.just(Remove("PersistentVolumeClaim", "default", "data")),
)
OBJECTS = st.lists(st.one_of(nodes(), pods(), NOMINATED, CLAIMS), max_size=6)


def applied(some: list[Put | Remove]) -> Step:
    return lambda watched: watched.state.apply("test", some)


def replaced(objects: list[Any], kind: str) -> Step:
    some = [item for item in objects if kind in ("", type(item).__name__)]
    return lambda watched: watched.state.replace("test", some, kind=kind)


def assumed(pod: Pod, at: int, *, known: bool) -> Step:
    def step(watched: Watched) -> None:
        uid = watched.uid(at)
        here = watched.state.snapshot.pods.records[uid].pod if known and watched.waits(uid) else pod
        if watched.node(at) and (watched.waits(here.metadata.uid) or here is pod):
            meta = here.metadata
            if here is pod:
                meta = replace(meta, name=watched.new_name(), uid=watched.new_name())
            here = replace(here, metadata=meta, spec=replace(here.spec, node_name=""))
            watched.state.assume(here, watched.node(at))

    return step


def assumed_alike(pod: Pod, at: int, known: list[int]) -> Step:
    def step(watched: Watched) -> None:
        state = watched.state
        if not watched.node(at):
            return
        pod_ = replace(pod, spec=replace(pod.spec, node_name=""))
        uids = {uid for uid in map(watched.uid, known) if watched.waits(uid)} | {watched.new_name()}
        rows = [state.snapshot.nodes.index[watched.node(at + number)] for number in range(len(uids))]
        state.assume_alike(pod_, state.kind_of(pod_), sorted(uids), sorted(uids), rows)

    return step


def nominated(at: int, node: str) -> Step:
    return lambda watched: watched.state.nominate(watched.uid(at), node)


def on_a_copy(copy: Callable[[State], State], change: Callable[[Watched], None]) -> Step:
    """Return a change of a private copy, which has no sources; then on with the original."""

    def step(watched: Watched) -> None:
        original = watched.state
        watched.state = copy(original)
        change(watched)
        watched.check()
        watched.state = original
        watched.look()

    return step


def twin_of(state: State) -> State:
    twin = State()
    state.copy_to(twin)
    return twin


def followed(some: list[Put | Remove]) -> Step:
    """Return a step with another copy's writes."""

    def change(watched: Watched) -> None:
        twin = twin_of(watched.state)
        with twin.lock:
            journal = twin.journal()
        twin.apply("other", some)
        watched.state.write_entries(journal.between(0, journal.end) or ())

    return on_a_copy(State.fork, change)


def forked(some_nodes: list[Any], some_pods: list[Pod]) -> Step:
    return on_a_copy(lambda state: state.fork(some_nodes, some_pods), lambda _: None)


def discarded(at: int) -> Step:
    return on_a_copy(State.fork, lambda watched: watched.state.discard(watched.uid(at)))


WRITERS: dict[str, st.SearchStrategy[Step]] = {
    "apply": st.builds(applied, st.lists(CHANGES, min_size=1, max_size=3)),
    "replace": st.builds(replaced, OBJECTS, st.sampled_from(("", "Pod", "Node"))),
    "assume": st.builds(assumed, st.one_of(pods(), NOMINATED), NUMBERS, known=st.booleans()),
    "assume_alike": st.builds(
        assumed_alike, st.one_of(pods(), NOMINATED), NUMBERS, st.lists(NUMBERS, max_size=3)
    ),
    "forget": st.builds(lambda at: lambda watched: watched.state.forget(watched.uid(at)), NUMBERS),
    "discard": st.builds(discarded, NUMBERS),
    "nominate": st.builds(nominated, NUMBERS, st.sampled_from(("", *NODE_NAMES))),
    "assume_object": st.builds(lambda item: lambda watched: watched.state.assume_object(item), CLAIMS),
    "forget_object": st.just(
        lambda watched: watched.state.forget_object(PersistentVolumeClaim, "data", "default")
    ),
    "write_entries": st.builds(followed, st.lists(CHANGES, min_size=1, max_size=3)),
    "fork": st.builds(forked, st.lists(nodes(), max_size=2), st.lists(pods(("x", "y")), max_size=2)),
    "copy_to": st.just(on_a_copy(twin_of, lambda _: None)),
}
"""The state's methods that write, each with its possible arguments."""

READERS = {
    *("changes_since", "find_pod", "pod_uids", "count_of", "kind_of", "kind_like", "kind_labelled"),
    *("subscribe", "journal", "end_journal"),
}
"""Those that write nothing that Filter reads."""


@examples(300)
@given(st.lists(st.one_of(*WRITERS.values()), max_size=20))
def test_what_is_read_of_a_row_changes_with_a_sign_of_it_alone(steps: list[Step]) -> None:
    watched = Watched()
    for step in steps:
        step(watched)
        watched.check()


def test_every_method_of_the_state_is_known_as_a_writer_or_a_reader() -> None:
    methods = {name for name, _ in inspect.getmembers(State, inspect.isfunction) if not name.startswith("_")}
    assert WRITERS.keys() | READERS == methods
    assert not [name for name in READERS if "_publish" in getattr(State, name).__code__.co_names]


def test_everything_in_the_tables_is_known_as_of_a_row_or_of_all() -> None:
    attributes = {each.name for table in (NodeTable, PodTable) for each in fields(table)}
    assert OF_A_ROW.keys() | OF_ALL == attributes
    assert not OF_A_ROW.keys() & OF_ALL


def waiting(name: str = "x", node: str = "a", **changed: Any) -> Pod:
    """Return a pod that is nominated for a node."""
    status = {"nominatedNodeName": node} if node else {}
    fields = {"requests": {"cpu": "1"}, "metadata": {"uid": name}, "spec": {"priority": 10}, **changed}
    return make_pod(name, status=status, **fields)


def put(*items: Any) -> Step:
    return applied([Put(item) for item in items])


def assumed_with_others(watched: Watched) -> None:
    state, pod = watched.state, waiting()
    rows = [state.snapshot.nodes.index["b"]] * 2
    state.assume_alike(pod, state.kind_of(pod), ["x", "other"], ["x", "other"], rows)


ENDS: dict[str, Step] = {
    "moved": put(waiting(node="b")),
    "cleared in its status": put(waiting(node="")),
    "cleared here": lambda watched: watched.state.nominate("x", ""),
    "moved here": lambda watched: watched.state.nominate("x", "b"),
    "bound elsewhere": put(make_pod("x", node="b", metadata={"uid": "x"})),
    "bound to an unknown node": put(make_pod("x", node="z", metadata={"uid": "x"})),
    "assumed elsewhere": lambda watched: watched.state.assume(waiting(), "b"),
    "assumed elsewhere with others": assumed_with_others,
    "moved in a full load": replaced([*map(make_node, "abc"), waiting(node="b")], ""),
    "moved in a list of pods": replaced([waiting(node="b")], "Pod"),
    "not in a list of pods": replaced([], "Pod"),
    "deleted": applied([Remove("Pod", "default", "x")]),
    "discarded": lambda watched: watched.state.discard("x"),
    "finished": put(replace(waiting(), status=replace(waiting().status, phase="Failed"))),
    "recreated": put(waiting(node="", metadata={"uid": "another"})),
    "less important": put(waiting(spec={"priority": 0})),
    "smaller": put(waiting(requests={"cpu": "100m"})),
}
"""The possible ends of a nominated pod."""


def row_of_a(watched: Watched) -> int:
    state = watched.state
    return int(state.snapshot.nodes.row_version[state.snapshot.nodes.index["a"]])


@pytest.mark.parametrize("end", [pytest.param(step, id=name) for name, step in ENDS.items()])
def test_a_node_is_another_one_when_a_nomination_for_it_ends(end: Step) -> None:
    watched = Watched()
    put(waiting())(watched)
    before = row_of_a(watched)
    end(watched)
    assert row_of_a(watched) != before


def test_a_nomination_that_stays_leaves_the_node_as_it_is() -> None:
    watched = Watched()
    put(waiting())(watched)
    before = row_of_a(watched)
    put(waiting(), make_pod("other", node="b"))(watched)
    watched.state.nominate("x", "a")
    assert row_of_a(watched) == before


def test_an_end_that_nobody_is_told_of_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_writer, "_has_room", lambda record: record.row != UNPLACED)
    watched = Watched()
    put(waiting())(watched)
    watched.look()
    put(waiting(node="b"))(watched)
    with pytest.raises(AssertionError):
        watched.check()
