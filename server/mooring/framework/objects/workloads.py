"""Objects that select pods: v1.Service, the controllers, policy PodDisruptionBudget."""

from __future__ import annotations

from msgspec import field

from mooring.framework.objects.meta import Condition, Int32, Int64, LabelSelector, Object, ObjectMeta
from mooring.framework.objects.pod import PodSpec


class ServiceSpec(Object, frozen=True):
    """The pods of a service; an empty ``selector`` selects none."""

    selector: dict[str, str] = field(default_factory=dict)


class Service(Object, frozen=True):
    """A service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Object, frozen=True):
    """The pods of a replication controller."""

    selector: dict[str, str] = field(default_factory=dict)


class ReplicationController(Object, frozen=True):
    """A replication controller."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(Object, frozen=True):
    """The pods of a replica set."""

    selector: LabelSelector | None = None


class ReplicaSet(Object, frozen=True):
    """A replica set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(Object, frozen=True):
    """The pods of a stateful set."""

    selector: LabelSelector | None = None


class StatefulSet(Object, frozen=True):
    """A stateful set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


class PodTemplateSpec(Object, frozen=True):
    """The template of a workload's pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class DaemonSetSpec(Object, frozen=True):
    """The pods of a daemon set."""

    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(Object, frozen=True):
    """A daemon set."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


class PodDisruptionBudgetSpec(Object, frozen=True):
    """The pods that a budget protects: None selects none, an empty selector the whole namespace."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Object, frozen=True):
    """The disruptions that are allowed now.

    Attributes:
        disrupted_pods: Names of pods whose eviction is under way, with when it was granted (RFC 3339).
        disruptions_allowed: How many more pods may be disrupted.
    """

    observed_generation: Int64 = 0
    disrupted_pods: dict[str, str] = field(default_factory=dict)
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Object, frozen=True):
    """How many of the pods it selects may be disrupted."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
