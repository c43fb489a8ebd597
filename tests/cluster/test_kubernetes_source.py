"""Rows B1-B10: what a live cluster's source does when the API server loses, repeats, lies or is gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.app.freshness import Freshness
from mooring.cluster.api import RESOURCES, ApiServer
from mooring.cluster.raw_objects import UNWANTED, RawObjectsOfKind
from mooring.cluster.sources import KubernetesSource, Timers
from mooring.cluster.sources.kubernetes.known import KnownObjects
from mooring.cluster.sources.kubernetes.lister import Lister
from mooring.cluster.sources.kubernetes.reflector import ANSWERS_BEHIND, Reflector
from mooring.cluster.sources.kubernetes.wire import UNREADABLE, GoneError, decode_pod_event
from mooring.cluster.state import State
from mooring.framework.errors import MooringError
from mooring.framework.node_table import CPU_ROW
from tests.cluster.breaking import (
    after,
    gone_as_a_status,
    gone_at_the_start,
    gone_midway,
    gone_while_paging,
)
from tests.cluster.following import QUICK, Following, following, held, node, pod
from tests.examples import examples
from tests.fake_api_server import Answer, Cut, FakeApiServer, Hang, event_line
from tests.fake_api_server.frames import frame_of
from tests.fake_api_server.store import Copy
from tests.process import until

AUDITING = replace(QUICK, probe=0.05)


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        yield running


@pytest.mark.parametrize("protobuf", [True, False], ids=["protobuf", "JSON"])
def test_what_changes_is_followed(fake: FakeApiServer, *, protobuf: bool) -> None:
    fake.protobuf = protobuf
    fake.add(*(node(f"n{i}") for i in range(7)), *(pod(f"p{i}", node="n1") for i in range(8)))
    with following(fake) as live:
        live.wait_equal()
        assert live.state.snapshot.nodes.index == {f"n{i}": i for i in range(7)}
        fake.add(pod("new"), node("n1", labels={"zone": "a"}), {"kind": "Service", "metadata": {"name": "s"}})
        fake.remove("Pod", "p3")
        fake.remove("Node", "n6")
        live.wait_equal()
        fake.add(pod("p1", node="n1", status={"phase": "Succeeded"}))
        live.wait_equal()
        assert [(status.node_count, status.pod_count) for status in live.source.describe()] == [(6, 7)]
        assert max(live.reflector(kind).lists for kind in ("Node", "Pod", "Service")) == 1


@pytest.mark.parametrize(
    "timers",
    [
        pytest.param(replace(QUICK, watch_shortest=1, watch_longest=1, watch_margin=0.2), id="read timeout"),
        pytest.param(AUDITING, id="the server's count"),
    ],
)
def test_watch_silent_drop(fake: FakeApiServer, timers: Timers) -> None:
    with following(fake, timers) as live:
        fake.faults.silent = True
        fake.add(pod("p"))
        opened = len(fake.history.all("WATCH", "/pods"))
        until(lambda: len(fake.history.all("WATCH", "/pods")) > opened, "a new watch")
        fake.faults.silent = False
        live.wait_equal()


@pytest.mark.parametrize(
    "happen",
    [
        pytest.param(gone_at_the_start, id="event at the start"),
        pytest.param(gone_as_a_status, id="status"),
        pytest.param(gone_midway, id="event midway"),
        pytest.param(gone_while_paging, id="status while paging"),
    ],
)
def test_watch_410_event_and_status(fake: FakeApiServer, happen: Callable[[Following], None]) -> None:
    fake.add(*(pod(f"p{i}") for i in range(5)))
    with following(fake) as live:
        happen(live)
        until(lambda: live.reflector("Pod").lists == 2, "one more list")
        fake.add(pod("after"))
        live.wait_equal()
        assert live.reflector("Pod").lists == 2


class Exhausted(Timers):
    """Pauses that are too long to wait for from the fourth failure on."""

    def backoff(self, failures: int, longest: float | None = None) -> float:
        return 0.001 if failures < 4 else 3600


def test_watch_410_after_an_outage_is_not_paused_for(fake: FakeApiServer) -> None:
    timers = Exhausted(**asdict(QUICK))
    with following(fake, timers) as live:
        fake.faults.on("WATCH", "/pods$", Cut(), times=2)
        fake.faults.on("WATCH", "/pods$", Answer(410), times=1)
        fake.add(pod("p"))
        fake.cut()
        until(lambda: live.reflector("Pod").lists == 2, "one more list")
        live.wait_equal()


def test_watch_410_for_ever_makes_no_storm(fake: FakeApiServer) -> None:
    with following(fake, replace(QUICK, backoff_first=0.1, backoff_longest=10)) as live:
        fake.faults.on("WATCH", "/pods$", Answer(410))
        fake.cut()
        until(lambda: fake.faults.met >= 4, "four watches")
        assert live.reflector("Pod").lists <= fake.faults.met + 1


@pytest.mark.parametrize("lost", ["ADDED", "DELETED"])
def test_watch_lost_delete(fake: FakeApiServer, lost: str) -> None:
    fake.add(*(pod(f"p{i}") for i in range(5)))
    with following(fake, AUDITING) as live:
        fake.faults.edit = lambda type_, item: [] if type_ == lost else [event_line(type_, item)]
        fake.remove("Pod", "p1")
        fake.add(pod("new"))
        live.wait_equal()
        until(lambda: live.reflector("Pod").lists == 2, "the list that repaired it")


def test_watch_lost_change(fake: FakeApiServer) -> None:
    fake.add(pod("p"), pod("q"))
    with following(fake, replace(AUDITING, compare=0.2)) as live:
        fake.faults.edit = lambda *_: []
        fake.add(pod("p", labels={"app": "web"}))
        fake.faults.edit = None
        live.wait_equal()


def test_audits_find_nothing_when_nothing_was_lost(fake: FakeApiServer) -> None:
    with following(fake, replace(QUICK, probe=0.2, compare=0.4)) as live:
        for round_ in range(60):
            fake.add(*(pod(f"p{round_}-{i}") for i in range(3)))
            fake.remove("Pod", f"p{round_}-0")
        live.wait_equal()
        audited = len(fake.history.all("GET", "/pods"))
        until(lambda: len(fake.history.all("GET", "/pods")) > audited + 3, "a few audits")
        assert [live.reflector(kind).lists for kind in ("Node", "Pod", "Service")] == [1, 1, 1]


@pytest.mark.parametrize("last", [{}, {"node": "n", "status": {"phase": "Failed"}}], ids=["pending", "ended"])
def test_watch_name_reuse(fake: FakeApiServer, last: dict[str, Any]) -> None:
    def merged(type_: str, item: dict[str, Any]) -> list[bytes]:
        return [] if type_ == "DELETED" else [event_line("MODIFIED", item)]

    fake.add(node("n"))
    with following(fake) as live:
        fake.faults.edit = merged
        for _ in range(50):
            fake.add(pod("p", node="n", requests={"cpu": "1"}))
            fake.remove("Pod", "p")
        fake.add(pod("p", requests={"cpu": "1"}, **last))
        live.wait_equal()
        table = live.state.snapshot.nodes
        assert table.requested[CPU_ROW, table.index["n"]] == 0


@pytest.mark.parametrize(
    ("kind", "raw_objects", "protobuf"),
    [
        pytest.param("Pod", UNWANTED, True, id="pods"),
        pytest.param("Pod", RawObjectsOfKind(lambda _: True), False, id="pods whose bytes somebody wants"),
        pytest.param("Node", UNWANTED, False, id="nodes"),
    ],
)
def test_pods_are_watched_in_protobuf_unless_their_json_is_wanted(
    kind: str, raw_objects: RawObjectsOfKind, protobuf: bool
) -> None:
    lister = Lister(ApiServer.__new__(ApiServer), RESOURCES[kind], QUICK, raw_objects)
    assert lister.accept.startswith("application/vnd.kubernetes.protobuf") is protobuf
    assert "application/json" in lister.accept


SAID: dict[str, dict[str, Any]] = {
    "a pod": {},
    "nulls": {"status": None, "metadata": {**pod("p")["metadata"], "labels": None}},
    "a quantity that can't be used": {"spec": pod("p", requests={"cpu": "plenty"})["spec"]},
    "a number for a name": {"spec": {"nodeName": 7}},
    "a slash in its name": {"metadata": {"name": "p/q", "resourceVersion": "7"}},
    "too large": {"metadata": {"name": "p", "resourceVersion": "7", "annotations": {"a": "x" * (5 << 20)}}},
}


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_an_event_says_the_same_in_one_step_and_in_two(said: dict[str, Any], type_: str) -> None:
    item = {**pod("p"), **said}
    item["metadata"] = {"resourceVersion": "7", **item["metadata"]}
    line = json.dumps({"type": type_, "object": item}).encode()
    found = []
    for raw_objects in (UNWANTED, RawObjectsOfKind(lambda _: True)):
        lister = Lister(ApiServer.__new__(ApiServer), RESOURCES["Pod"], QUICK, raw_objects)
        type_told, identity, data = lister.decode_event(line)
        found.append((type_told, identity, lister.decode_told(data, identity)))
    assert found[0] == found[1]


GARBAGE = [
    pytest.param(b'{"type":"ADDED","object":{"metadata":{"na', id="a truncated line"),
    pytest.param(b"\xff\xfe\x00", id="no UTF-8"),
    pytest.param(b"<html>502 Bad Gateway</html>", id="HTML"),
    pytest.param(b'{"type":"ADDED"}', id="no object"),
    pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"p"}}}', id="no version"),
    pytest.param(b'{"type":"ADDED","object":[]}', id="an object that is a list"),
    pytest.param(b"[" * 100_000, id="nested"),
    pytest.param(b'{"type":"ADDED","object":"' + b"x" * (17 << 20) + b'"}', id="17 MiB"),
]


@pytest.mark.parametrize("line", GARBAGE)
def test_watch_garbage(fake: FakeApiServer, line: bytes) -> None:
    with following(fake) as live:
        fake.faults.edit = lambda *_: [line]
        fake.add(pod("p"))
        opened = len(fake.history.all("WATCH", "/pods"))
        until(lambda: len(fake.history.all("WATCH", "/pods")) > opened, "a new watch")
        fake.faults.clear()
        live.wait_equal()


@pytest.mark.parametrize("body", [b"", b"{", b"<html>", b'{"items":[]}', b'{"metadata":{},"items":[{}]}'])
def test_list_garbage(fake: FakeApiServer, body: bytes) -> None:
    fake.add(pod("p"))
    fake.faults.on("GET", "/pods$", Answer(200, body=body), times=2)
    with following(fake) as live:
        live.wait_equal()


def test_a_list_that_is_cut_at_any_byte_is_read_again(fake: FakeApiServer) -> None:
    fake.add(pod("p"))
    for at_byte in range(1, 400, 23):
        fake.faults.on("GET", "/pods$", Cut(after=True, at_byte=at_byte), times=2)
    with following(fake, replace(QUICK, backoff_longest=0.01)) as live:
        live.wait_equal()


def test_an_object_that_can_not_be_read_does_not_count(
    fake: FakeApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    odd = pod("odd", requests={"cpu": "plenty"})
    fake.add(odd, pod("p"))
    with following(fake, AUDITING) as live:
        assert live.has("p")
        fake.add(pod("q", requests={"cpu": "1"}))
        until(lambda: live.has("p", "q"), "the pod q")
        fake.add(pod("q", requests={"cpu": "many"}))
        until(lambda: live.has("p"), "the pod q to be left out")
        fake.add(pod("odd"))
        until(lambda: live.has("p", "odd"), "the pod that can be read now")
        assert live.reflector("Pod").lists == 1
    assert "Pod default/odd can't be read and does not count" in caplog.text


def test_stale_apiserver(fake: FakeApiServer) -> None:
    fake.add(pod("old"))
    lagging = FakeApiServer()
    lagging.add(pod("old"))
    fake.add(pod("new"), *(pod(f"p{i}") for i in range(20)))
    with following(fake, AUDITING) as live:
        before = held(live.state)
        fake.stop()
        lagging._port = fake._port
        lagging.start()
        lagging.faults.on("GET", "", Cut(), when=after(ANSWERS_BEHIND - 1))
        until(lambda: "older than the observed" in live.reflector("Pod").error, "a list that is rejected")
        assert live.source.doubt
        until(lambda: live.source.staleness > 0.5, "staleness")
        assert held(live.state) == before
        lagging.stop()
        fake.start()
        fake.add(pod("newest"))
        live.wait_equal()
        until(lambda: live.source.staleness < 0.5, "freshness")


def test_apiserver_down(fake: FakeApiServer) -> None:
    with following(fake, AUDITING) as live:
        until(lambda: live.source.staleness < 0.5, "freshness")
        fake.stop()
        until(lambda: live.source.staleness > 1.0, "staleness")
        assert live.source.synced
        fake.add(pod("p"))
        fake.start()
        live.wait_equal()
        until(lambda: live.source.staleness < 0.5, "freshness")


def test_an_outage_of_one_watch_is_staleness_too(fake: FakeApiServer) -> None:
    with following(fake, AUDITING) as live:
        fake.faults.on("WATCH", "/nodes$", Answer(500))
        fake.cut()
        until(lambda: live.source.staleness > 1.0, "staleness")
        fake.faults.clear()
        until(lambda: live.source.staleness < 0.5, "freshness")


def test_a_kind_that_comes_back_is_as_old_as_its_list(fake: FakeApiServer) -> None:
    with following(fake) as live:
        services = live.reflector("Service")
        for verb in ("GET", "WATCH"):
            fake.faults.on(verb, "/services$", Answer(404))
        fake.cut()
        until(lambda: not services.synced, "the kind to be gone")
        lost_at = services.disconnected_at
        assert lost_at is not None
        fake.faults.clear()
        fake.faults.on("WATCH", "/services$", Answer(500))
        until(lambda: services.synced, "the kind to be back")
        assert services.disconnected_at is not None
        assert services.disconnected_at > lost_at


def test_list_5000_nodes_150k_pods_in_pages(fake: FakeApiServer) -> None:
    """The quick form: a hundredth of it; ``make bench`` measures all."""
    fake.add(*(node(f"n{i:04}") for i in range(50)), *(pod(f"p{i:05}", node="n0001") for i in range(1500)))
    with following(fake, replace(QUICK, page_size=500)) as live:
        live.wait_equal()
        pages = fake.history.all("GET", "/pods")
        assert len(pages) == 3
        assert {entry.call.query["limit"] for entry in pages} == {"500"}


@pytest.mark.parametrize(
    ("fields", "millicores"),
    [
        pytest.param({}, 1000, id="running"),
        pytest.param({"status": {"phase": "Succeeded"}}, 0, id="succeeded"),
        pytest.param({"status": {"phase": "Failed"}}, 0, id="failed"),
        pytest.param({"status": {"phase": "Unknown"}}, 1000, id="unknown"),
        pytest.param({"node": ""}, 0, id="unassigned"),
        pytest.param({"node": "elsewhere"}, 0, id="on a node that is not there"),
        pytest.param(
            {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}, 1000, id="static, mirrored"
        ),
        pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, 1000, id="leaving"),
        pytest.param(
            {
                "status": {
                    "phase": "Running",
                    "containerStatuses": [
                        {
                            "name": "main",
                            "resources": {"requests": {"cpu": "3"}},
                            "allocatedResources": {"cpu": "2"},
                        }
                    ],
                }
            },
            3000,
            id="being resized: the most of what is asked for, given and used",
        ),
    ],
)
def test_pod_states(fake: FakeApiServer, fields: dict[str, Any], millicores: int) -> None:
    fake.add(node("n"))
    with following(fake) as live:
        fake.add(pod("p", **{"node": "n", "requests": {"cpu": "1"}, **fields}))
        fake.add(pod("last"))
        until(lambda: any(r.pod.metadata.name == "last" for r in records(live)), "the last pod")
        table = live.state.snapshot.nodes
        assert table.requested[CPU_ROW, table.index["n"]] == millicores


def records(live: Following) -> list[Any]:
    return list(live.state.snapshot.pods.records.copy().values())


def test_a_group_that_is_missing_weakens_plugins_by_name(
    fake: FakeApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    fake.forbidden.add("services")
    readers = {"PodGroup": ["GangScheduling"], "Service": ["PodTopologySpread", "Other"]}
    source = KubernetesSource(State(), fake.client(), readers, QUICK)
    source.start()
    try:
        until(lambda: source.synced, "the first lists")
        text = caplog.text
        versions = "scheduling.k8s.io/v1beta1 or scheduling.k8s.io/v1alpha2"
        assert f"no podgroups in {versions}; weakened by that: GangScheduling" in text
        assert "services is forbidden" in text
        assert "weakened by that: PodTopologySpread, Other" in text
        error = source.describe()[0].error
        assert "PodGroup: the API server has no podgroups" in error
        fake.forbidden.clear()
        until(lambda: "services" not in source.describe()[0].error, "the services to be shown")
    finally:
        source.stop()
    assert text.count("services is forbidden") == 1


@pytest.mark.parametrize("plural", ["nodes", "pods"])
def test_nothing_works_without_nodes_and_pods(fake: FakeApiServer, plural: str) -> None:
    fake.forbidden.add(plural)
    source = KubernetesSource(State(), fake.client(), {}, QUICK)
    source.start()
    try:
        until(lambda: len(fake.history.all("GET", plural)) > 1, "the second attempt")
        assert not source.synced
        fake.forbidden.clear()
        until(lambda: source.synced, "the first lists")
    finally:
        source.stop()


def test_a_server_that_hangs_keeps_nobody_from_stopping(fake: FakeApiServer) -> None:
    source = KubernetesSource(State(), fake.client(), {}, replace(QUICK, list_timeout=3600))
    fake.faults.on("GET", "/pods$", Hang())
    source.start()
    until(lambda: fake.faults.met, "the list that hangs")
    source.stop()
    assert not source.synced


def test_an_older_version_of_a_kind_will_do() -> None:
    with FakeApiServer(without={"resource.k8s.io/v1"}) as older:
        claim = {"kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {"devices": {}}}
        older.add(claim)
        state = State()
        source = KubernetesSource(state, older.client(), {"ResourceClaim": ["DynamicResources"]}, QUICK)
        source.start()
        try:
            until(lambda: source.synced, "the first lists")
            assert source.describe()[0].error == ""
            assert ("ResourceClaim", "default/c") in held(state)
            path = "/apis/resource.k8s.io/v1beta2/resourceclaims"
            until(lambda: older.history.all("WATCH", path), "the watch of that version")
        finally:
            source.stop()


KEYS = ("a", "b", "c")


def told(step: tuple[str, bool], version: int, uid: int) -> tuple[str, dict[str, Any]]:
    name, there = step
    item = pod(name, metadata={"uid": f"{name}-{uid}"})
    item["metadata"]["resourceVersion"] = str(version)
    return ("MODIFIED" if there else "DELETED"), item


class Teller:
    """A reflector that gets lines from a test."""

    def __init__(self) -> None:
        self.state = State()
        self.reflector = Reflector(
            ApiServer.__new__(ApiServer), RESOURCES["Pod"], self.state, "test", (), QUICK
        )

    def tell(self, type_: str, item: dict[str, Any]) -> None:
        self.take(event_line(type_, item))

    def take(self, line: bytes) -> None:
        self.reflector._take(*self.reflector.lister.decode_event(line))

    def versions(self) -> dict[str, int]:
        return {key: int(version) for (_, key), (_, version) in held(self.state).items()}


NOISE = st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=3)
"""The lines that follow an event: an earlier event again, or only a bookmark of its version."""


@examples(60)
@given(st.lists(st.tuples(st.tuples(st.sampled_from(KEYS), st.booleans()), NOISE), min_size=1, max_size=12))
def test_watch_dup_reorder_old(history: list[tuple[tuple[str, bool], list[tuple[int, bool]]]]) -> None:
    """Whatever is repeated, old or only a bookmark changes nothing; what is new counts once."""
    teller = Teller()
    truth: dict[str, int] = {}
    events = [told(step, version, version) for version, (step, _) in enumerate(history, 1)]
    for version, ((name, there), noise) in enumerate(history, 1):
        teller.tell(*events[version - 1])
        truth.pop(f"default/{name}", None)
        if there:
            truth[f"default/{name}"] = version
        for at, bookmark in noise:
            if bookmark:
                teller.tell("BOOKMARK", {"metadata": {"resourceVersion": str(1 + at % version)}})
            else:
                teller.tell(*events[at % version])
        assert teller.versions() == truth
        assert teller.reflector.known.position == version


@examples(60)
@given(
    st.permutations(range(1, 8)),
    st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=7, max_size=7),
)
def test_a_shuffled_watch_never_goes_back(order: list[int], history: list[tuple[str, bool]]) -> None:
    teller = Teller()
    newest: dict[str, int] = {}
    for version in order:
        teller.tell(*told(history[version - 1], version, version))
        found = teller.versions()
        assert all(found.get(key, newest[key]) >= newest[key] for key in newest)
        newest.update(found)


@examples(200)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(str.encode),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["type", "object", "metadata", "name", "resourceVersion"]), inner
                )
            ),
            max_leaves=12,
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_any_line_is_taken_or_rejected(line: bytes) -> None:
    teller = Teller()
    try:
        teller.take(line)
    except (*UNREADABLE, GoneError, MooringError):
        assert teller.versions() == {}


@examples(100)
@given(st.data())
def test_any_frame_is_taken_or_rejected(data: st.DataObject) -> None:
    frame = bytearray(frame_of(event_line(*told(("a", True), 1, 1)))[4:])
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    teller = Teller()
    with suppress(*UNREADABLE, GoneError, MooringError):
        teller.reflector._take(*decode_pod_event(bytes(frame[: data.draw(st.integers(0, len(frame)))])))
        return
    assert teller.versions() == {}


def test_counts_are_those_of_the_version_asked_for() -> None:
    known = KnownObjects()
    known.load_list({"a": 1, "b": 2}, 10)
    known.put_object("c", 11)
    known.put_object("c", 12)
    known.remove_object("a", 13)
    known.advance_position(20)
    assert [known.count_at(version) for version in (10, 11, 12, 13, 20, 30)] == [2, 3, 3, 2, 2, 2]


@pytest.mark.parametrize(
    ("listed_at", "found"),
    [
        pytest.param({"a": 1, "b": 2, "c": 11}, "", id="what is known, before one left"),
        pytest.param({"b": 2, "c": 11}, "", id="what is known"),
        pytest.param({"b": 2, "c": 10}, "", id="known newer"),
        pytest.param({"b": 2}, "", id="came after the list"),
        pytest.param({"b": 3, "c": 11}, "b is at 3, and known at 2", id="a lost change"),
        pytest.param({"b": 2, "c": 11, "d": 4}, "d is at 4, and known at no version", id="a lost arrival"),
        pytest.param({"c": 11}, "b is gone", id="a lost departure"),
    ],
)
def test_differences_are_what_was_lost(listed_at: dict[str, int], found: str) -> None:
    known = KnownObjects()
    known.load_list({"a": 1, "b": 2}, 10)
    known.put_object("c", 11)
    known.remove_object("a", 12)
    assert known.first_difference(listed_at, 10) == found


def restore(live: Following, saved: Copy) -> None:
    """Put a copy of etcd in its place, for which the API server is stopped."""
    live.fake.stop()
    live.fake.store.restore(saved)
    live.fake.start()


RESTORED: dict[str, Callable[[FakeApiServer], object]] = {
    "pods that came are gone": lambda fake: fake.add(pod("new")),
    "pods that went are back": lambda fake: fake.remove("Pod", "p1"),
    "pods that were bound are not": lambda fake: fake.add(pod("p1", node="n")),
    "nodes that came are gone": lambda fake: fake.add(node("m")),
    "nodes that went are back": lambda fake: fake.remove("Node", "n"),
    "a kind that is seldom told of": lambda fake: fake.add({"kind": "Service", "metadata": {"name": "s"}}),
}


@pytest.mark.parametrize("lost", RESTORED.values(), ids=RESTORED)
def test_etcd_is_restored_from_a_copy(
    fake: FakeApiServer, caplog: pytest.LogCaptureFixture, lost: Callable[[FakeApiServer], object]
) -> None:
    fake.add(node("n"), *(pod(f"p{i}") for i in range(5)))
    with following(fake) as live:
        saved = fake.store.copy()
        lost(fake)
        live.wait_equal()
        told = list[str]()
        live.source.history.went_back = told.append
        restore(live, saved)
        until(lambda: live.source.history.rollbacks, "the rollback to be noticed")
        live.wait_equal()
        until(lambda: not live.source.doubt, "trust")
        fake.add(pod("after"))
        live.wait_equal()
        (status,) = live.source.describe()
        assert (status.rollbacks, len(told)) == (1, 1)
        assert [kind.lists for kind in status.kinds] == [2, 2, 2]
    assert caplog.text.count("etcd went back") == 1


def test_a_kind_with_as_many_objects_as_before_is_listed_with_the_others(fake: FakeApiServer) -> None:
    with following(fake, AUDITING) as live:
        saved = fake.store.copy()
        fake.add(pod("lost"), node("lost"))
        live.wait_equal()
        fake.stop()
        fake.store.restore(saved)
        # No version is behind: the new pod has the lost one's, and services come after it.
        fake.add(pod("new"), *({"kind": "Service", "metadata": {"name": f"s{at}"}} for at in range(9)))
        fake.start()
        live.wait_equal()


def test_what_was_decided_before_etcd_was_restored_is_forgotten(fake: FakeApiServer) -> None:
    fake.add(node("n"), pod("p"))
    with following(fake) as live:
        saved = fake.store.copy()
        fake.add(pod("new"))
        live.wait_equal()
        (record,) = (found for found in records(live) if found.pod.metadata.name == "p")
        live.state.assume(record.pod, "n")
        restore(live, saved)
        until(lambda: live.source.history.rollbacks and not live.source.doubt, "the rollback")
        (record,) = records(live)
        assert (record.node_name, record.assumed) == ("", False)


@pytest.mark.parametrize("answers", range(1, ANSWERS_BEHIND))
def test_a_server_that_is_behind_now_and_then_takes_nothing_back(fake: FakeApiServer, answers: int) -> None:
    fake.add(pod("old"))
    saved = fake.store.copy()
    fake.add(pod("new"), node("n"))
    with following(fake) as live:
        before, version = held(live.state), fake.store.version
        for path in ("/pods$", "/nodes$"):
            body = json.dumps({"metadata": {"resourceVersion": str(saved.version)}, "items": []}).encode()
            fake.faults.on("GET", path, Answer(200, body=body), times=answers)
        opened = len(fake.history.all("WATCH", ""))
        fake.cut()
        until(lambda: len(fake.history.all("WATCH", "")) == opened + 3, "the watches to be open again")
        assert (fake.faults.met, fake.store.version, held(live.state)) == (2 * answers, version, before)
        assert (live.source.history.rollbacks, live.source.doubt) == (0, "")


def test_a_state_in_doubt_is_not_decided_by(fake: FakeApiServer) -> None:
    with following(fake, AUDITING) as live:
        freshness = Freshness(live.source, max_staleness=3600)
        assert freshness.not_ready() == ""
        while_in_doubt: list[str] = []
        live.source.history.went_back = lambda _: while_in_doubt.append(freshness.not_ready())
        live.reflector("Pod").known.advance_position(fake.store.version + 10)
        fake.faults.on("WATCH", "", Hang())
        until(lambda: while_in_doubt, "the rollback to be noticed")
        assert "older than" in while_in_doubt[0]
        fake.faults.clear()
