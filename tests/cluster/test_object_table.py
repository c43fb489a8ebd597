"""Objects besides nodes and pods: identity, owners, versions, forks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import KINDS, ClusterObject, Put, Remove
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Object, ObjectMeta, PersistentVolume, Service, StorageClass
from mooring.framework.pod_table import UNPLACED
from mooring.testing.builders import make_node

OTHERS = {name: kind for name, kind in KINDS.items() if name not in ("Node", "Pod")}


def made(kind: str, name: str, **metadata: Any) -> ClusterObject:
    return from_manifest({"kind": kind, "metadata": {"name": name, **metadata}})


def service(name: str = "web", **metadata: Any) -> ClusterObject:
    return made("Service", name, **metadata)


def names(state: State, kind: type[Object] = Service) -> list[str]:
    return [item.metadata.name for item in state.snapshot.objects.all(kind)]  # type: ignore[attr-defined] # a kind's


@pytest.mark.parametrize("kind", OTHERS)
def test_every_kind_comes_stays_and_goes(kind: str) -> None:
    state, item = State(), made(kind, "x")
    objects, struct, namespace = state.snapshot.objects, OTHERS[kind], item.metadata.namespace
    assert objects.version(struct) == 0
    state.apply("test", [Put(item)])
    assert objects.get(struct, "x", namespace) is item
    assert list(objects.all(struct)) == [item]
    assert list(objects.in_namespace(struct, namespace)) == [item]
    state.apply("test", [Remove(kind, namespace, "x")])
    assert objects.get(struct, "x", namespace) is None
    assert list(objects.all(struct)) == []


def test_names_are_unique_in_a_namespace_alone() -> None:
    state = State()
    state.replace(
        "test", [service(), service(namespace="other"), made("StorageClass", "web", namespace="odd")]
    )
    objects = state.snapshot.objects
    found = [objects.get(Service, "web", space) for space in ("default", "other", "")]
    assert [item.metadata.namespace if item else None for item in found] == ["default", "other", None]
    assert [item.metadata.namespace for item in objects.in_namespace(Service, "other")] == ["other"]
    assert list(objects.in_namespace(Service, "nowhere")) == []
    assert objects.get(StorageClass, "web") is not None


def test_a_full_load_replaces_what_the_source_had() -> None:
    state = State()
    state.replace("first", [service("a"), service("b"), made("PersistentVolume", "v")])
    state.replace("second", [service("c")])
    state.replace("first", [service("b")])
    assert names(state) == ["b", "c"]
    assert names(state, PersistentVolume) == []


def test_another_sources_object_is_rejected_and_nothing_changes() -> None:
    state = State()
    state.replace("first", [service()])
    version = state.version
    with pytest.raises(InvalidArgumentError, match="Service default/web: source 'first' has it"):
        state.apply("second", [Put(service("new")), Put(service(labels={"a": "b"}))])
    assert (names(state), state.version) == (["web"], version)


def test_removing_by_another_uid_removes_nothing() -> None:
    state = State()
    state.apply("test", [Put(service(uid="new"))])
    state.apply("test", [Remove("Service", "default", "web", uid="old")])
    assert names(state) == ["web"]
    state.apply("test", [Remove("Service", "default", "web", uid="new")])
    assert names(state) == []


def test_a_change_counts_for_its_kind_and_touches_no_row() -> None:
    state = State()
    state.replace("test", [make_node("n"), service(), made("StorageClass", "fast")])
    objects, before = state.snapshot.objects, state.version
    services, classes = objects.version(Service), objects.version(StorageClass)
    state.apply("test", [Put(service())])
    assert (state.version, objects.version(Service)) == (before, services)
    state.apply("test", [Put(service(labels={"a": "b"}))])
    assert state.version > before
    assert objects.version(Service) != services
    assert objects.version(StorageClass) == classes
    assert state.changes_since(before) == [(UNPLACED, None, 0)]


def test_a_name_with_a_slash_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        service("a/b")
    assert raised.value.violations[0].path == "metadata.name"


@pytest.mark.parametrize(
    ("manifest", "path"),
    [
        pytest.param(
            {"kind": "PersistentVolume", "spec": {"capacity": {"storage": "1x"}}},
            "spec.capacity[storage]",
            id="in a map",
        ),
        pytest.param({"kind": "CSIStorageCapacity", "capacity": "x"}, "capacity", id="alone"),
        pytest.param(
            {
                "kind": "ResourceSlice",
                "spec": {
                    "devices": [
                        {},
                        {"capacity": {"m": {"value": "1", "requestPolicy": {"validValues": ["1", "?"]}}}},
                    ]
                },
            },
            "spec.devices[1].capacity[m].requestPolicy.validValues[1]",
            id="deep inside",
        ),
    ],
)
def test_a_malformed_quantity_is_rejected_with_its_path(manifest: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        from_manifest({**manifest, "metadata": {"name": "x"}})
    assert raised.value.violations[0].path == path


Step = tuple[int, str, str]
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(("put", "remove", "fork")), st.sampled_from("abc")),
    max_size=25,
)


@given(STEPS)
def test_forks_share_nothing_that_changes_and_equal_versions_mean_equal_objects(steps: list[Step]) -> None:
    states, models = [State()], [dict[str, ClusterObject]()]
    delivered: list[set[str]] = [set()]
    known: dict[int, list[ClusterObject]] = {0: []}
    for number, (which, step, name) in enumerate(steps):
        at = which % len(states)
        if step == "fork":
            states.append(states[at].fork())
            models.append(models[at].copy())
            delivered.append(set())
        elif step == "put":
            item = service(name, labels={"step": str(number % 2)})
            states[at].apply("test", [Put(item)])
            models[at][name] = item
            delivered[at].add(name)
        else:
            # A fork knows no sources: only what it was given itself can be taken from it.
            states[at].apply("test", [Remove("Service", "default", name)])
            if name in delivered[at]:
                delivered[at].remove(name)
                del models[at][name]
        for state, model in zip(states, models, strict=True):
            objects = state.snapshot.objects
            assert list(objects.all(Service)) == list(model.values())
            assert known.setdefault(objects.version(Service), list(model.values())) == list(model.values())


def versioned(version: str, uid: str = "u", **labels: str) -> Service:
    return Service(metadata=ObjectMeta("s", "default", uid, version, labels))


@pytest.mark.parametrize(
    ("written", "delivered", "shown"),
    [
        pytest.param("", versioned("9"), "assumed", id="not written yet: stays"),
        pytest.param("7", versioned("6"), "assumed", id="an older version: stays"),
        pytest.param("7", versioned("7"), "delivered", id="that version: over"),
        pytest.param("7", versioned("10"), "delivered", id="a newer one, by number: over"),
        pytest.param("", versioned("9", uid="other"), "delivered", id="another object of that name: over"),
    ],
)
def test_an_assumption_lasts_until_the_source_has_caught_up(
    written: str, delivered: Service, shown: str
) -> None:
    state = State()
    state.replace("test", [versioned("5")])
    assumed = versioned(written, assumed="yes")
    state.assume_object(assumed)
    assert state.snapshot.objects.get(Service, "s", "default") == assumed
    before = state.version
    state.apply("test", [Put(delivered)])
    found = state.snapshot.objects.get(Service, "s", "default")
    assert found == {"assumed": assumed, "delivered": delivered}[shown]
    assert (state.version > before) == (shown == "delivered")
    state.forget_object(Service, "s", "default")
    assert state.snapshot.objects.get(Service, "s", "default") == delivered


def test_an_assumption_ends_with_its_object_and_never_shows_in_an_older_fork() -> None:
    state = State()
    state.replace("test", [versioned("5")])
    fork = state.fork()
    state.assume_object(versioned("", assumed="yes"))
    assert fork.snapshot.objects.get(Service, "s", "default") == versioned("5")
    state.apply("test", [Remove("Service", "default", "s")])
    assert state.snapshot.objects.get(Service, "s", "default") is None
    state.forget_object(Service, "s", "default")
    assert state.snapshot.objects.get(Service, "s", "default") is None
