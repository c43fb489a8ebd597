"""Cluster Autoscaler's gRPC expander: its contract on one side, mooring.v1 on the other."""
