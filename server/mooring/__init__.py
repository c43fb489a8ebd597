"""mooring: on which node should this pod run, and why."""

__version__ = "0.1.0"
