"""GangScheduling: a gang's pods are bound together or not at all."""
