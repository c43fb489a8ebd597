"""The devices that drivers announce, the nodes that reach them, and their allocations."""
