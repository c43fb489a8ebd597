"""NodeResourcesFit: a node must have what a pod requests; how full it is decides its score."""
