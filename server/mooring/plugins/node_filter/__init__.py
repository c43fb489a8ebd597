"""nodeFilter: logs each node that a pod is tried on, and passes it."""
