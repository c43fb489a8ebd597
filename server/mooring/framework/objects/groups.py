"""scheduling.k8s.io/v1beta1 and v1alpha2: Workload and PodGroup, what scheduling reads of both."""

from __future__ import annotations

from mooring.framework.objects.meta import Condition, Int32, Object, ObjectMeta


class BasicSchedulingPolicy(Object, frozen=True):
    """The group's pods are scheduled one by one."""


class GangSchedulingPolicy(Object, frozen=True):
    """The group's pods are scheduled when at least ``min_count`` of them fit at once."""

    min_count: Int32 = 0


class PodGroupSchedulingPolicy(Object, frozen=True):
    """How a group is scheduled; one of the two is set."""

    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Object, frozen=True):
    """All pods of the group share one value of the node label ``key``."""

    key: str = ""


class PodGroupSchedulingConstraints(Object, frozen=True):
    """A constraint on the nodes of a group's pods."""

    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupResourceClaim(Object, frozen=True):
    """A claim that the group's pods share."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupResourceClaimStatus(Object, frozen=True):
    """The ResourceClaim that was made for an entry of ``spec.resourceClaims``."""

    name: str = ""
    resource_claim_name: str | None = None


class SingleDisruptionMode(Object, frozen=True):
    """The group's pods may be preempted one by one."""


class AllDisruptionMode(Object, frozen=True):
    """The group's pods are preempted together or not at all."""


class DisruptionMode(Object, frozen=True):
    """How a group may be preempted (v1beta1); one of the two is set."""

    single: SingleDisruptionMode | None = None
    all: AllDisruptionMode | None = None


class PodGroupTemplate(Object, frozen=True):
    """The template of a workload's groups."""

    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str | DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class WorkloadSpec(Object, frozen=True):
    """The templates of a workload's groups."""

    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(Object, frozen=True):
    """The pods of a controller, in groups."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class WorkloadPodGroupTemplateReference(Object, frozen=True):
    """A template of a workload in the same namespace."""

    workload_name: str = ""
    pod_group_template_name: str = ""


class PodGroupTemplateReference(Object, frozen=True):
    """The template from which a group was made."""

    workload: WorkloadPodGroupTemplateReference | None = None


class WorkloadReference(Object, frozen=True):
    """A template of a workload in the same namespace, as v1beta1 names it."""

    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(Object, frozen=True):
    """How a group is scheduled; see ``PodGroupTemplate``.

    ``pod_group_template_ref`` is of v1alpha2; ``parent_composite_pod_group_name``, ``workload_ref`` and
    ``preemption_policy`` came with v1beta1.
    """

    pod_group_template_ref: PodGroupTemplateReference | None = None
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: str | DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class PodGroupStatus(Object, frozen=True):
    """The status of a group."""

    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class PodGroup(Object, frozen=True):
    """Pods that are scheduled together; they name it in ``spec.schedulingGroup``."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def goes_together(self) -> bool:
        """Whether its pods are preempted together or not at all, whichever API version says so."""
        mode = self.spec.disruption_mode
        return mode == "PodGroup" if isinstance(mode, str) else mode is not None and mode.all is not None
