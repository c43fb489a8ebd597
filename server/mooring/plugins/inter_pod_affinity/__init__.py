"""InterPodAffinity: pods that want to be near to, or far from, other pods."""
