"""The search for devices on one node."""
