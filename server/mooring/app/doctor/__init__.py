"""Examines a cluster before and while mooring runs in it: what is missing, and what to do about it."""
