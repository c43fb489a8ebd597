"""State, reservations, binder and resolver: callers, watches and a network whose order a seed decides."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from random import Random
from typing import Any, cast

import msgspec

from mooring.cluster.api import ApiServer, ClientOptions, Response
from mooring.cluster.api.connection import ApiRequest
from mooring.cluster.binding import KubernetesBinder
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.decoding import decode_pod
from mooring.cluster.kinds import Change, ClusterObject, Put, Remove
from mooring.cluster.state import State
from mooring.config import Configuration, from_document
from mooring.framework import Node, Pod
from mooring.framework.errors import MooringError, UnavailableError
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import SETTLING_SECONDS, BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.profiles.registry import Registry
from mooring.testing import make_node
from mooring.testing.builders import pod_manifest
from tests.laboratories.interleavings.turns import Turns, taking_turns
from tests.runtime.committing import ROOM
from tests.runtime.fakes import profile, registry_of

RUNS = 32
"""Interleavings of a round."""

CALLERS, CALLS, BEATS, SPACE = 3, 6, 6, 1
NODES, PODS = ("a", "b"), ("p", "q", "r")
FAULTS = {"fine": 8, "lost": 1, "unanswered": 2, "late": 5, "refused": 1}
"""The results of a request, by frequency."""
DELAYS = (0.0, 0.0, 0.1, 1.0)
"""Seconds that an event may take to the state."""


class VirtualClock:
    """The time of the run."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def now(self) -> float:
        return self._turns.now

    monotonic = now


@cache
def _pod(name: str, node: str = "") -> Pod:
    return decode_pod(_encoded(name, node))


@cache
def _node(name: str, beat: int = -1) -> Node:
    return make_node(name, allocatable={ROOM: SPACE}, labels={"beat": str(beat)})


@cache
def _encoded(name: str, node: str) -> bytes:
    metadata = {"uid": f"uid-{name}"}
    return msgspec.json.encode(pod_manifest(name, node=node, requests={ROOM: 1}, metadata=metadata))


@cache
def _configured() -> tuple[Configuration, Registry]:
    registry = registry_of([])
    return from_document(profile([NodeResourcesFit]), registry.catalog()), registry


@dataclass
class Cluster:
    """As much of an API server as a binder uses, and its watches.

    Attributes:
        placed: By name the node of each pod that is there; "" = none.
        bound: Every binding that took effect, in order.
        nodes: The nodes, by name.
        late: Requests that may still take effect, and when they were sent.
        events: By kind, what its watch has not delivered yet, with its number.
        met: How often each fault was met, a watch began again, and events of one kind overtook another's.
        over: The end of the round, without further faults.
    """

    turns: Turns
    state: State
    placed: dict[str, str] = field(default_factory=lambda: dict.fromkeys(PODS, ""))
    bound: list[tuple[str, str]] = field(default_factory=list)
    late: list[tuple[float, str, str]] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=lambda: {name: _node(name) for name in NODES})
    events: dict[str, list[tuple[int, Change]]] = field(default_factory=lambda: {"Pod": [], "Node": []})
    met: Counter[str] = field(default_factory=Counter)
    over: bool = False
    _happened: int = 0
    options = ClientOptions()

    def send(self, request: ApiRequest, timeout: float | None = None) -> Response:
        """A binding."""
        if request.before is not None:
            request.before()
        name, node = request.path.split("/")[-2], msgspec.json.decode(request.data or b"")["target"]["name"]
        self.turns.point()
        fault = "fine" if self.over else self.turns.dice.choices(list(FAULTS), list(FAULTS.values()))[0]
        self.met[fault] += 1
        if fault == "refused":
            return Response(429, body=b"{}")
        if fault == "late":
            self.late.append((self.turns.now, name, node))
        answer = self._bind(name, node) if fault in ("fine", "unanswered") else Response(0)
        self.turns.point()
        if fault != "fine":
            raise UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")
        return answer

    def request(self, method: str, path: str, **_: Any) -> Response:
        """A read of a pod."""
        self.turns.point()
        if not self.over and self.turns.dice.random() < 0.1:
            raise UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")
        name = path.rsplit("/", maxsplit=1)[-1]
        node = self.placed.get(name)
        self.turns.point()
        return Response(404, body=b"{}") if node is None else Response(200, body=_encoded(name, node))

    def _bind(self, name: str, node: str) -> Response:
        # The rest is one step: it takes no turns.
        if self.placed.get(name) != "":
            return Response(404 if name not in self.placed else 409, body=b"{}")
        self.placed[name] = node
        self.bound.append((name, node))
        self._tell("Pod", Put(_pod(name, node)))
        return Response(201, body=b"{}")

    def delete(self, name: str) -> None:
        """Delete a pod as another client."""
        if self.placed.pop(name, None) is not None:
            self._tell("Pod", Remove("Pod", "default", name, f"uid-{name}"))

    def beat(self) -> None:
        """The kubelets report, which changes nodes and no verdict."""
        for beat in range(BEATS):
            self.turns.sleep(self.turns.dice.choice(DELAYS))
            name = self.turns.dice.choice(NODES)
            self.nodes[name] = _node(name, beat)
            self._tell("Node", Put(self.nodes[name]))

    def _tell(self, kind: str, change: Change) -> None:
        self._happened += 1
        self.events[kind].append((self._happened, change))

    def arrive(self) -> None:
        """Requests that are late take effect in time, or are given up."""
        while self.turns.block(lambda: bool(self.late or self.over)) and self.late:
            sent, name, node = self.late[0]
            self.turns.sleep(self.turns.dice.random() * (SETTLING_SECONDS - 1 - (self.turns.now - sent)))
            del self.late[0]
            if self.turns.dice.random() < 0.5:
                self._bind(name, node)

    def watch(self, kind: str) -> None:
        """Deliver the events of a kind late, some at a time; after a new connection, as a fresh list."""
        events = self.events[kind]
        while self.turns.block(lambda: bool(events or self.over)) and events:
            self.turns.sleep(self.turns.dice.choice(DELAYS))
            first = events[0][0]
            self.met["overtaken"] += any(other and other[0][0] < first for other in self.events.values())
            if self.turns.dice.random() < 0.2:
                self.met["reconnected"] += 1
                events.clear()
                self.state.replace("test", self.listed(kind), kind=kind)
            else:
                some = [events.pop(0)[1] for _ in range(min(len(events), self.turns.dice.randint(1, 2)))]
                self.state.apply("test", some)

    def listed(self, kind: str) -> list[ClusterObject]:
        """Return what a fresh list of a kind has."""
        return [*self.nodes.values()] if kind == "Node" else [_pod(*one) for one in self.placed.items()]


