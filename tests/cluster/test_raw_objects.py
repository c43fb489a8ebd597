"""Objects for extenders: as the API server has them, and no more than is needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.app.extenders import raw_objects_for
from mooring.cluster.decoding import from_manifest
from mooring.cluster.raw_objects import RawObjects
from mooring.cluster.sources import KubernetesSource
from mooring.cluster.state import State
from mooring.config.types import ExtenderStanza
from mooring.framework import Pod
from mooring.framework.errors import NotFoundError
from mooring.testing.builders import make_pod, node_manifest, pod_manifest
from tests.fake_api_server import FakeApiServer
from tests.process import until

BY_NAME = ExtenderStanza(filter_verb="filter", preempt_verb="preempt", node_cache_capable=True)
BY_NODE = ExtenderStanza(filter_verb="filter")
BY_POD = ExtenderStanza(preempt_verb="preempt")


@contextmanager
def following(fake: FakeApiServer, *extenders: ExtenderStanza) -> Iterator[RawObjects]:
    raw_objects = raw_objects_for(extenders, ["default-scheduler"])
    source = KubernetesSource(State(), fake.client(), {}, raw_objects=raw_objects)
    source.start()
    try:
        until(lambda: source.synced)
        yield raw_objects
    finally:
        source.stop()


def pod_of(fake: FakeApiServer, name: str, **spec: Any) -> Pod:
    uid = (fake.get("Pod", name) or {"metadata": {"uid": "gone"}})["metadata"]["uid"]
    pod = make_pod(name, spec=spec)
    return replace(pod, metadata=replace(pod.metadata, uid=uid))


def known(ask: Callable[[], bytes]) -> Any:
    """Return the result of ``ask``, or None if that is gone."""
    try:
        return json.loads(ask())
    except NotFoundError:
        return None


def stored(fake: FakeApiServer, kind: str, name: str) -> dict[str, Any]:
    """Return the object without its type."""
    found = fake.get(kind, name)
    assert found is not None
    return {key: value for key, value in found.items() if key not in ("kind", "apiVersion")}


MANAGED = [{"manager": "m", "operation": "Update"}]
UNKNOWN = {"runtimeClassName": "x", "containers": [{"name": "c", "env": [{"name": "A"}]}]}


def managed(manifest: dict[str, Any]) -> dict[str, Any]:
    manifest["metadata"]["managedFields"] = MANAGED
    return manifest


def test_objects_are_whole_but_for_their_type_and_the_managed_fields_of_pods() -> None:
    with FakeApiServer() as fake:
        fake.add(managed(pod_manifest("listed", spec=UNKNOWN)), managed(node_manifest("a")))
        with following(fake, BY_NODE) as raw_objects:
            fake.add(managed(pod_manifest("watched", spec=UNKNOWN)), managed(node_manifest("b")))
            for name in ("listed", "watched"):
                pod, wanted = pod_of(fake, name), stored(fake, "Pod", name)
                until(partial(known, partial(raw_objects.pod, pod)))
                assert wanted["metadata"].pop("managedFields") == MANAGED
                assert json.loads(raw_objects.pod(pod)) == wanted
            for name in "ab":
                until(partial(known, partial(raw_objects.node, name)))
                assert json.loads(raw_objects.node(name)) == stored(fake, "Node", name)


@pytest.mark.parametrize(
    ("extender", "kept"),
    [
        pytest.param(BY_NAME, {"waits"}, id="by name"),
        pytest.param(BY_NODE, {"waits", "node"}, id="by node"),
        pytest.param(BY_POD, {"waits", "runs"}, id="victims"),
    ],
)
def test_only_what_will_be_sent_is_kept(extender: ExtenderStanza, kept: set[str]) -> None:
    with FakeApiServer() as fake:
        others = pod_manifest("others", spec={"schedulerName": "other"})
        ended = pod_manifest("ended", spec={"nodeName": "node"}, status={"phase": "Succeeded"})
        runs = pod_manifest("runs", spec={"nodeName": "node"})
        fake.add(node_manifest("node"), pod_manifest("waits"), runs, others, ended)
        with following(fake, extender) as raw_objects:
            found = {kind: raw_objects.of(kind) for kind in ("Pod", "Node")}
            names = {"Pod": ("waits", "runs", "others", "ended"), "Node": ("node",)}
            assert kept == {
                name
                for kind, some in names.items()
                for name in some
                if found[kind].find_object("default" if kind == "Pod" else "", name)
            }


@pytest.mark.parametrize("extender", [pytest.param(BY_NAME, id="bound"), pytest.param(BY_POD, id="deleted")])
def test_what_is_not_needed_any_more_is_let_go(extender: ExtenderStanza) -> None:
    with FakeApiServer() as fake:
        fake.add(node_manifest("a"), pod_manifest("pod"))
        pod = pod_of(fake, "pod")
        with following(fake, extender) as raw_objects:
            assert known(lambda: raw_objects.pod(pod))
            if extender is BY_NAME:
                body = {"metadata": {"name": "pod"}, "target": {"kind": "Node", "name": "a"}}
                path = "/api/v1/namespaces/default/pods/pod/binding"
                assert fake.client().request("POST", path, body=body).ok
            else:
                fake.remove("Pod", "pod")
            until(lambda: known(lambda: raw_objects.pod(pod)) is None)


def kept_pod(name: str = "pod", uid: str = "u", **spec: Any) -> tuple[Pod, bytes]:
    manifest = {"metadata": {"name": name, "namespace": "default", "uid": uid}, "spec": spec}
    return from_manifest(manifest, "Pod"), json.dumps(manifest).encode()  # type: ignore[return-value] # its kind


def test_a_pod_of_the_same_name_is_another_one() -> None:
    raw_objects = RawObjects({"Pod": lambda _: True})
    old, data = kept_pod(uid="old")
    new, _ = kept_pod(uid="new")
    raw_objects.of("Pod").put_object(old, data)
    with pytest.raises(NotFoundError, match="pod default/pod is gone"):
        raw_objects.pod(new)


def test_an_assumed_pod_has_its_node() -> None:
    raw_objects = RawObjects({"Pod": lambda _: True})
    pod, data = kept_pod(priority=1)
    raw_objects.of("Pod").put_object(pod, data)
    assumed = replace(pod, spec=replace(pod.spec, node_name="a"))
    assert json.loads(raw_objects.pod(assumed))["spec"] == {"priority": 1, "nodeName": "a"}
    assert json.loads(raw_objects.pod(pod))["spec"] == {"priority": 1}


def test_after_a_list_only_what_it_has_is_left() -> None:
    kind = RawObjects({"Pod": lambda _: True}).of("Pod")
    for name in ("first", "second"):
        kind.put_object(*kept_pod(name))
    kind.retain_objects({"default/second"})
    assert kind.find_object("default", "first") is None
    assert kind.find_object("default", "second") is not None
