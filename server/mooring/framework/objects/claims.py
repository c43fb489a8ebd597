"""resource.k8s.io/v1: claims on devices and what was allocated to them."""

from __future__ import annotations

from msgspec import field

from mooring.framework.objects.devices import DeviceSelector
from mooring.framework.objects.meta import Condition, Int64, Object, ObjectMeta
from mooring.framework.objects.pod import NodeSelector
from mooring.framework.quantity import Quantity


class DeviceToleration(Object, frozen=True):
    """A device taint that a claim tolerates; ``operator`` "" = Equal, empty ``key`` or ``effect`` = all."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Object, frozen=True):
    """The requested amounts of a shared device's capacity, by name."""

    requests: dict[str, Quantity] = field(default_factory=dict)


class ExactDeviceRequest(Object, frozen=True):
    """Devices of one class; ``allocation_mode`` is ExactCount (``count`` of them) or All."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Object, frozen=True):
    """One of a request's alternatives."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Object, frozen=True):
    """``exactly`` these devices, or those of the first alternative that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Object, frozen=True):
    """An attribute that must be equal, or distinct, among the devices of ``requests`` (none = all)."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Object, frozen=True):
    """The devices that are requested."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


class ResourceClaimSpec(Object, frozen=True):
    """The requested devices."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Object, frozen=True):
    """A device that was allocated for ``request``, which is ``name`` or ``name/subrequest``."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] = field(default_factory=dict)


class DeviceAllocationResult(Object, frozen=True):
    """The devices that were allocated."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()


class AllocationResult(Object, frozen=True):
    """The allocated devices, and the nodes on which they can be used; None = all."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Object, frozen=True):
    """A consumer that may use the claim; ``resource`` is pods or podgroups."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Object, frozen=True):
    """A driver's status of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(Object, frozen=True):
    """The allocation and its consumers."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Object, frozen=True):
    """A claim on devices."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Object, frozen=True):
    """The spec of the claims made from a template."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Object, frozen=True):
    """A template for pods' claims."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
