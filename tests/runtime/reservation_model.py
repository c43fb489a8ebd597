"""Reservations against a model of them: any order of calls, repeated, forged and late ones among them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mooring.cluster.binding import LocalBinder
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import SUCCESS, CycleState, Pod, ReservePlugin, Status
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    PermissionDeniedError,
)
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.placement import HeldPlace
from mooring.testing import make_node, make_pod
from tests.process import until

from .committing import ROOM
from .fakes import profile, registry_of

NODES = ("a", "b")
NAMES = ("p", "q", "r", "s", "t")
SPACE = 2
"""How many pods a node takes."""

pods = st.sampled_from(NAMES)
nodes = st.sampled_from(NODES)
owners = st.sampled_from(["", "me", "you"])


class Holding(ReservePlugin[None]):
    """Keeps reservations by UID, like a plugin that hands out addresses."""

    name = "Holding"
    held: Counter[str]

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self.held[pod.metadata.uid] += 1
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.held[pod.metadata.uid] -= 1


class Reserving(RuleBasedStateMachine):
    """The model: by name the pod's generation; by UID its node and owner while reserved; by UID its node."""

    def __init__(self) -> None:
        super().__init__()
        Holding.held = Counter()
        self.state = State()
        self.state.replace("test", [make_node(name, allocatable={ROOM: SPACE}) for name in NODES])
        registry = registry_of([Holding])
        document = profile([NodeResourcesFit, Holding])
        self.engine = build_engine(
            from_document(document, registry.catalog()), registry, self.state, LocalBinder(self.state)
        )
        self.cycle = BindingCycle(self.engine)
        self.committer = Committer(self.cycle)
        self.generation = dict.fromkeys(NAMES, 0)
        self.reserved: dict[str, tuple[str, str]] = {}
        self.bound: dict[str, str] = {}
        self.ever_bound: set[str] = set()
        for name in NAMES:
            self.state.apply("test", [Put(self._pod(name))])

    def teardown(self) -> None:
        self.cycle.stop()

    def _pod(self, name: str) -> Pod:
        uid = f"{name}{self.generation[name]}"
        return make_pod(name, requests={ROOM: 1}, metadata={"uid": uid})

    def _room(self, node: str) -> bool:
        places = [at for at, _ in self.reserved.values()] + list(self.bound.values())
        return places.count(node) < SPACE

    def _place(self, uid: str) -> str | None:
        return self.reserved[uid][0] if uid in self.reserved else self.bound.get(uid)

    @rule(name=pods, node=nodes, owner=owners)
    def reserve(self, name: str, node: str, owner: str) -> None:
        pod = self._pod(name)
        uid, place = pod.metadata.uid, self._place(pod.metadata.uid)
        if place not in (None, node):
            with pytest.raises(FailedPreconditionError):
                self.committer.reserve_pod(pod, node, self.engine.profile(), owner=owner)
            return
        free = self._room(node)
        status, held = self.committer.reserve_pod(pod, node, self.engine.profile(), owner=owner)
        assert status.ok == (place == node or free)
        assert held == (None if place is None else HeldPlace(node, bound=uid in self.bound))
        if status.ok and place is None:
            self.reserved[uid] = node, owner

    @rule(name=pods, owner=owners)
    def unreserve(self, name: str, owner: str) -> None:
        uid = self._pod(name).metadata.uid
        if uid in self.bound:
            with pytest.raises(FailedPreconditionError):
                self.committer.unreserve_pod("default", name, uid, owner=owner)
            return
        _, made_by = self.reserved.get(uid, ("", ""))
        if made_by not in ("", owner):
            with pytest.raises(PermissionDeniedError):
                self.committer.unreserve_pod("default", name, uid, owner=owner)
            return
        assert self.committer.unreserve_pod("default", name, uid, owner=owner) == (uid in self.reserved)
        self.reserved.pop(uid, None)

    @precondition(lambda self: self.reserved)
    @rule(data=st.data(), owner=owners)
    def unreserve_forged(self, data: st.DataObject, owner: str) -> None:
        """Unreserve with another pod's name, or an unknown one, and the victim's UID."""
        victim = data.draw(st.sampled_from(sorted(self.reserved)))
        name = data.draw(st.sampled_from([other for other in (*NAMES, "nobody") if other != victim[0]]))
        namespace = data.draw(st.sampled_from(["default", "kube-system"]))
        with pytest.raises(InvalidArgumentError):
            self.committer.unreserve_pod(namespace, name, victim, owner=owner)

    @rule(name=pods, owner=owners)
    def unreserve_what_was_recreated(self, name: str, owner: str) -> None:
        if self.generation[name]:
            assert not self.committer.unreserve_pod("default", name, f"{name}0", owner=owner)

    @rule(name=pods, node=nodes)
    def bind(self, name: str, node: str) -> None:
        pod = self._pod(name)
        uid, place = pod.metadata.uid, self._place(pod.metadata.uid)
        free = self._room(node)
        if place not in (None, node) or (place is None and not free):
            with pytest.raises(FailedPreconditionError) as rejected:
                self.committer.bind_pod(pod, node, self.engine.profile())
            assert rejected.value.reason == ("POD_BOUND_ELSEWHERE" if place else "NODE_NO_LONGER_FITS")
            return
        committed = self.committer.bind_pod(pod, node, self.engine.profile())
        assert committed.status.ok
        self.reserved.pop(uid, None)
        self.bound[uid] = node
        self.ever_bound.add(uid)

    @rule(name=pods)
    def recreate(self, name: str) -> None:
        """Delete the pod, whatever it has, and create it again."""
        uid = self._pod(name).metadata.uid
        self.state.apply("test", [Remove("Pod", "default", name)])
        until(lambda: self.committer.reservations.find_reservation(uid) is None)
        self.reserved.pop(uid, None)
        self.bound.pop(uid, None)
        self.generation[name] += 1
        self.state.apply("test", [Put(self._pod(name))])

    @invariant()
    def every_place_is_counted_once(self) -> None:
        places = Counter([*(node for node, _ in self.reserved.values()), *self.bound.values()])
        table = self.state.snapshot.nodes
        at = table.resource_index.get(ROOM, -1)
        for node in NODES:
            taken = int(table.requested[at, table.index[node]]) if at < len(table.requested) else 0
            assert taken == places[node]
        assert len(self.committer.reservations) == len(self.reserved)

    @invariant()
    def plugins_hold_what_is_reserved_or_was_bound(self) -> None:
        """A bound pod keeps its own: only a plugin that keeps something for a reservation gives it back."""
        assert set(Holding.held.values()) <= {0, 1}
        held = {uid for uid, count in Holding.held.items() if count}
        assert held == set(self.reserved) | self.ever_bound
