"""The pools of devices that a node reaches.

Mirrors ``GatherPools`` of ``k8s.io/dynamic-resource-allocation/structured`` (pools_incubating.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mooring.framework.quantity import exact_quantity
from mooring.plugins.dynamic_resources.pools.inventory import (
    CandidateDevice,
    CounterID,
    Inventory,
    PoolID,
    Slice,
)
from mooring.plugins.dynamic_resources.pools.reach import Reach
from mooring.plugins.dynamic_resources.rules import WHOLE_POOLS_SINCE, Rules


@dataclass(frozen=True, slots=True)
class DevicePool:
    """A pool as one node sees it.

    Attributes:
        usable: Its announcements are complete and valid.
        invalid: They contradict each other.
        candidates: The devices in the slices that the node reaches.
        out_of_reach: The devices in its other slices; they take from the same counters.
        counters: The amount of each counter in the pool, in billionths.
    """

    id: PoolID
    invalid: bool = False
    incomplete: bool = False
    candidates: tuple[CandidateDevice, ...] = ()
    out_of_reach: tuple[CandidateDevice, ...] = ()
    counters: dict[CounterID, int] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether its devices can be had."""
        return not self.invalid and not self.incomplete

    @property
    def binds_late(self) -> bool:
        """Whether one of its devices must be made ready after it was selected; such pools come last."""
        return any(candidate.device.binding_conditions for candidate in self.candidates)


class NodePools:
    """The pools of an inventory by the nodes that reach them. Safe from any thread."""

    def __init__(self, inventory: Inventory, rules: Rules) -> None:
        self.inventory = inventory
        self._rules = rules
        self._known: dict[str, list[DevicePool]] = {}

    def reached(self, reach: Reach, position: int, node_name: str) -> list[DevicePool]:
        """Return the pools that the node at ``position`` reaches, in the order in which they are tried.

        They are found once where each slice names its node, so that nothing of the node matters but its name.
        Before 1.36 kube-scheduler tries them in any order; so that it matters least, here it is always the
        same. Raises NodeSelectorError if a slice's or device's node selector can't be used.
        """
        if self.inventory.others:
            return _gather(self.inventory, reach, position, node_name, self._rules)
        known = self._known.get(node_name)
        if known is None:
            known = self._known[node_name] = _gather(self.inventory, reach, position, node_name, self._rules)
        return known


def _gather(
    inventory: Inventory, reach: Reach, position: int, node_name: str, rules: Rules
) -> list[DevicePool]:
    reached: dict[PoolID, list[Slice]] = {}
    for one in (*inventory.of_node.get(node_name, ()), *inventory.others):
        if _reaches(one, reach, position, rules):
            spec = one.object.spec
            _keep_newest(reached.setdefault(PoolID(spec.driver, spec.pool.name), []), one)
    pools = [
        pool
        for pool_id, slices in reached.items()
        if (pool := _pool(pool_id, slices, inventory.of_pool[pool_id], rules)) is not None
    ]
    return sorted(pools, key=lambda pool: (pool.binds_late, pool.id))


def _reaches(one: Slice, reach: Reach, position: int, rules: Rules) -> bool:
    spec = one.object.spec
    if spec.shared_counters and rules.partitions and not rules.counters_reached:
        return True
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return reach.matches(position, spec.node_name, spec.all_nodes, spec.node_selector)
    return bool(spec.per_device_node_selection) and any(
        reach.matches(position, device.node_name, device.all_nodes, device.node_selector)
        for device in spec.devices
    )


def _keep_newest(slices: list[Slice], one: Slice) -> None:
    if slices and one.generation > slices[0].generation:
        slices.clear()
    if not slices or one.generation == slices[0].generation:
        slices.append(one)


def _pool(pool_id: PoolID, reached: list[Slice], published: list[Slice], rules: Rules) -> DevicePool | None:
    """Return the pool; None when the node reaches only slices of an outdated generation."""
    generation, size = reached[0].generation, reached[0].pool_size
    everything = reached
    if rules.version < WHOLE_POOLS_SINCE:
        return replace(_complete_pool(pool_id, reached, [], rules), incomplete=len(reached) != size)
    if len(reached) != size:
        if any(one.generation > generation for one in published):
            return None
        everything = [one for one in published if one.generation == generation]
        if len(everything) != size:
            twice = rules.judges_parts and _has_duplicates(_candidates(reached))
            return DevicePool(pool_id, incomplete=True, invalid=twice)
    names = {one.name for one in reached}
    return _complete_pool(pool_id, reached, [one for one in everything if one.name not in names], rules)


def _complete_pool(pool_id: PoolID, reached: list[Slice], others: list[Slice], rules: Rules) -> DevicePool:
    reached = sorted(reached, key=lambda one: one.name)
    if not rules.partitions:
        candidates = _candidates(reached)
        return DevicePool(pool_id, invalid=_has_duplicates(candidates), candidates=candidates)
    counters: dict[CounterID, int] = {}
    seen: set[str] = set()
    counting = (*reached, *others) if rules.counters_reached else reached
    for counter_set in (found for one in counting for found in one.object.spec.shared_counters):
        if counter_set.name in seen:
            return DevicePool(pool_id, invalid=True)
        seen.add(counter_set.name)
        for name, counter in counter_set.counters.items():
            counters[counter_set.name, name] = exact_quantity(counter.value)
    candidates = _candidates(one for one in reached if not one.object.spec.shared_counters)
    out_of_reach = _candidates(others)
    unknown = any(
        taken.counter_set not in seen
        or any((taken.counter_set, name) not in counters for name in taken.counters)
        for candidate in (*candidates, *out_of_reach)
        for taken in candidate.device.consumes_counters
    )
    if unknown or _has_duplicates(candidates):
        return DevicePool(pool_id, invalid=True, candidates=candidates)
    return DevicePool(pool_id, candidates=candidates, out_of_reach=out_of_reach, counters=counters)


def _has_duplicates(candidates: tuple[CandidateDevice, ...]) -> bool:
    return len({candidate.id for candidate in candidates}) < len(candidates)


def _candidates(slices: Iterable[Slice]) -> tuple[CandidateDevice, ...]:
    return tuple(candidate for one in slices for candidate in one.candidates)