class Callers:
    """Calls about the pods, and their answers."""

    def __init__(self, cluster: Cluster, committer: Committer, engine: Any) -> None:
        self.told: list[tuple[str, str, str]] = []
        self._cluster = cluster
        self._committer = committer
        self._engine = engine

    def call(self, dice: Random) -> None:
        """Some calls, one after the other."""
        for _ in range(CALLS):
            self._cluster.turns.sleep(dice.choice((0.0, 0.0, 0.0, 0.2, 2.0)))
            name, node = dice.choice(PODS), dice.choice(NODES)
            what = dice.choices(("reserve", "bind", "place", "unreserve", "delete"), (3, 4, 3, 2, 1))[0]
            try:
                said = self._one(what, name, node)
            except MooringError as error:
                said = error.reason
            self.told.append((what, name, said))

    def _one(self, what: str, name: str, node: str) -> str:
        profile_, pod = self._engine.profile(), _pod(name)
        match what:
            case "reserve":
                return str(self._committer.reserve_pod(pod, node, profile_).status.ok)
            case "bind":
                self._committer.bind_pod(pod, node, profile_)
                return self._checked(name, node)
            case "place":
                placed = self._committer.place_pod(pod, profile_, ALL_NODES)
                if placed.committed is None:
                    return "no node"
                return self._checked(name, placed.choice.node_name or "")
            case "unreserve":
                return str(self._committer.unreserve_pod("default", name, f"uid-{name}"))
        self._cluster.delete(name)
        return "deleted"

    def _checked(self, name: str, node: str) -> str:
        assert (name, node) in self._cluster.bound, f"I3: {name} was said to be on {node}"
        return "bound"


def play(seed: int) -> list[int]:
    """Play some interleavings; return for each how often another thread got the turn.

    Raises:
        AssertionError: An invariant does not hold.
    """
    with taking_turns():
        return [play_one(f"commits/{seed}/{number}").turns.switches for number in range(RUNS)]


def play_one(seed: str) -> Cluster:
    """Play an interleaving in ``taking_turns``, and return the cluster at its end.

    Raises:
        AssertionError: An invariant does not hold.
    """
    turns, dice = Turns(seed), Random(seed)
    state = State()
    cluster = Cluster(turns, state)
    for kind in cluster.events:
        state.replace("test", cluster.listed(kind), kind=kind)
    server = cast("ApiServer", cluster)
    configuration, registry = _configured()
    engine = build_engine(configuration, registry, state, KubernetesBinder(server))
    cycle = BindingCycle(engine, api=KubernetesApi(server), clock=VirtualClock(turns))
    callers = Callers(cluster, Committer(cycle), engine)
    left = [CALLERS]

    def call(own: Random) -> None:
        callers.call(own)
        left[0] -= 1

    def settle() -> None:
        turns.block(lambda: not (left[0] or cluster.late))
        cluster.over = True
        for name in PODS:
            with suppress(MooringError):
                callers._committer.unreserve_pod("default", name, f"uid-{name}")
        for _ in range(200):
            if not len(cycle.reservations):
                break
            turns.sleep(1.0)
        cycle.stop()

    calls = [partial(call, Random(dice.random())) for _ in range(CALLERS)]
    watches = [partial(cluster.watch, kind) for kind in cluster.events]
    turns.run([*calls, *watches, cluster.arrive, cluster.beat, settle])
    _check(cluster, state, cycle)
    return cluster


def _check(cluster: Cluster, state: State, cycle: BindingCycle) -> None:
    twice = [name for name, count in Counter(name for name, _ in cluster.bound).items() if count > 1]
    assert not twice, "I1: bound twice"
    on = Counter(node for node in cluster.placed.values() if node)
    assert max(on.values(), default=0) <= SPACE, "I2: more than there is room"
    assert not len(cycle.reservations), "I4: reservations left"
    records = state.snapshot.pods.records
    assert not [uid for uid, record in records.items() if record.assumed], "I4: assumptions left"
    seen = {record.pod.metadata.name: record.node_name for record in records.values()}
    assert seen == cluster.placed, f"I5: the state has {seen}, the API server {cluster.placed}"
