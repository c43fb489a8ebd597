"""resource.k8s.io/v1: what devices there are (ResourceSlice) and their classes (DeviceClass)."""

from __future__ import annotations

from msgspec import field

from mooring.framework.objects.meta import Int64, Object, ObjectMeta
from mooring.framework.objects.pod import NodeSelector
from mooring.framework.quantity import Quantity

Flag = bool
"""``bool`` where an attribute of that name hides it."""


class CELDeviceSelector(Object, frozen=True):
    """A CEL expression on a device."""

    expression: str = ""


class DeviceSelector(Object, frozen=True):
    """A condition that a device must meet."""

    cel: CELDeviceSelector | None = None


class DeviceAttribute(Object, frozen=True):
    """An attribute's value; one is set. The lists exist behind the gate DRAListTypeAttributes."""

    int: Int64 | None = None
    bool: Flag | None = None
    string: str | None = None
    version: str | None = None
    ints: tuple[Int64, ...] = ()
    bools: tuple[Flag, ...] = ()
    strings: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


class CapacityRequestPolicyRange(Object, frozen=True):
    """Amounts from ``min`` to ``max`` in steps of ``step``; None = without that bound."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Object, frozen=True):
    """How much of a shared capacity a request takes."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Object, frozen=True):
    """How much of something a device has."""

    value: Quantity = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(Object, frozen=True):
    """An amount of something that devices share."""

    value: Quantity = "0"


class CounterSet(Object, frozen=True):
    """Counters that the devices of a pool share."""

    name: str = ""
    counters: dict[str, Counter] = field(default_factory=dict)


class DeviceCounterConsumption(Object, frozen=True):
    """The amounts that a device in use takes of a counter set."""

    counter_set: str = ""
    counters: dict[str, Counter] = field(default_factory=dict)


class DeviceTaint(Object, frozen=True):
    """A mark that keeps claims away; ``effect`` is None, NoSchedule or NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeAllocatableResourceMapping(Object, frozen=True):
    """How a device counts as a resource of its node."""

    capacity_key: str | None = None
    allocation_multiplier: Quantity | None = None


class Device(Object, frozen=True):
    """A device; ``attributes`` and ``capacity`` by (qualified) name."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = field(default_factory=dict)
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = field(
        default_factory=dict
    )


class ResourcePool(Object, frozen=True):
    """The pool that a slice is part of, in its ``generation`` of ``resource_slice_count`` slices."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Object, frozen=True):
    """Devices of one driver and pool, and the nodes that reach them."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Object, frozen=True):
    """Devices that a driver announces."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceTaintSelector(Object, frozen=True):
    """Which devices a rule is about; None = any."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Object, frozen=True):
    """A taint, and the devices that have it; without a selector, none."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Object, frozen=True):
    """A taint that an administrator puts on devices, in addition to those of their drivers."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


class DeviceClassSpec(Object, frozen=True):
    """The conditions that the class's devices meet, and the extended resource that stands for them."""

    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Object, frozen=True):
    """A kind of device that claims ask for."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()
