"""HTTP extenders, called as kube-scheduler calls them."""

from mooring.scheduler.extender.http_extender import HttpExtender
from mooring.scheduler.extender.transport import build_transport

__all__ = ["HttpExtender", "build_transport"]
