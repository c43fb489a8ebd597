"""PodTopologySpread: pods spread evenly over zones, hosts or any other label."""
