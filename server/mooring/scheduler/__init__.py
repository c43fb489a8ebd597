"""The second scheduler: which pod comes next, where it goes, and what happens when it can't."""
