"""The fewest changes with which a pod that no node takes would fit."""
