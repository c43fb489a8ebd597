"""A source that follows the fake API server, and the question whether both have the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mooring.cluster.kinds import KINDS
from mooring.cluster.sources import KubernetesSource, Timers
from mooring.cluster.sources.kubernetes.reflector import Reflector
from mooring.cluster.state import State
from mooring.framework.objects import ObjectMeta
from mooring.testing.builders import node_manifest, pod_manifest
from tests.fake_api_server import FakeApiServer
from tests.process import until

QUICK = Timers(
    page_size=3,
    list_timeout=5,
    watch_shortest=60,
    watch_longest=60,
    watch_margin=5,
    backoff_first=0.01,
    backoff_longest=0.1,
    unavailable_retry=0.2,
    probe_timeout=1,
    probe=3600,
    compare=3600,
)
"""Quick to repeat, and nothing that happens by itself."""

READERS = {"Service": ["PodTopologySpread"]}

Content = dict[tuple[str, str], tuple[str, str]]
"""By kind and key: UID and version."""


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "Node", **node_manifest(name, **fields)}


def pod(name: str, **fields: Any) -> dict[str, Any]:
    manifest = {"kind": "Pod", **pod_manifest(name, **fields)}
    if "uid" not in fields.get("metadata", {}):
        manifest["metadata"].pop("uid", None)
    return manifest


@dataclass
class Following:
    """A source and what it follows."""

    fake: FakeApiServer
    state: State
    source: KubernetesSource

    def reflector(self, kind: str) -> Reflector:
        return next(r for r in self.source._reflectors if r.resource.kind == kind)

    def has(self, *names: str) -> bool:
        """Return whether the state has exactly these pods."""
        records = self.state.snapshot.pods.records.copy()
        return {record.pod.metadata.name for record in records.values()} == set(names)

    def wait_equal(self, seconds: float = 30.0) -> None:
        """Wait until the state is what a fresh list is."""
        until(lambda: held(self.state) == listed(self.fake), "the state to be what the server has", seconds)


def held(state: State) -> Content:
    """Return the content of the state."""
    with state.lock:
        found = {
            ("Pod", record.pod.key): (record.pod.metadata.uid, record.pod.metadata.resource_version)
            for record in state.snapshot.pods.records.values()
        }
        for item in state.snapshot.nodes.nodes:
            if item is not None:
                found["Node", item.metadata.name] = (item.metadata.uid, item.metadata.resource_version)
        for kind, objects in state.snapshot.objects.kinds.items():
            for (namespace, name), kept in objects.by_key.items():
                meta: ObjectMeta = kept.metadata  # type: ignore[attr-defined] # every kept kind has it
                found[kind.__name__, f"{namespace}/{name}"] = (meta.uid, meta.resource_version)
    return found


def listed(fake: FakeApiServer, kinds: tuple[str, ...] = ("Node", "Pod", "Service")) -> Content:
    """Return the content of the server, without finished pods."""
    found: Content = {}
    for kind in kinds:
        assert kind in KINDS
        for data in fake.store.all(fake.kind_of(kind).plural):
            item = json.loads(data)
            meta = item["metadata"]
            if item.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                key = f"{meta['namespace']}/{meta['name']}" if kind != "Node" else meta["name"]
                found[kind, key] = (meta["uid"], meta["resourceVersion"])
    return found


@contextmanager
def following(fake: FakeApiServer, timers: Timers = QUICK) -> Iterator[Following]:
    """Follow ``fake``; synced, with all watches open, when this begins."""
    state = State()
    source = KubernetesSource(state, fake.client(), READERS, timers)
    source.start()
    try:
        until(lambda: source.synced, "the first lists")
        until(lambda: all(r.disconnected_at is None for r in source._reflectors), "the first watches")
        yield Following(fake, state, source)
    finally:
        source.stop()
