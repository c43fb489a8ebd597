"""Random histories of a cluster, and a way to compare states that doesn't depend on row numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_classes import NO_CLASS, ClassKey
from mooring.framework.pod_table import UNPLACED, AffinityClass, PodTable
from mooring.testing.builders import make_node, make_pod

NODE_NAMES = ("a", "b", "c", "d")
POD_NAMES = ("p", "q", "r", "s", "t")
LABEL_KEYS = ("zone", "kubernetes.io/hostname", "absent")
IMAGE_SIZES = {"app:1": 10, "db:2": 20, "web:3": 30}
"""Every node gives an image the same size, so that it doesn't matter which one came first."""

AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
TOKEN = {"name": "token", "projected": {}}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    labels = {"zone": zone} if (zone := draw(st.sampled_from(("", "x", "y")))) else {}
    images = draw(st.sets(st.sampled_from(sorted(IMAGE_SIZES))))
    return make_node(
        draw(st.sampled_from(NODE_NAMES)),
        labels=labels,
        allocatable=draw(st.sampled_from([{}, {"cpu": "8"}, {"example.com/gpu": 2}])),
        taints=draw(st.sampled_from([[], [{"key": "k", "effect": "NoSchedule"}]])),
        spec={"unschedulable": draw(st.booleans())},
        status={"images": [{"names": [name], "sizeBytes": IMAGE_SIZES[name]} for name in sorted(images)]},
    )


@st.composite
def pods(draw: st.DrawFn, names: tuple[str, ...] = POD_NAMES) -> Pod:
    name = draw(st.sampled_from(names))
    port: dict[str, Any] = draw(
        st.sampled_from([{}, {"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}])
    )
    return make_pod(
        name,
        node=draw(st.sampled_from(("", *NODE_NAMES))),
        labels=draw(st.sampled_from([None, {"app": "web"}])),
        metadata={
            "uid": name + draw(st.sampled_from("12")),
            **draw(st.sampled_from([{}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}])),
        },
        spec={
            "containers": [
                {
                    "name": "main",
                    "resources": {
                        "requests": draw(st.sampled_from([{}, {"cpu": "1"}, {"example.com/fpga": 1}]))
                    },
                    "ports": [{"protocol": "TCP", **port}] if port else [],
                }
            ],
            "affinity": draw(st.sampled_from([None, AFFINITY])),
            "volumes": draw(st.sampled_from([[], [TOKEN], [TOKEN, CLAIM]])),
        },
        status={"phase": draw(st.sampled_from(("Pending", "Running", "Running", "Succeeded")))},
    )


def removals() -> st.SearchStrategy[Remove]:
    return st.one_of(
        st.builds(Remove, st.just("Node"), st.just(""), st.sampled_from(NODE_NAMES)),
        st.builds(
            Remove,
            st.just("Pod"),
            st.just("default"),
            st.sampled_from(POD_NAMES),
            st.sampled_from(("", "p1", "q2")),
        ),
    )


def changes() -> st.SearchStrategy[Put | Remove]:
    return st.one_of(st.builds(Put, nodes()), st.builds(Put, pods()), st.builds(Put, pods()), removals())


def rebuilt(state: State) -> State:
    """Return a fresh state with the other one's last objects, and then its assumed pods."""
    records = state.snapshot.pods.records
    delivered = (records | state._delivered).values()
    fresh = State()
    fresh.replace("test", [node for node in state.snapshot.nodes.nodes if node is not None])
    fresh.apply("test", [Put(record.pod) for record in delivered if record is not None])
    for uid in state._delivered:
        pod = records[uid].pod
        name = pod.spec.node_name
        gone = name not in fresh.snapshot.nodes.index
        if gone:
            fresh.apply("test", [Put(make_node(name))])
        fresh.assume(pod, name)
        if gone:
            fresh.apply("test", [Remove("Node", "", name)])
    return fresh


def content(state: State) -> dict[str, Any]:
    """Return every column and index of both tables, by node name instead of by row, without what is empty."""
    table, pod_table = state.snapshot.nodes, state.snapshot.pods
    name_of = dict(enumerate(table.names)) | {UNPLACED: ""}
    resources = sorted(table.resource_index.items())

    def per_node(row: int) -> dict[str, Any]:
        return {
            "node": table.nodes[row],
            "alive": bool(table.alive[row]),
            "allocatable": {
                name: int(table.allocatable[at, row]) for name, at in resources if table.allocatable[at, row]
            },
            "requested": {
                name: int(table.requested[at, row]) for name, at in resources if table.requested[at, row]
            },
            "non_zero": table.non_zero_requested[:, row].tolist(),
            "unschedulable": bool(table.unschedulable[row]),
            "taints": table.taint_sets[table.taint_set[row]],
            "labels": {key: (column := table.label(key)).values[column.ids[row]] for key in LABEL_KEYS},
            "pods": set(pod_table.classes.uids_on(row)),
        }

    return {
        "nodes": {name: per_node(row) for name, row in table.index.items()},
        "free": [
            row
            for row in range(table.capacity)
            if not table.alive[row]
            and (
                table.names[row]
                or table.nodes[row]
                or table.allocatable[:, row].any()
                or table.requested[:, row].any()
                or table.non_zero_requested[:, row].any()
                or table.unschedulable[row]
                or table.taint_set[row]
                or table.image_set[row]
                or any(table.label(key).ids[row] for key in LABEL_KEYS)
            )
        ],
        "ports": {
            key: {name_of[row]: by_ip for row, by_ip in by_row.items()} for key, by_row in table.ports.items()
        },
        "images": {
            name: (use.size, sorted(n for n, row in table.index.items() if table.image_set[row] in use.sets))
            for name, use in table.images.items()
        },
        "records": {
            uid: (
                record.pod,
                name_of[record.row],
                record.kind,
                record.assumed,
            )
            for uid, record in pod_table.records.items()
        },
        "classes": {
            key: {name_of[row]: n for row, n in counts.items()} for key, counts in classes(pod_table).items()
        },
        "rows": sorted(name_of[row] for row in pod_table.classes.places),
        "with_storage": {name_of[row]: set(uids) for row, uids in pod_table.with_storage.items()},
        "affinities": {
            key: (a.key, a.terms, {name_of[row]: n for row, n in checked_counts(a).items()})
            for key, a in pod_table.affinities.items()
        },
    }


def classes(pods: PodTable) -> dict[ClassKey, Counter[int]]:
    """Return how many pods of each class are on each row."""
    table = pods.classes
    counts: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for number, row in table.placed.T.tolist():
        if number != NO_CLASS:
            counts[number][row] += 1
    assert counts.keys() == set(table.numbers.values())
    return {key: counts[number] for key, number in table.numbers.items()}


def checked_counts(pods: AffinityClass) -> dict[int, int]:
    """Return the counts of a class, once its column has been found to say the same."""
    if pods.column is not None:
        assert {row: int(pods.column[row]) for row in pods.column.nonzero()[0].tolist()} == pods.counts
    return pods.counts
