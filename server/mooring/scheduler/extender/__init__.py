"""HTTP extenders, called as kube-scheduler calls them."""

from mooring.scheduler.extender.http_extender import HttpExtender, Manifests
from mooring.scheduler.extender.transport import Transport, build_transport

__all__ = ["HttpExtender", "Manifests", "Transport", "build_transport"]
