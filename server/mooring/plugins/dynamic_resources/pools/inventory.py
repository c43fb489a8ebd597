"""The devices that drivers announce, indexed once per change of the ResourceSlices.

Mirrors ``NewAllocator`` of ``k8s.io/dynamic-resource-allocation/structured``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from mooring.framework import hashable
from mooring.framework.objects.devices import (
    Device,
    DeviceTaint,
    DeviceTaintRule,
    ResourceSlice,
    ResourceSliceSpec,
)
from mooring.framework.quantity import exact_quantity
from mooring.plugins.dynamic_resources.cel import compile_selector
from mooring.plugins.dynamic_resources.cel.device import DeviceScope, device_scope
from mooring.plugins.dynamic_resources.pools import capacity
from mooring.plugins.dynamic_resources.rules import WHOLE_POOLS_SINCE, Rules


class PoolID(NamedTuple):
    """Which pool; pools order by it."""

    driver: str
    pool: str


class DeviceID(NamedTuple):
    """Which device."""

    driver: str
    pool: str
    device: str


CounterID = tuple[str, str]
"""A counter set and one of its counters."""


@dataclass(frozen=True)
class DeviceTraits:
    """The selectors' view of equal devices, and the selectors that these fulfil.

    Attributes:
        device: One of them.
        shown_shared: Selectors see that they can be shared.
    """

    driver: str
    device: Device
    shown_shared: bool
    rules: Rules
    _fulfilled: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def scope(self) -> DeviceScope:
        """The devices as selectors see them; raises EvaluationError if an attribute has no usable value."""
        return device_scope(self.driver, self.device, shared=self.shown_shared)

    @cached_property
    def have_room(self) -> bool:
        """Whether an unused one has room for a request without amounts; raises CapacityError as ``fits``."""
        return capacity.fits(self.device, None, {}, self.rules)

    def fulfil(self, expression: str, check_time: Callable[[], None]) -> bool:
        """Return whether they fulfil a selector; computed once for all of them. Raises EvaluationError if it
        fails on them.
        """
        known = self._fulfilled.get(expression)
        if known is None:
            known = compile_selector(expression).matches(self.scope, check_time)
            self._fulfilled[expression] = known
        return known


@dataclass(frozen=True)
class CandidateDevice:
    """A device that a claim may get.

    Attributes:
        slice: The slice that announces it.
        shared: Several claims can have it at once.
        traits: The properties that selectors see.
    """

    id: DeviceID
    device: Device
    slice: ResourceSlice
    shared: bool
    traits: DeviceTraits

    @cached_property
    def counters(self) -> dict[CounterID, int]:
        """The device's use of its pool's counters, in billionths."""
        return {
            (taken.counter_set, name): exact_quantity(counter.value)
            for taken in self.device.consumes_counters
            for name, counter in taken.counters.items()
        }


@dataclass(frozen=True)
class Slice:
    """A ResourceSlice with its devices made ready."""

    object: ResourceSlice
    candidates: tuple[CandidateDevice, ...]

    @property
    def name(self) -> str:
        """The object's name."""
        return self.object.metadata.name

    @property
    def generation(self) -> int:
        """The generation of the pool that it is part of."""
        return self.object.spec.pool.generation

    @property
    def pool_size(self) -> int:
        """How many slices that generation has."""
        return self.object.spec.pool.resource_slice_count


@dataclass(frozen=True)
class Inventory:
    """All slices.

    Attributes:
        of_node: Those that only one node reaches, by its name.
        others: Those that several nodes may reach, and those that hold counters for all nodes.
        of_pool: All, by pool.
    """

    of_node: dict[str, list[Slice]] = field(default_factory=dict)
    others: list[Slice] = field(default_factory=list)
    of_pool: dict[PoolID, list[Slice]] = field(default_factory=dict)

    @cached_property
    def counts(self) -> bool:
        """Whether a device takes from counters."""
        announced = (one.object.spec for slices in self.of_pool.values() for one in slices)
        return any(device.consumes_counters for spec in announced for device in spec.devices)

    def nodes_of(self, pool: str) -> set[str] | None:
        """Return the names of the nodes that may reach a pool of that name, of any driver; None = any."""
        return self._nodes_by_pool.get(pool, set())

    @cached_property
    def _nodes_by_pool(self) -> dict[str, set[str] | None]:
        found: dict[str, set[str] | None] = {}
        for pool_id, slices in self.of_pool.items():
            names = found.setdefault(pool_id.pool, set())
            for one in slices:
                if not one.object.spec.node_name or one.object.spec.shared_counters:
                    found[pool_id.pool] = names = None
                elif names is not None:
                    names.add(one.object.spec.node_name)
        return found


def take_stock(slices: Iterable[ResourceSlice], rules: Rules) -> Inventory:
    """Return the inventory of ``slices`` that ``rules`` know, in the order of their names."""
    inventory = Inventory()
    traits: dict[bytes, DeviceTraits] = {}
    for announced in sorted(slices, key=lambda one: one.metadata.name):
        spec = announced.spec
        pool = PoolID(spec.driver, spec.pool.name)
        candidates = tuple(
            CandidateDevice(
                id=DeviceID(*pool, device.name),
                device=device,
                slice=announced,
                shared=rules.shares and bool(device.allow_multiple_allocations),
                traits=_traits(spec.driver, device, rules, traits),
            )
            for device in spec.devices
        )
        ready = Slice(announced, candidates)
        inventory.of_pool.setdefault(pool, []).append(ready)
        if not _is_known(spec, rules):
            continue
        if spec.node_name and (rules.counters_reached or not spec.shared_counters):
            inventory.of_node.setdefault(spec.node_name, []).append(ready)
        else:
            inventory.others.append(ready)
    return inventory


def _traits(driver: str, device: Device, rules: Rules, known: dict[bytes, DeviceTraits]) -> DeviceTraits:
    """Return the traits of ``device``, one of those ``known`` where they are the same."""
    # The older searches don't pass on that a device can be shared.
    shared = rules.newest_search and bool(device.allow_multiple_allocations)
    key = hashable(driver, device.attributes, device.capacity, shared)
    return known.setdefault(key, DeviceTraits(driver, device, shared, rules))


def with_taints(slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule]) -> Iterator[ResourceSlice]:
    """Yield the slices with the taints that ``rules`` put on their devices, like kube-scheduler's tracker."""
    given = tuple(rules)
    for announced in slices:
        spec = announced.spec
        about = [
            (selector.device, rule.spec.taint)
            for rule in given
            if (selector := rule.spec.device_selector) is not None
            and selector.driver in (None, spec.driver)
            and selector.pool in (None, spec.pool.name)
        ]
        if not about:
            yield announced
            continue
        devices = tuple(
            replace(device, taints=(*device.taints, *_taints_on(device, about))) for device in spec.devices
        )
        yield replace(announced, spec=replace(spec, devices=devices))


def _taints_on(device: Device, about: Iterable[tuple[str | None, DeviceTaint]]) -> Iterator[DeviceTaint]:
    return (taint for name, taint in about if name in (None, device.name))


def _is_known(spec: ResourceSliceSpec, rules: Rules) -> bool:
    """Return whether ``rules`` have what the slice needs; if not, it only counts as a part of its pool."""
    if rules.partitions:
        return True
    counted_apart = rules.version >= WHOLE_POOLS_SINCE and not rules.judges_parts
    has_counters = bool(spec.shared_counters) and counted_apart
    return spec.per_device_node_selection is None and not has_counters
