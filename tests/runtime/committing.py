"""A committer over the fake API server, and what must hold whatever went wrong between the two."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

from mooring.cluster.api import ApiServer, ClientOptions
from mooring.cluster.binding import KubernetesBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.decoding import decode_pod, from_manifest
from mooring.cluster.kinds import KINDS
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    SUCCESS,
    BindOutcome,
    Clock,
    CycleState,
    PermitPlugin,
    Plugin,
    Pod,
    PreBindPlugin,
    ReservePlugin,
    Status,
)
from mooring.framework.errors import DeadlineExceededError, MooringError
from mooring.framework.handle import AlwaysLeader, BindingAnswer, Leadership
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.placement import PlacedPod
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import NoDeadline, Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node
from mooring.testing.builders import pod_manifest
from tests.fake_api_server import FakeApiServer
from tests.fake_api_server.kinds import DEFAULT_OFF
from tests.process import until

from .fakes import profile, registry_of

ROOM = "example.com/ip"
"""A resource that every pod of these tests requests once."""

BINDING = "/binding$"
"""The path of a binding ends like this."""

UNKNOWN = ("API_SERVER_UNAVAILABLE", "DEADLINE_EXCEEDED")
"""Reasons of errors after which the pod may be bound."""


def manifest(name: str, uid: str = "", **fields: Any) -> dict[str, Any]:
    """Return a pod that takes one ``ROOM``."""
    metadata = {"uid": uid or f"uid-{name}", **fields.pop("metadata", {})}
    return pod_manifest(name, requests={ROOM: 1}, metadata=metadata, **fields)


@dataclass
class World:
    """A committer, what it decides on, and the API server that it binds at.

    Attributes:
        outcomes: By UID and node, how each bind or placement ended: the outcome, or the reason of the error.
    """

    fake: FakeApiServer
    state: State
    engine: Engine
    cycle: BindingCycle
    api: ApiServer
    outcomes: list[tuple[str, str, BindOutcome | str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.committer = Committer(self.cycle)

    def add(self, *manifests: dict[str, Any]) -> list[Pod]:
        """Objects that the API server has and that the state has heard of; returns the pods of them."""
        self.fake.add(*manifests)
        self.sync()
        return [self.pod(item["metadata"]["name"]) for item in manifests if item["kind"] == "Pod"]

    def pod(self, name: str) -> Pod:
        """Return the pod as the API server has it."""
        found = self.fake.get("Pod", name)
        assert found is not None
        return decode_pod(json.dumps(found).encode())

    def sync(self) -> None:
        """The state hears of everything, as from a fresh list."""
        nodes = [node for node in self.state.snapshot.nodes.nodes if node is not None]
        served = {kind.kind for kind in self.fake.kinds.values()} & (KINDS.keys() - {"Node"})
        items = [from_manifest(item) for kind in sorted(served) for item in self.fake.all(kind)]
        self.state.replace("test", [*nodes, *items])

    def bind(self, pod: Pod, node: str, **how: Any) -> BindOutcome | str:
        """Bind, and keep how it ended."""
        ended: BindOutcome | str
        try:
            committed = self.committer.bind_pod(pod, node, self.engine.profile(), **how)
            ended = committed.outcome or committed.status.message
        except MooringError as error:
            ended = error.reason
        self.outcomes.append((pod.metadata.uid, node, ended))
        return ended

    def place(self, pod: Pod, **how: Any) -> BindOutcome | str:
        """Choose a node and bind, and keep how it ended; an error names no node."""
        node = ""
        ended: BindOutcome | str
        try:
            placement = self._place(pod, **how)
            node = placement.choice.node_name or ""
            outcome = placement.committed.outcome if placement.committed else None
            ended = outcome or placement.status.message
        except MooringError as error:
            ended = error.reason
        self.outcomes.append((pod.metadata.uid, node, ended))
        return ended

    def _place(self, pod: Pod, *, seed: int = 0, progress: Progress | None = None) -> PlacedPod:
        """Every second binding is sent ahead, as the second scheduler does."""
        profile, progress = self.engine.profile(), progress or NoDeadline()
        if len(self.outcomes) % 2:
            return self.committer.place_pod(pod, profile, ALL_NODES, seed=seed, progress=progress)
        begun = self.committer.begin_placing(pod, profile, ALL_NODES, seed=seed, progress=progress)
        if begun.reservation is None:
            return begun
        answers: Queue[BindingAnswer] = Queue()
        self.api.open_ahead()
        if self.committer.begin_binding(begun.reservation, progress, answers.put):
            committed = self.committer.end_binding(begun.reservation, answers.get())
            return PlacedPod(begun.choice, committed=committed)
        return PlacedPod(begun.choice, committed=self.committer.finish_binding(begun.reservation, progress))

    def settle(self, seconds: float = 20.0) -> None:
        """Wait until no reservation is open, then let the state hear of everything."""
        until(lambda: not len(self.committer.reservations), "every reservation to end", seconds)
        self.sync()

    def check(self, room: int) -> None:
        """I1 to I4 from the API server's history; ``room`` is what each node has.

        Call it after ``settle``.
        """
        accepted = list(self.fake.history.accepted_bindings())
        twice = [uid for uid, count in Counter(uid for uid, _, _ in accepted).items() if count > 1]
        assert twice == [], "I1: bound twice"
        where = {uid: node for uid, node, _ in accepted}
        for uid, node, ended in self.outcomes:
            if isinstance(ended, BindOutcome):
                assert where.get(uid) == node, f"I3: {uid} was said to be on {node}"
            elif ended not in UNKNOWN:
                wrong = where.get(uid) == node if node else uid in where
                assert not wrong or self._bound_otherwise(uid, node), f"I3: {uid}, {ended}"
        assert most_at_once(self.fake) <= room, "I2: more than there is room"
        assert len(self.committer.reservations) == 0, "I4: reservations left"
        records = self.state.snapshot.pods.records
        assert not [uid for uid, record in records.items() if record.assumed], "I4: assumptions left"

    def _bound_otherwise(self, uid: str, node: str) -> bool:
        """Return whether another call of the same bind succeeded, or may have."""
        return any(
            other == uid
            and (at == node or not at or not node)
            and (isinstance(ended, BindOutcome) or ended in UNKNOWN)
            for other, at, ended in self.outcomes
        )


@contextmanager
def committing(
    *plugins: type[Plugin[Any]],
    nodes: Sequence[str] = ("a", "b"),
    room: int = 10,
    settling_seconds: float = 0.3,
    clock: Clock | None = None,
    timeout_seconds: float = 5.0,
    leadership: Leadership | None = None,
    version: str = DEFAULT_KUBE_VERSION,
    gates: dict[str, bool] | None = None,
    without: Collection[str] = DEFAULT_OFF,
) -> Iterator[World]:
    """Yield nodes with ``room`` each, the plugin of resources and ``plugins``; API versions that aren't
    there.
    """
    from kubernetes.client import Configuration

    with FakeApiServer(without=without) as fake:
        configuration = Configuration()
        configuration.host = fake.url
        api = ApiServer(lambda: configuration, ClientOptions(timeout_seconds=timeout_seconds))
        reader = KubernetesApi(api)
        state = State()
        state.replace("test", [make_node(name, allocatable={ROOM: room}) for name in nodes])
        registry = registry_of([plugin for plugin in plugins if plugin.name not in new_in_tree_registry()])
        document = profile([NodeResourcesFit, *plugins])
        engine = build_engine(
            from_document(document, registry.catalog(), kube_version=version, feature_gates=gates),
            registry,
            state,
            KubernetesBinder(api, leadership),
            cluster=reader,
            kube_version=version,
            feature_gates=gates,
        )
        cycle = BindingCycle(
            engine,
            api=reader,
            leadership=leadership or AlwaysLeader(),
            clock=clock,
            settling_seconds=settling_seconds,
        )
        try:
            yield World(fake, state, engine, cycle, api)
        finally:
            cycle.stop()
            api.close()


class Late:
    """A caller that waits for ``seconds`` seconds."""

    plugin = extension_point = ""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    may_call_plugins = True

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise DeadlineExceededError("nobody waits any more")


def hooked(point: str, do: Callable[[Pod], Status | None]) -> type[Plugin[Any]]:
    """Return a plugin that does something at ``reserve`` or ``pre_bind``."""

    class Hooked(ReservePlugin[None], PreBindPlugin[None]):
        name = "Hooked"

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return (do(pod) if point == "reserve" else None) or SUCCESS

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            if point == "unreserve":
                do(pod)

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return (do(pod) if point == "pre_bind" else None) or SUCCESS

    return Hooked


def failing(point: str, way: str, released: list[str]) -> type[Plugin[Any]]:
    """Return a plugin that ``rejects`` or ``raises`` at ``point``, and records by UID the pods that it has to
    release.
    """

    class Failing(ReservePlugin[None], PermitPlugin[None], PreBindPlugin[None]):
        name = "Failing"

        def _answer(self, at: str) -> Status:
            if at != point:
                return SUCCESS
            if way == "raises":
                raise RuntimeError("broken")
            return Status.unschedulable("no")

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return self._answer("reserve")

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            released.append(pod.metadata.uid)

        def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
            return self._answer("permit"), 0.0

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return self._answer("pre_bind")

    return Failing


def most_at_once(fake: FakeApiServer) -> int:
    """Return how many pods the fullest node had at any moment, from the log of all changes."""
    on_node: dict[str, set[tuple[str, str]]] = defaultdict(set)
    most = 0
    for change in fake.store.log("pods"):
        for data in filter(None, (change.before, change.data)):
            on_node[_node_of(data)].discard(change.key)
        if change.type != "DELETED" and (node := _node_of(change.data)):
            on_node[node].add(change.key)
            most = max(most, len(on_node[node]))
    return most


def _node_of(pod: bytes) -> str:
    name: str = json.loads(pod)["spec"].get("nodeName", "")
    return name
