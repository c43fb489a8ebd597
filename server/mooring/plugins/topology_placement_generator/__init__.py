"""TopologyPlacementGenerator: one placement for each value of the label that a group's pods have to share."""
