"""Sweeps: the same pods placed many times."""
