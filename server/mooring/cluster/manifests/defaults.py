"""The API server's defaults, for manifests that never went through one.

Mirrors pkg/apis/core/v1/defaults.go, the admission plugins Priority and DefaultTolerationSeconds, and the
merging of ``matchLabelKeys`` in pkg/registry/core/pod/strategy.go, as far as scheduling reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import (
    Container,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PriorityClass,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from mooring.framework.pod_requests import ResourceRules, pod_amounts
from mooring.framework.quantity import NANO, Quantity
from mooring.framework.releases import Gates
from mooring.framework.resources import CPU, MEMORY, ResourceError, parse_amounts

MERGE_GATE = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
"""Without it, only the scheduler reads the ``matchLabelKeys`` of topology spread constraints."""

BUILT_IN_CLASSES: Mapping[str, PriorityClass] = {
    name: PriorityClass(metadata=ObjectMeta(name=name), value=value)
    for name, value in (
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    )
}
"""The classes that every cluster has."""


def default_node(node: Node) -> Node:
    """Return a node that names no allocatable offers its whole capacity."""
    if node.status.allocatable or not node.status.capacity:
        return node
    return replace(node, status=replace(node.status, allocatable=node.status.capacity))


def default_pod(pod: Pod, classes: Mapping[str, PriorityClass], gates: Gates) -> Pod:
    """Fill in requests, ports, tolerations and the priority that ``classes`` say; merge ``matchLabelKeys``
    where the API server with ``gates`` does. Raises InvalidArgumentError, with the field's path, if a limit
    can't be used.
    """
    check_limits(pod)
    spec, labels = pod.spec, pod.metadata.labels
    on_host = spec.host_network
    priority = _priority_class(spec.priority_class_name, classes) if spec.priority is None else None
    affinity = spec.affinity
    if affinity is not None:
        affinity = replace(
            affinity,
            pod_affinity=_merged_affinity(affinity.pod_affinity, labels),
            pod_anti_affinity=_merged_affinity(affinity.pod_anti_affinity, labels),
        )
    constraints = spec.topology_spread_constraints
    if gates.enabled(MERGE_GATE):
        constraints = tuple(_merged_constraint(constraint, labels) for constraint in constraints)
    spec = replace(
        spec,
        containers=tuple(_default_container(container, on_host) for container in spec.containers),
        init_containers=tuple(_default_container(container, on_host) for container in spec.init_containers),
        tolerations=_tolerations(pod),
        priority=priority.value if priority else spec.priority or 0,
        priority_class_name=priority.metadata.name if priority else spec.priority_class_name,
        preemption_policy=(priority.preemption_policy if priority else None)
        or spec.preemption_policy
        or "PreemptLowerPriority",
        affinity=affinity,
        topology_spread_constraints=constraints,
    )
    return default_pod_level(replace(pod, spec=spec))


def _tolerations(pod: Pod) -> tuple[Toleration, ...]:
    """Return a new pod's tolerations: it stays for a while on a node whose kubelet falls silent."""
    given = pod.spec.tolerations
    if pod.metadata.creation_timestamp is not None:
        return given
    borne = {one.key for one in given if one.effect in ("", "NoExecute")}
    added = [
        Toleration(key=key, operator="Exists", effect="NoExecute")
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if borne.isdisjoint(("", key))
    ]
    return (*given, *added)


def _default_container(container: Container, on_host: bool) -> Container:
    resources = container.resources
    ports = tuple(
        replace(
            port,
            protocol=port.protocol or "TCP",
            host_port=port.host_port or (port.container_port if on_host else 0),
        )
        for port in container.ports
    )
    requests = {**resources.limits, **resources.requests}
    return replace(container, ports=ports, resources=replace(resources, requests=requests))


