"""A client of mooring.v1: batches of pods, node indices instead of names, retries if they are safe.

It shows what a client in another language does as well; it needs nothing of mooring but the contract.
"""

from mooring_client.client import Client
from mooring_client.errors import reason_of
from mooring_client.nodes import NodeIndex
from mooring_client.pods import Placement, Pods
from mooring_client.session import ClientSession, Trial

__all__ = ["Client", "ClientSession", "NodeIndex", "Placement", "Pods", "Trial", "reason_of"]

__version__ = "0.1.0"
