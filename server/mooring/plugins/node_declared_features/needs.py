"""The features of a node that a pod needs. Mirrors ``k8s.io/component-helpers/nodedeclaredfeatures``."""

from __future__ import annotations

from mooring.framework import Pod

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_IN_HOST_NETWORK = "UserNamespacesHostNetworkSupport"

KNOWN = frozenset((RESTART_ALL_CONTAINERS, USER_NAMESPACES_IN_HOST_NETWORK))
"""The features that a pod can need to be scheduled."""

KNOWN_1_35 = frozenset((RESTART_ALL_CONTAINERS,))
"""Those of Kubernetes 1.35, where the gate is off unless set."""


def needed_features(pod: Pod) -> frozenset[str]:
    """Return the features that the pod's node must declare."""
    spec = pod.spec
    needed = set()
    for container in (*spec.init_containers, *spec.containers):
        if any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules):
            needed.add(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        needed.add(USER_NAMESPACES_IN_HOST_NETWORK)
    return frozenset(needed)
