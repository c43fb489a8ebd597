"""The Kubernetes API server: one client for every request, its answers, and where each kind stands."""

from mooring.cluster.api.answers import JSON, PROTOBUF, Response, Stream, decoded, failure
from mooring.cluster.api.client import ApiServer, ClientOptions
from mooring.cluster.api.resources import RESOURCES, Resource, served_version

__all__ = [
    "JSON",
    "PROTOBUF",
    "RESOURCES",
    "ApiServer",
    "ClientOptions",
    "Resource",
    "Response",
    "Stream",
    "decoded",
    "failure",
    "served_version",
]
