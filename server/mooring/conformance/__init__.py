"""Checks of programs that others wrote, against their contracts: extenders, and hosts of plugins."""
