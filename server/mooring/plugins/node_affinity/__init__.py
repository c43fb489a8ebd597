"""NodeAffinity: the nodes that a pod needs and prefers by their labels."""
