"""Devices that pods ask for as if they were a resource of the node.

Other plugins import what is listed here, and of DynamicResources nothing else.
"""

from mooring.plugins.dynamic_resources.extended_resources.classes import resource_names
from mooring.plugins.dynamic_resources.extended_resources.stand_ins import DevicesInstead

__all__ = ["DevicesInstead", "resource_names"]
