"""Listeners beside gRPC's main one, for health and for pages, and what all of them have in common."""
