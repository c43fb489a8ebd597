"""NodePorts: host ports of containers, of sidecars, and of init containers that do not count."""

from __future__ import annotations

from tests.laboratories.conformance.families.draft import Draft, Manifest

ADDRESSES = ["", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::"]


def node_ports(draft: Draft) -> None:
    for pod in draft.pods():
        if draft.chance(0.25):
            pod["spec"]["initContainers"] = [
                {"name": "setup", "image": "registry.example/setup:1"},
                {"name": "sidecar", "image": "registry.example/sidecar:1", "restartPolicy": "Always"},
            ]
        for container in draft.containers(pod):
            if draft.chance(0.6):
                container["ports"] = [_port(draft) for _ in range(draft.rng.randint(1, 2))]
        if draft.chance(0.1):
            _use_host_network(draft, pod)


def _use_host_network(draft: Draft, pod: Manifest) -> None:
    """Every port of a pod in the host's network is a host port, which the API server writes down."""
    pod["spec"]["hostNetwork"] = True
    for container in draft.containers(pod):
        for port in container.get("ports", []):
            port["hostPort"] = port["containerPort"]


def _port(draft: Draft) -> Manifest:
    port: Manifest = {"containerPort": draft.rng.choice([80, 443, 8080])}
    if draft.chance(0.8):
        port["hostPort"] = draft.rng.choice([80, 443, 8080])
        if address := draft.rng.choice(ADDRESSES):
            port["hostIP"] = address
    if draft.chance(0.5):
        port["protocol"] = draft.rng.choice(["TCP", "UDP", "SCTP"])
    return port
