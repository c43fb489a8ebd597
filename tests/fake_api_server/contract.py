"""The contract of an API server for clients: one suite for the fake and for the real one.

A subclass gives the fixture ``cluster``. Nothing here looks inside a server.
"""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import pytest

from mooring.cluster.api import JSON, PROTOBUF, RESOURCES, ApiServer, Response, Stream, served_version
from mooring.cluster.api.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from mooring.cluster.kinds import ClusterObject
from mooring.cluster.sources import Timers
from mooring.cluster.sources.kubernetes.lister import Lister
from mooring.cluster.sources.kubernetes.wire import GoneError, Identity
from mooring.testing.builders import pod_manifest
from tests.cluster.messages import whole

Manifest = dict[str, Any]

PODS = RESOURCES["Pod"]
LEASES = RESOURCES["Lease"]

CACHE: Manifest = {"name": "cache", "emptyDir": {}}
"""A volume of a kind that scheduling ignores."""


class Cluster(Protocol):
    """A server under the suite."""

    @property
    def bookmark_seconds(self) -> int:
        """A watch of this length gets a bookmark."""
        ...

    @property
    def api(self) -> ApiServer:
        """A client of it."""
        ...

    @property
    def crowded(self) -> ApiServer:
        """A client of whose requests at the same time some, or all, are answered 429."""
        ...

    def compact(self) -> None:
        """Make it forget every change so far."""
        ...


def body(response: Response) -> Manifest:
    parsed: Manifest = json.loads(response.body)
    return parsed


def made(cluster: Cluster, path: str, item: Manifest) -> Manifest:
    response = cluster.api.request("POST", path, body=item)
    assert response.status == 201, response.message
    return body(response)


def pod(name: str = "", **fields: Any) -> Manifest:
    manifest = pod_manifest(name or f"p-{uuid.uuid4().hex[:8]}", **fields)
    manifest.pop("status", None)
    spec = manifest["spec"]
    spec["containers"] = [{"name": "main", "image": "none"}]
    spec.setdefault("terminationGracePeriodSeconds", 30)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": manifest["metadata"]["name"]},
        "spec": spec,
    }


def made_pod(cluster: Cluster, **fields: Any) -> Manifest:
    return made(cluster, PODS.collection("default"), pod(**fields))


