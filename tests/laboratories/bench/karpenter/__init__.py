"""Removal and Karpenter's own simulation of consolidation, on the same nodes in one run."""
