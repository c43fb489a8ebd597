"""A client of mooring.v1: batches of pods, node indices instead of names, retries if they are safe.

It shows what a client in another language does as well; it needs nothing of mooring but the contract.
"""

from mooring.client.client import Client
from mooring.client.errors import reason_of
from mooring.client.nodes import NodeIndex
from mooring.client.pods import Placement, Pods
from mooring.client.session import ClientSession, Trial

__all__ = ["Client", "ClientSession", "NodeIndex", "Placement", "Pods", "Trial", "reason_of"]
