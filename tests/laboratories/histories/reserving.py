"""Dry runs of several pods next to RESERVE: later pods miss devices and volumes that the first ones take.

Each batch is decided in a dry run, which changes nothing, and then reserved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put
from mooring.framework import Node, Pod
from mooring.testing import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodReference
from tests.laboratories.histories.comparing import Tally
from tests.laboratories.histories.over_grpc import DRY_RUN, RESERVE, decision_at
from tests.laboratories.histories.pods import EXTENDED, HOST, Manifest
from tests.plugins import storage
from tests.plugins.test_dynamic_resources import (
    IS_A,
    MODEL_A,
    MODEL_B,
    SAME,
    asking,
    claim,
    device_class,
    exactly,
    first_of,
    slice_of,
)
from tests.service.backends import Stubs, World, direct, sent, world

LOCAL, MADE = "local", "made"
"""Classes of volumes: there as files on a node, and made where they are wanted."""


class Reserving:
    """One history of a few nodes with devices and volumes."""

    def __init__(self, dice: Random, tally: Tally, served: World, stubs: Stubs) -> None:
        self.tally = tally
        self._state = served.state
        self._stubs = stubs
        self._nodes = [f"n{at}" for at in range(dice.randint(1, 4))]
        self._count = 0
        self._claims: dict[str, list[str]] = {"device": [], "volume": []}
        self._reserved: list[str] = []
        extended = dice.choice(({}, {"extendedResourceName": EXTENDED}))
        self._put(
            device_class("gpu", **extended),
            storage.storage_class(LOCAL, provisioner="kubernetes.io/no-provisioner"),
            storage.storage_class(MADE),
        )
        for name in self._nodes:
            self._equip(dice, name)

    @classmethod
    @contextmanager
    def playing(cls, dice: Random, tally: Tally) -> Iterator[Reserving]:
        """While the server runs."""
        with world() as served, direct(served.backend) as stubs:
            yield cls(dice, tally, served, stubs)

    def step(self, dice: Random) -> None:
        """A node has other devices, places are given back, and a batch is decided in both ways."""
        if dice.random() < 0.3:
            self._equip(dice, dice.choice(self._nodes))
        for uid in dice.sample(self._reserved, dice.randint(0, len(self._reserved))):
            reference = PodReference(namespace="default", name=uid, uid=uid)
            self._stubs.scheduling.Unreserve(pb.UnreserveRequest(pod=reference))
            self._reserved.remove(uid)
        templates = [self._pod(dice) for _ in range(dice.randint(1, 4))]
        runs = [[at] * dice.choice((1, 1, 1, 3)) for at in range(len(templates))]
        indices = [index for run in runs for index in run]
        uids = [self._name("asked") for _ in indices]
        columns = pb.PodColumns(template_indices=indices, uids=uids, names=uids)
        request = pb.ScheduleRequest(
            templates=[pb.PodTemplate(pod=sent(pod)) for pod in templates],
            pods=columns,
            seed=dice.randrange(9),
        )
        request.commit_mode = DRY_RUN
        version = self._state.version
        dry = self._stubs.scheduling.Schedule(request)
        assert self._state.version == version
        request.commit_mode = RESERVE
        reserved = self._stubs.scheduling.Schedule(request)
        for at, uid in enumerate(uids):
            what, expected = f"pod {at} of {len(uids)}", decision_at(reserved, at)
            self.tally.decided(what, decision_at(dry, at), expected, cached=True)
            if expected[0]:
                self._reserved.append(uid)

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}-{self._count}"

    def _put(self, *items: Manifest | Node) -> None:
        objects = (item if isinstance(item, Node) else from_manifest(item) for item in items)
        self._state.apply("test", [Put(item) for item in objects])

    def _equip(self, dice: Random, name: str) -> None:
        """A node, its devices, and one more volume on it."""
        offer: dict[str, Any] = {"cpu": dice.choice(("2", "4")), "pods": dice.choice((3, 20))}
        if dice.random() < 0.2:
            offer[EXTENDED] = dice.choice((1, 2))
        devices = [dice.choice((MODEL_A, MODEL_B)) for _ in range(dice.randint(0, 3))]
        here = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [name]}]}
        volume = storage.volume(
            self._name("pv"),
            size=dice.choice(("1Gi", "2Gi")),
            storageClassName=LOCAL,
            csi=None,
            local={"path": "/d"},
            nodeAffinity={"required": {"nodeSelectorTerms": [here]}},
        )
        self._put(make_node(name, allocatable=offer), slice_of(name, *devices), volume)

    def _pod(self, dice: Random) -> Pod:
        """Return a pod whose requests exist, or one that shares a claim with another pod."""
        requests, spec = {"cpu": dice.choice(("100m", "500m", "1"))}, dict[str, Any]()
        for part in dice.choices(
            ("nothing", "device", "extended", "volume"), (1, 3, 2, 3), k=dice.choice((1, 1, 2))
        ):
            if part == "extended":
                requests[EXTENDED] = dice.choice(("1", "2"))
            elif part == "device":
                spec["resourceClaims"] = [{"name": "d", "resourceClaimName": self._claim(dice, part)}]
            elif part == "volume":
                names = {self._claim(dice, part) for _ in range(dice.choice((1, 1, 2)))}
                spec |= storage.using(*sorted(names))["spec"]
        return make_pod("template", requests=requests, spec=spec)

    def _claim(self, dice: Random, kind: str) -> str:
        known = self._claims[kind]
        if known and dice.random() < 0.2:
            return dice.choice(known)
        name = self._name(kind)
        known.append(name)
        if kind == "volume":
            size, modes = dice.choice(("1Gi", "2Gi")), [dice.choice(("ReadWriteOnce", "ReadWriteOncePod"))]
            made = storage.claim(
                name, storage_class=dice.choice((LOCAL, LOCAL, MADE)), size=size, accessModes=modes
            )
        else:
            made = dice.choice(
                (
                    claim(name),
                    claim(name),
                    claim(name, exactly(count=2)),
                    claim(name, exactly(selectors=IS_A)),
                    claim(name, exactly(allocationMode="All")),
                    claim(name, exactly(), exactly(), **SAME),
                    claim(name, first_of(asking(count=2), asking())),
                )
            )
        self._put(made)
        return name
