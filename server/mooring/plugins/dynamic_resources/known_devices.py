"""The devices of a state and their allocations: updated in the live state, computed for a copy."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from mooring.framework import Handle, Pod, Snapshot
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PodGroup
from mooring.framework.objects.claims import ResourceClaim
from mooring.framework.objects.devices import DeviceClass, DeviceTaintRule, ResourceSlice
from mooring.plugins.dynamic_resources.pools.gathering import NodePools
from mooring.plugins.dynamic_resources.pools.inventory import Inventory, take_stock, with_taints
from mooring.plugins.dynamic_resources.pools.ledger import Allocated, HeldDevices, allocated_by
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.dynamic_resources.search.first_free import FirstFree
from mooring.plugins.dynamic_resources.search.known_nodes import KnownNodes, SearchedNodes

_DEPENDED_ON = (ResourceClaim, ResourceSlice, DeviceClass, DeviceTaintRule, PodGroup)


class Announced(NamedTuple):
    """The devices that drivers announce: by pool, and those of each node that suit plain requests."""

    pools: NodePools
    first_free: FirstFree


class KnownDevices:
    """The known devices and allocations. Safe from any thread.

    Attributes:
        searched: The results of searches on the nodes of the live state.
    """

    def __init__(self, handle: Handle, rules: Rules) -> None:
        self.searched = SearchedNodes()
        self._handle = handle
        self._rules = rules
        # Rebuilt when the kind's version moves; each is replaced in one step, so threads may share them.
        self._announced: tuple[tuple[int, ...], Announced] = ((), _announced(Inventory(), rules))
        self._allocated: tuple[int, Allocated] = (-1, Allocated())
        self._held = HeldDevices(rules)
        self._held_as_of: Hashable = None

    def announced(self, objects: ObjectTable) -> Announced:
        """Return the devices that drivers announce, with the taints of rules."""
        version = objects.versions((ResourceSlice, DeviceTaintRule))
        known, announced = self._announced
        if known != version:
            rules = objects.all(DeviceTaintRule) if self._rules.taint_rules else ()
            inventory = take_stock(with_taints(objects.all(ResourceSlice), rules), self._rules)
            announced = _announced(inventory, self._rules)
            self._announced = version, announced
        return announced

    def allocated(self, objects: ObjectTable, as_of: Hashable) -> Allocated:
        """Return the claims' allocations, no older than ``as_of``. Those of the live state change in place
        with it.
        """
        live = self._handle.snapshot()
        if objects is live.objects:
            return self._followed(live, as_of).allocated
        version = objects.version(ResourceClaim)
        known, allocated = self._allocated
        if known != version:
            allocated = allocated_by(objects.all(ResourceClaim), self._rules)
            self._allocated = version, allocated
        return allocated

    def nodes(self, objects: ObjectTable, key: Hashable | None) -> KnownNodes | None:
        """Return the results on nodes for claims with this key, at least as of the last ``allocated``.

        None of a copy, and without a key.
        """
        live = key is not None and objects is self._handle.snapshot().objects
        return self.searched.of(key) if live else None

    @staticmethod
    def state_of(snapshot: Snapshot) -> Hashable:
        """Return a value that stays equal while nothing changes that claims without devices depend on."""
        return snapshot.nodes.version_but_images, snapshot.objects.versions(_DEPENDED_ON)

    def controlled_by(self, pod: Pod, objects: ObjectTable, as_of: Hashable) -> Iterable[ResourceClaim]:
        """Return claims of the pod's namespace, at least those that it controls, in the order of arrival.

        They are true as those of ``allocated``.
        """
        live, namespace = self._handle.snapshot(), pod.metadata.namespace
        if objects is not live.objects:
            return objects.in_namespace(ResourceClaim, namespace)
        with self._handle.assumptions.lock:
            names = self._followed(live, as_of).controlled_by(namespace, pod.metadata.uid)
            found = [objects.get(ResourceClaim, name, namespace) for name in names] if names else ()
        return [claim for claim in found if claim is not None] if found else ()

    def _followed(self, live: Snapshot, as_of: Hashable) -> HeldDevices:
        """Return the allocations of the live state; results of changed nodes are dropped."""
        if as_of != self._held_as_of:
            with self._handle.assumptions.lock:
                now = self.state_of(live)
                inventory = self.announced(live.objects).pools.inventory
                devices = self._held.follow(live.objects)
                self.searched.follow(live.nodes, inventory, devices)
                self._held_as_of = now
        return self._held


def _announced(inventory: Inventory, rules: Rules) -> Announced:
    pools = NodePools(inventory, rules)
    return Announced(pools, FirstFree(pools, rules))
