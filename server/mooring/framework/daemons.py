"""Which nodes get a pod of a DaemonSet, and what that pod is. Mirrors ``pkg/controller/daemon``."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.framework.node_selector import required_match
from mooring.framework.objects import Container, DaemonSet, Node, Pod, Toleration
from mooring.framework.taints import untolerated


def added_tolerations(*, host_network: bool) -> tuple[Toleration, ...]:
    """Return what the controller adds to its pods (``pkg/controller/daemon/util/daemonset_util.go``)."""
    pressures = ("disk-pressure", "memory-pressure", "pid-pressure")
    borne = {"not-ready": "NoExecute", "unreachable": "NoExecute"}
    borne |= dict.fromkeys((*pressures, "unschedulable"), "NoSchedule")
    if host_network:
        borne["network-unavailable"] = "NoSchedule"
    return tuple(
        Toleration(f"node.kubernetes.io/{key}", "Exists", "", effect) for key, effect in borne.items()
    )


def runs_on(pod: Pod, node: Node) -> bool:
    """Return whether node name, selector, required affinity and taints allow the pod there."""
    if pod.spec.node_name not in ("", node.metadata.name):
        return False
    try:
        matched = required_match(pod, node)
    except ValueError:
        matched = False
    return matched and untolerated(node.spec.taints, pod.spec.tolerations) is None


def daemon_pod(owner: DaemonSet, node: Node) -> Pod | None:
    """Return the pod of ``owner`` that a node gets, as the API server would store it; None if it gets none.

    LimitRanges and RuntimeClasses of its namespace are not applied.
    """
    meta, spec = owner.spec.template.metadata, owner.spec.template.spec
    name = f"{owner.metadata.name}-{node.metadata.name}"
    namespace = owner.metadata.namespace
    added = added_tolerations(host_network=spec.host_network is True)
    pod = Pod(
        replace(meta, name=name, namespace=namespace, uid=f"pod/{namespace}/{name}"),
        replace(
            spec,
            tolerations=(*spec.tolerations, *added),
            containers=tuple(map(_requesting, spec.containers)),
            init_containers=tuple(map(_requesting, spec.init_containers)),
        ),
    )
    return pod if runs_on(pod, node) else None


def _requesting(container: Container) -> Container:
    """Return the container with its limits as default requests (``pkg/apis/core/v1/defaults.go``)."""
    resources = container.resources
    requests = {**resources.limits, **resources.requests}
    return replace(container, resources=replace(resources, requests=requests))
