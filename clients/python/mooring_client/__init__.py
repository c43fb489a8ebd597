"""The client of mooring: batches of pods, columns unpacked, errors with reasons, repeats if they are safe."""

from mooring_client.answers import Explained, ExplainedNode, Filtered, PluginScore, Scored
from mooring_client.client import Client
from mooring_client.errors import CallFailedError, reason_of
from mooring_client.pods import Placement, Pods
from mooring_client.session import Session, Trial
from mooring_client.watches import NodeUpdate

__version__ = "0.1.0"

__all__ = [
    "CallFailedError",
    "Client",
    "Explained",
    "ExplainedNode",
    "Filtered",
    "NodeUpdate",
    "Placement",
    "PluginScore",
    "Pods",
    "Scored",
    "Session",
    "Trial",
    "reason_of",
]
