"""The ports that pods take on their node."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework.objects import PodSpec

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's way to say "every address of the node"
"""The host IP that stands for all addresses of a node."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port on the node that a pod takes; ``host_ip`` "0.0.0.0" = on every address."""

    protocol: str
    port: int
    host_ip: str

    def collides_with(self, other: HostPort) -> bool:
        """Return whether one node can't have both."""
        same = (self.protocol, self.port) == (other.protocol, other.port)
        return same and (self.host_ip == other.host_ip or ANY_ADDRESS in (self.host_ip, other.host_ip))


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Return the host ports of containers and sidecars (``GetHostPorts`` in pkg/scheduler/util/utils.go)."""
    containers = spec.containers
    if spec.init_containers:
        sidecars = [container for container in spec.init_containers if container.restart_policy == "Always"]
        containers = (*sidecars, *containers)
    return tuple(
        [
            HostPort(port.protocol or "TCP", port.host_port, port.host_ip or ANY_ADDRESS)
            for container in containers
            for port in container.ports
            if port.host_port > 0
        ]
    )
