"""Plugins in other processes."""
