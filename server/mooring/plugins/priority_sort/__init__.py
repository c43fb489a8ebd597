"""PrioritySort: important pods first, then the ones that wait longest."""
