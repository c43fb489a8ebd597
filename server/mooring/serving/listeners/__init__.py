"""Listeners beside the main one, for health and for pages, and what all of them have in common."""