def _priority_class(name: str, classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    if name:
        return classes.get(name) or BUILT_IN_CLASSES.get(name)
    defaults = [known for known in classes.values() if known.global_default]
    return min(defaults, key=lambda known: known.value, default=None)


def _merged_affinity(affinity: PodAffinity | None, labels: Mapping[str, str]) -> PodAffinity | None:
    if affinity is None:
        return None
    return PodAffinity(
        tuple(
            _merged_term(term, labels)
            for term in affinity.required_during_scheduling_ignored_during_execution
        ),
        tuple(
            replace(weighted, pod_affinity_term=_merged_term(weighted.pod_affinity_term, labels))
            for weighted in affinity.preferred_during_scheduling_ignored_during_execution
        ),
    )


def _merged_term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    selector = _with_keys(term.label_selector, term.match_label_keys, "In", labels)
    return replace(term, label_selector=_with_keys(selector, term.mismatch_label_keys, "NotIn", labels))


def _merged_constraint(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str]
) -> TopologySpreadConstraint:
    selector = _with_keys(constraint.label_selector, constraint.match_label_keys, "In", labels)
    return replace(constraint, label_selector=selector)


def _with_keys(
    selector: LabelSelector | None, keys: tuple[str, ...], operator: str, labels: Mapping[str, str]
) -> LabelSelector | None:
    """``selector`` with the pod's own values of ``keys``, each once; keys that the pod lacks are ignored."""
    if selector is None:
        return None
    own = [LabelSelectorRequirement(key, operator, (labels[key],)) for key in keys if key in labels]
    new = tuple(requirement for requirement in own if requirement not in selector.match_expressions)
    return replace(selector, match_expressions=selector.match_expressions + new) if new else selector


def check_limits(pod: Pod) -> None:
    """Limits become requests, so they must be usable as well. Raises InvalidArgumentError, with the field's
    path, if one is malformed or negative.
    """
    for resources, path in _all_resources(pod):
        try:
            parse_amounts(resources.limits, f"{path}.limits")
        except ResourceError as error:
            raise InvalidArgumentError.at(error.path, str(error)) from None


def default_pod_level(pod: Pod) -> Pod:
    """Return a pod with resources of its own, completed from its containers, whose defaults are filled in
    already.

    Mirrors ``defaultHugePagePodLimits`` and ``defaultPodRequests`` of defaults.go.
    Limits of huge pages come from the containers' limits. A pod with limits also gets requests: for CPU and
    memory what the containers request together, else its own limit.
    """
    own = pod.spec.resources
    if own is None or not (own.requests or own.limits):
        return pod
    limits, requests = dict(own.limits), dict(own.requests)
    for name, nanos in _limited(pod).items():
        if _is_huge(name) and name not in requests:
            limits.setdefault(name, _quantity(nanos))
    if limits:
        for name, nanos in _requested(pod).items():
            if name in (CPU, MEMORY):
                requests.setdefault(name, _quantity(nanos))
        for name, limit in limits.items():
            if name in (CPU, MEMORY) or _is_huge(name):
                requests.setdefault(name, limit)
    return replace(pod, spec=replace(pod.spec, resources=ResourceRequirements(requests, limits)))


def _all_resources(pod: Pod) -> Iterator[tuple[ResourceRequirements, str]]:
    for field, containers in (
        ("initContainers", pod.spec.init_containers),
        ("containers", pod.spec.containers),
    ):
        for index, container in enumerate(containers):
            yield container.resources, f"spec.{field}[{index}].resources"
    if pod.spec.resources is not None:
        yield pod.spec.resources, "spec.resources"


def _is_huge(name: str) -> bool:
    return name.startswith("hugepages-")


def _requested(pod: Pod) -> Mapping[str, int]:
    """Return what the containers request together."""
    alone = replace(pod, spec=replace(pod.spec, overhead={}))
    return pod_amounts(alone, ResourceRules(pod_level=False, resizing=False))


def _limited(pod: Pod) -> Mapping[str, int]:
    """Return what the containers may use together: their limits, added up as requests are."""
    spec = pod.spec
    asking = replace(
        spec,
        containers=tuple(map(_asking_its_limits, spec.containers)),
        init_containers=tuple(map(_asking_its_limits, spec.init_containers)),
    )
    return _requested(replace(pod, spec=asking))


def _asking_its_limits(container: Container) -> Container:
    return replace(container, resources=ResourceRequirements(requests=container.resources.limits))


def _quantity(nanos: int) -> Quantity:
    return f"{nanos}n" if nanos % NANO else nanos // NANO