def binding(item: Manifest, node: str, **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": item["metadata"]["name"], "uid": item["metadata"]["uid"], **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def bound(cluster: Cluster, item: Manifest, node: str = "nowhere", **metadata: Any) -> Response:
    path = PODS.item("default", item["metadata"]["name"], "binding")
    return cluster.api.request("POST", path, body=binding(item, node, **metadata))


def stored(cluster: Cluster, item: Manifest) -> Manifest:
    response = cluster.api.request("GET", PODS.item("default", item["metadata"]["name"]))
    assert response.status == 200
    return body(response)


def deleted(cluster: Cluster, item: Manifest, **options: Any) -> Response:
    path = PODS.item("default", item["metadata"]["name"])
    return cluster.api.request("DELETE", path, body=options or None)


def watch(cluster: Cluster, since: str, accept: str = JSON, **query: str) -> Stream:
    asked = {"watch": "true", "resourceVersion": since, "timeoutSeconds": "20", **query}
    return cluster.api.stream(PODS.collection("default"), query=asked, read_timeout=30, accept=accept)


def events(stream: Stream, count: int) -> list[tuple[str, Manifest]]:
    found = []
    for line in stream:
        event = json.loads(line)
        found.append((event["type"], event["object"]))
        if len(found) == count:
            break
    return found


def decoded(lister: Lister, stream: Stream, count: int) -> list[tuple[str, Identity, ClusterObject | None]]:
    """Type, identity and object of the first ``count`` events."""
    events = itertools.islice(lister.read_events(stream), count)
    return [(type_, identity, whole(lister.decode_told(data, identity))) for type_, identity, data in events]


class Contract:
    """The suite."""

    unserved = frozenset({"PodGroup", "Workload"})
    """Kinds that a server serves only if a flag enables them."""

    @pytest.fixture
    def cluster(self) -> Iterator[Cluster]:
        raise LookupError("a subclass gives it")

    def test_binding_answers_a_status_and_says_that_the_pod_is_scheduled(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        response = bound(cluster, item, annotations={"why": "because"})
        assert (response.status, body(response)["kind"], body(response)["status"]) == (
            201,
            "Status",
            "Success",
        )
        after = stored(cluster, item)
        assert after["spec"]["nodeName"] == "nowhere"
        assert after["metadata"]["annotations"]["why"] == "because"
        assert after["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]
        conditions = {entry["type"]: entry["status"] for entry in after["status"]["conditions"]}
        assert conditions["PodScheduled"] == "True"

    def test_binding_twice_is_a_conflict_even_to_the_same_node(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        name = item["metadata"]["name"]
        assert bound(cluster, item, "a").status == 201
        for node in ("a", "b"):
            response = bound(cluster, item, node)
            assert response.status == 409
            assert body(response)["reason"] == "Conflict"
            assert response.message == (
                f'Operation cannot be fulfilled on pods/binding "{name}": '
                f'pod {name} is already assigned to node "a"'
            )
        assert stored(cluster, item)["spec"]["nodeName"] == "a"

    def test_binding_another_uid_is_a_conflict(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        response = bound(cluster, item, uid="11111111-2222-3333-4444-555555555555")
        assert response.status == 409
        assert "Precondition failed: UID in precondition" in response.message
        assert "nodeName" not in stored(cluster, item)["spec"]

    def test_binding_with_an_old_version_is_a_conflict(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        response = bound(cluster, item, resourceVersion="1")
        assert response.status == 409
        assert "nodeName" not in stored(cluster, item)["spec"]

    def test_binding_a_pod_with_gates_is_a_conflict(self, cluster: Cluster) -> None:
        item = made_pod(cluster, spec={"schedulingGates": [{"name": "example.com/wait"}]})
        response = bound(cluster, item)
        name = item["metadata"]["name"]
        assert response.status == 409
        assert response.message.endswith(f"pod {name} has non-empty .spec.schedulingGates")

    def test_binding_a_pod_that_is_being_deleted_is_a_conflict(self, cluster: Cluster) -> None:
        manifest = pod()
        manifest["metadata"]["finalizers"] = ["example.com/hold"]
        item = made(cluster, PODS.collection("default"), manifest)
        name = item["metadata"]["name"]
        assert deleted(cluster, item).status == 200
        response = bound(cluster, item)
        assert response.status == 409
        assert response.message.endswith(f"pod {name} is being deleted, cannot be assigned to a host")
        path = PODS.item("default", name)
        free = cluster.api.request(
            "PATCH", path, body={"metadata": {"finalizers": None}}, content_type=MERGE_PATCH
        )
        assert free.status == 200
        assert cluster.api.request("GET", path).status == 404

    def test_binding_a_pod_that_is_not_there(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        assert deleted(cluster, item).status == 200
        response = bound(cluster, item)
        assert (response.status, body(response)["reason"]) == (404, "NotFound")
        assert response.message == f'pods "{item["metadata"]["name"]}" not found'

    @pytest.mark.parametrize(
        ("target", "status"),
        [
            pytest.param({"kind": "Minion", "name": "a"}, 500, id="another kind"),
            pytest.param({"kind": "Node", "name": ""}, 500, id="no name"),
        ],
    )
    def test_binding_to_what_is_no_node(self, cluster: Cluster, target: Manifest, status: int) -> None:
        item = made_pod(cluster)
        path = PODS.item("default", item["metadata"]["name"], "binding")
        response = cluster.api.request("POST", path, body={**binding(item, "a"), "target": target})
        assert response.status == status
        assert "nodeName" not in stored(cluster, item)["spec"]

    def test_binding_under_another_name_is_a_bad_request(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        assert bound(cluster, item, name="other").status == 400

    def test_a_pod_without_a_node_is_deleted_at_once(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        assert deleted(cluster, item).status == 200
        path = PODS.item("default", item["metadata"]["name"])
        assert cluster.api.request("GET", path).status == 404
        assert deleted(cluster, item).status == 404

    def test_a_pod_on_a_node_is_given_its_time(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        bound(cluster, item)
        since = stored(cluster, item)["metadata"]["resourceVersion"]
        assert deleted(cluster, item).status == 200
        ending = stored(cluster, item)
        assert ending["metadata"]["deletionTimestamp"]
        assert ending["metadata"]["deletionGracePeriodSeconds"] == 30
        assert deleted(cluster, item, gracePeriodSeconds=0).status == 200
        with watch(cluster, since) as stream:
            told = events(stream, 3)
        assert [type_ for type_, _ in told] == ["MODIFIED", "MODIFIED", "DELETED"]
        assert told[0][1] == ending
        assert told[1][1]["metadata"]["deletionGracePeriodSeconds"] == 0

    def test_deleting_another_uid_is_a_conflict(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        response = deleted(cluster, item, preconditions={"uid": "11111111-2222-3333-4444-555555555555"})
        assert (response.status, body(response)["reason"]) == (409, "Conflict")
        assert deleted(cluster, item, preconditions={"uid": item["metadata"]["uid"]}).status == 200

    def test_conditions_merge_by_type(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        path = PODS.item("default", item["metadata"]["name"], "status")
        first = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
        second = {"type": "Other", "status": "True"}
        for condition in (first, second, {**first, "message": "still no room"}):
            patch = {"status": {"conditions": [condition], "nominatedNodeName": "n"}}
            response = cluster.api.request("PATCH", path, body=patch, content_type=STRATEGIC_MERGE_PATCH)
            assert response.status == 200, response.message
        status = stored(cluster, item)["status"]
        found = {entry["type"]: entry.get("message") for entry in status["conditions"]}
        assert found == {"PodScheduled": "still no room", "Other": None}
        assert status["nominatedNodeName"] == "n"

    def test_a_patch_of_another_uid_is_invalid(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        path = PODS.item("default", item["metadata"]["name"], "status")
        patch = {
            "metadata": {"uid": "11111111-2222-3333-4444-555555555555"},
            "status": {"nominatedNodeName": "n"},
        }
        response = cluster.api.request("PATCH", path, body=patch, content_type=STRATEGIC_MERGE_PATCH)
        assert (response.status, body(response)["reason"]) == (422, "Invalid")
        assert "metadata.uid: Invalid value" in response.message
        assert "nominatedNodeName" not in stored(cluster, item)["status"]

    def test_a_patch_of_an_old_version_is_a_conflict(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        path = PODS.item("default", item["metadata"]["name"], "status")
        patch = {"metadata": {"resourceVersion": "1"}, "status": {"nominatedNodeName": "n"}}
        response = cluster.api.request("PATCH", path, body=patch, content_type=STRATEGIC_MERGE_PATCH)
        assert (response.status, body(response)["reason"]) == (409, "Conflict")
        assert "nominatedNodeName" not in stored(cluster, item)["status"]

    def test_creating_twice_is_a_conflict(self, cluster: Cluster) -> None:
        item = made_pod(cluster)
        again = pod(item["metadata"]["name"])
        response = cluster.api.request("POST", PODS.collection("default"), body=again)
        assert (response.status, body(response)["reason"]) == (409, "AlreadyExists")

    def test_a_list_in_pages_is_the_list_of_its_first_page(self, cluster: Cluster) -> None:
        mine = [made_pod(cluster)["metadata"]["name"] for _ in range(5)]
        first = body(cluster.api.request("GET", PODS.collection("default"), query={"limit": "2"}))
        later = made_pod(cluster)["metadata"]["name"]
        pages = [first]
        while place := pages[-1]["metadata"].get("continue"):
            query = {"limit": "2", "continue": place}
            pages.append(body(cluster.api.request("GET", PODS.collection("default"), query=query)))
        assert {page["metadata"]["resourceVersion"] for page in pages} == {
            first["metadata"]["resourceVersion"]
        }
        assert [len(page["items"]) for page in pages[:-1]] == [2] * (len(pages) - 1)
        names = [item["metadata"]["name"] for page in pages for item in page["items"]]
        assert names == sorted(names)
        assert set(mine) <= set(names)
        assert later not in names
        assert all("kind" not in item for page in pages for item in page["items"])

    def test_a_page_of_a_forgotten_list_is_gone(self, cluster: Cluster) -> None:
        for _ in range(3):
            made_pod(cluster)
        first = body(cluster.api.request("GET", PODS.collection("default"), query={"limit": "1"}))
        made_pod(cluster)
        cluster.compact()
        query = {"limit": "1", "continue": first["metadata"]["continue"]}
        response = cluster.api.request("GET", PODS.collection("default"), query=query)
        assert (response.status, body(response)["reason"]) == (410, "Expired")

    def test_a_watch_goes_on_from_a_list(self, cluster: Cluster) -> None:
        since = body(cluster.api.request("GET", PODS.collection("default")))["metadata"]["resourceVersion"]
        item = made_pod(cluster)
        bound(cluster, item)
        with watch(cluster, since) as stream:
            told = events(stream, 2)
        assert [type_ for type_, _ in told] == ["ADDED", "MODIFIED"]
        assert told[0][1]["kind"] == "Pod"
        assert told[1][1] == {**stored(cluster, item)}

    def test_a_watch_in_protobuf_tells_what_one_in_json_does(self, cluster: Cluster) -> None:
        since = body(cluster.api.request("GET", PODS.collection("default")))["metadata"]["resourceVersion"]
        items = [
            made_pod(cluster),
            made_pod(cluster, spec={"nodeSelector": {"disk": "ssd"}, "volumes": [CACHE]}),
        ]
        bound(cluster, items[0])
        deleted(cluster, items[1], gracePeriodSeconds=0)
        lister = Lister(cluster.api, PODS, Timers())
        with watch(cluster, since) as one, watch(cluster, since, lister.accept) as other:
            media_types = [stream.headers["content-type"] for stream in (one, other)]
            assert media_types == [JSON, f"{PROTOBUF};stream=watch"]
            told = [decoded(lister, stream, 4) for stream in (one, other)]
        assert told[0] == told[1]
        assert [type_ for type_, _, _ in told[0][:3]] == ["ADDED", "ADDED", "MODIFIED"]

    def test_a_watch_ends_by_itself(self, cluster: Cluster) -> None:
        since = body(cluster.api.request("GET", PODS.collection("default")))["metadata"]["resourceVersion"]
        with watch(cluster, since, timeoutSeconds="1") as stream:
            assert [json.loads(line)["type"] for line in stream if b"BOOKMARK" not in line] == []

    def test_a_watch_tells_where_it_is(self, cluster: Cluster) -> None:
        since = body(cluster.api.request("GET", PODS.collection("default")))["metadata"]["resourceVersion"]
        seconds = str(cluster.bookmark_seconds)
        with watch(cluster, since, allowWatchBookmarks="true", timeoutSeconds=seconds) as stream:
            made_pod(cluster)
            told = [json.loads(line) for line in stream]
        bookmarks = [event["object"] for event in told if event["type"] == "BOOKMARK"]
        assert bookmarks
        assert int(bookmarks[-1]["metadata"]["resourceVersion"]) > int(since)
        assert bookmarks[-1]["kind"] == "Pod"

    def test_a_watch_from_a_forgotten_version_is_told_so(self, cluster: Cluster) -> None:
        made_pod(cluster)
        cluster.compact()
        with watch(cluster, "1") as stream:
            assert stream.status == 200
            [(type_, status)] = events(stream, 1)
        assert (type_, status["kind"], status["code"]) == ("ERROR", "Status", 410)
        lister = Lister(cluster.api, PODS, Timers())
        with watch(cluster, "1", lister.accept) as stream, pytest.raises(GoneError):
            next(lister.read_events(stream))

    def test_a_stream_can_be_interrupted(self, cluster: Cluster) -> None:
        since = body(cluster.api.request("GET", PODS.collection("default")))["metadata"]["resourceVersion"]
        with watch(cluster, since) as stream:
            threading.Timer(0.1, stream.interrupt).start()
            with pytest.raises(Exception, match="did not answer"):
                events(stream, 1000)

    def test_only_one_of_two_takes_a_lease(self, cluster: Cluster) -> None:
        name = f"lease-{uuid.uuid4().hex[:8]}"
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name},
            "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15},
        }
        known = made(cluster, LEASES.collection("default"), lease)
        path = LEASES.item("default", name)
        taken = {**known, "spec": {**known["spec"], "holderIdentity": "b"}}
        assert cluster.api.request("PUT", path, body=taken).status == 200
        response = cluster.api.request("PUT", path, body={**taken, "spec": {"holderIdentity": "c"}})
        assert (response.status, body(response)["reason"]) == (409, "Conflict")
        assert "the object has been modified" in response.message
        after = body(cluster.api.request("GET", path))
        assert after["spec"]["holderIdentity"] == "b"
        del after["metadata"]["resourceVersion"]
        assert cluster.api.request("PUT", path, body=after).status == 422
        assert cluster.api.request("DELETE", path).status == 200

    def test_what_is_put_off_is_not_done_and_says_for_how_long(self, cluster: Cluster) -> None:
        items = [made_pod(cluster) for _ in range(24)]
        client = cluster.crowded

        def bind(item: Manifest) -> Response:
            path = PODS.item("default", item["metadata"]["name"], "binding")
            return client.request("POST", path, body=binding(item, "a"), timeout=0.9)

        with ThreadPoolExecutor(len(items)) as crowd:
            answers = list(crowd.map(bind, items))
        rejected = [answer for answer in answers if answer.status == 429]
        assert rejected
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in rejected)
        assert all("oo many requests" in answer.message for answer in rejected)
        bound_now = ["nodeName" in stored(cluster, item)["spec"] for item in items]
        assert bound_now == [answer.status == 201 for answer in answers]

    def test_what_is_not_served_is_not_found(self, cluster: Cluster) -> None:
        assert cluster.api.request("GET", "/apis/example.com/v1/things").status == 404
        assert cluster.api.request("GET", "/apis/example.com/v1").status == 404
        assert served_version(cluster.api, RESOURCES["PodGroup"]) == ""

    @pytest.mark.parametrize("kind", sorted(RESOURCES))
    def test_every_kind_has_its_place(self, cluster: Cluster, kind: str) -> None:
        resource = RESOURCES[kind]
        version = served_version(cluster.api, resource)
        assert version == ("" if kind in self.unserved else resource.versions[0])
        if version:
            answer = body(cluster.api.request("GET", resource.collection(), query={"limit": "1"}))
            assert answer["kind"] == f"{kind}List"
