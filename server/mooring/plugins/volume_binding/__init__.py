"""VolumeBinding: a pod's volumes must be reachable from its node."""
