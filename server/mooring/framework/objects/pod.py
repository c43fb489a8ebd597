"""v1.Pod: the fields that scheduling reads."""

from __future__ import annotations

from msgspec import field
from msgspec.structs import replace

from mooring.framework.objects.meta import Condition, Int32, LabelSelector, Object, ObjectMeta
from mooring.framework.objects.pod_volumes import Volume
from mooring.framework.quantity import Quantity


class ResourceRequirements(Object, frozen=True):
    """The requests of a container or a pod, quantities by resource name."""

    requests: dict[str, Quantity] = field(default_factory=dict)
    limits: dict[str, Quantity] = field(default_factory=dict)


class ContainerPort(Object, frozen=True):
    """A port of a container; ``host_port`` 0 = none, ``protocol`` "" = TCP, ``host_ip`` "" = all."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = ""


class ContainerRestartRule(Object, frozen=True):
    """The action when a container exits; ``action`` is Restart or RestartAllContainers."""

    action: str = ""


class Container(Object, frozen=True):
    """A container; ``restart_policy`` Always on an init container makes it a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class NodeSelectorRequirement(Object, frozen=True):
    """A condition on a node's label or field; ``operator``: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Object, frozen=True):
    """Conditions that must all hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Object, frozen=True):
    """Terms; one of them must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Object, frozen=True):
    """A term worth ``weight`` (1..100) on the nodes that match it."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinityTerms(Object, frozen=True):
    """The nodes that a pod requires and those that it prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Object, frozen=True):
    """Pods to be near to, or far from, within one value of the node label ``topology_key``."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Object, frozen=True):
    """A pod affinity term worth ``weight`` (1..100)."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Object, frozen=True):
    """Pod affinity or anti-affinity: required and preferred terms."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Object, frozen=True):
    """A pod's affinities."""

    node_affinity: NodeAffinityTerms | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Object, frozen=True):
    """A taint that the pod tolerates; ``operator`` "" = Equal, empty ``key`` or ``effect`` = all of them."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Object, frozen=True):
    """How evenly matching pods must be spread over the values of a node label."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(Object, frozen=True):
    """A gate: the pod is not scheduled before it is removed."""

    name: str = ""


class PodResourceClaim(Object, frozen=True):
    """A claim on devices."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Object, frozen=True):
    """The pod group that the pod is scheduled with."""

    pod_group_name: str | None = None


class PodSpec(Object, frozen=True):
    """The desired state of the pod."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    overhead: dict[str, Quantity] = field(default_factory=dict)
    resources: ResourceRequirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    host_network: bool = False
    host_users: bool | None = None


class ContainerStatus(Object, frozen=True):
    """The kubelet's status of a container's resources (in-place resize)."""

    name: str = ""
    allocated_resources: dict[str, Quantity] = field(default_factory=dict)
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(Object, frozen=True):
    """The ResourceClaim for an entry of ``spec.resourceClaims``; None = none is needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Object, frozen=True):
    """Which request of the claim serves a container's extended resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Object, frozen=True):
    """The ResourceClaim that was made for the pod's extended resources."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class PodStatus(Object, frozen=True):
    """The status of the pod."""

    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: dict[str, Quantity] = field(default_factory=dict)
    resources: ResourceRequirements | None = None
    qos_class: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None


class Pod(Object, frozen=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """``namespace/name``, for people and logs; the identity is ``metadata.uid``."""
        return self.metadata.key

    @property
    def priority(self) -> int:
        """Its priority; 0 when it has none."""
        return self.spec.priority or 0

    @property
    def group(self) -> tuple[str, str] | None:
        """Namespace and name of its pod group; None when it has none."""
        group = self.spec.scheduling_group
        if group is None or group.pod_group_name is None:
            return None
        return self.metadata.namespace, group.pod_group_name

    @property
    def has_storage(self) -> bool:
        """Whether it has a claim or a disk."""
        # Not any(): a generator takes twice as long as one volume.
        for volume in self.spec.volumes:  # noqa: SIM110
            if volume.is_storage:
                return True
        return False

    @property
    def has_local_data(self) -> bool:
        """Whether it has an emptyDir volume, whose data is lost with the pod."""
        return any(volume.empty_dir is not None for volume in self.spec.volumes)

    @property
    def claim_names(self) -> tuple[str, ...]:
        """The claims that its volumes name, those of ephemeral volumes aside."""
        claims = [volume.persistent_volume_claim for volume in self.spec.volumes]
        return tuple([claim.claim_name for claim in claims if claim is not None])

    @property
    def ephemeral_claim_names(self) -> tuple[str, ...]:
        """The claims that are made for its ephemeral volumes."""
        volumes = self.spec.volumes
        return tuple(
            [f"{self.metadata.name}-{volume.name}" for volume in volumes if volume.ephemeral is not None]
        )

    @property
    def finished(self) -> bool:
        """True when the pod has ended and uses nothing of its node."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def pending(self) -> bool:
        """True when the pod has no node yet, has not ended and is not being deleted."""
        return not (self.spec.node_name or self.finished or self.metadata.deletion_timestamp)

    def on_node(self, name: str) -> Pod:
        """Return the pod with this node; "" = none."""
        return replace(self, spec=replace(self.spec, node_name=name))
