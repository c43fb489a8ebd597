"""Recordings decided again: by the same rules or others, decision by decision or from the beginning."""
