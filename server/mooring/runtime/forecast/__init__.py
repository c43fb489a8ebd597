"""Decisions in clusters that do not exist yet, for sessions, pod groups and dry runs."""
