"""VolumeZone: a pod's volumes must be in the zone and region of its node."""
